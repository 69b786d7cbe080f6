"""Agents of other machines, as a registry remembers them."""

import stat
from pathlib import Path

import msgspec
import pytest

from posthouse.contracts import external_agents, strict
from posthouse.contracts.external_agents import ExternalRecord
from posthouse.contracts.managed_agents_http import Identity
from posthouse.errors import Conflict
from posthouse.sessions.externals import ExternalAgents, ExternalNotFound

MOMENT = "2026-06-05T00:00:00+00:00"
FAR = ExternalRecord(
    local_name="far",
    external_agent_id=external_agents.new_id("0" * 32),
    generation_id="g",
    pair_api_base_url="https://build-host:9891",
    remote_agent_ref="worker",
    created_at_utc=MOMENT,
    updated_at_utc=MOMENT,
    cached_identity={
        "tool": "codex",
        "transport": "tui",
        "lifecycle_state": "active",
        "tmux_session_name": "S",
    },
)


@pytest.fixture
def externals(tmp_path: Path) -> ExternalAgents:
    return ExternalAgents(tmp_path)


def test_it_is_found_by_name_and_by_id(externals: ExternalAgents) -> None:
    """With or without the prefix; its token is readable by its user alone."""
    externals.register(FAR, "t0ken")

    assert [externals.find(ref) for ref in ("far", "HOUMAO-far", FAR.external_agent_id)] == [FAR] * 3
    assert externals.token(FAR.external_agent_id) == "t0ken"
    path = externals.folder / FAR.external_agent_id / external_agents.TOKEN
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ExternalNotFound):
        externals.find("other")


def test_a_name_is_given_once(externals: ExternalAgents) -> None:
    """Also in its other spelling; the first stays."""
    externals.register(FAR, None)
    other = msgspec.structs.replace(FAR, local_name="HOUMAO-far", external_agent_id="external-1")

    with pytest.raises(Conflict, match="is already 'worker'"):
        externals.register(other, None)
    assert externals.records() == [FAR]


def test_what_is_gone_stays_gone(externals: ExternalAgents) -> None:
    """A change does not bring a removed record back."""
    externals.register(FAR, "t0ken")
    externals.remove(FAR.external_agent_id)

    assert (externals.entries(), externals.token(FAR.external_agent_id)) == ([], None)
    with pytest.raises(ExternalNotFound):
        externals.change(FAR)


def test_one_bad_record_spoils_nothing(externals: ExternalAgents) -> None:
    """It is told with its problem; a registration that was killed before its record is nobody."""
    externals.register(FAR, None)
    (externals.folder / "half").mkdir()
    (externals.folder / "broken").mkdir()
    (externals.folder / "broken" / "record.json").write_text("{")

    assert externals.records() == [FAR]
    [problem] = [entry.problem for entry in externals.entries() if entry.problem]
    assert "broken/record.json can't be used" in problem


@pytest.mark.parametrize(
    "change",
    [
        {"pair_api_base_url": "https://host/"},
        {"pair_api_base_url": "ftp://host"},
        {"kind": "local"},
        {"lifecycle_owner": "local"},
        {"gateway_expected": True},
        {"verified_at_utc": "2020-01-01T00:00:00+00:00"},
        {"schema_version": 2},
        {"of_tomorrow": 1},
    ],
    ids=lambda change: str(next(iter(change.items()))),
)
def test_the_record_is_strict(change: dict[str, object]) -> None:
    """Whatever is not of the contract is refused."""
    with pytest.raises(ValueError):
        strict.convert(strict.plain(FAR) | change, ExternalRecord)


def test_its_identity_is_the_contracts() -> None:
    """With this machine's names, and nothing of what only its own machine knows."""
    told = Identity.model_validate(FAR.identity)

    assert (told.agent_name, told.tool, told.transport) == ("far", "codex", "tui")
    assert (told.management_kind, told.lifecycle_owner) == ("external_communication_only", "remote")
    assert told.tmux_session_name is None
