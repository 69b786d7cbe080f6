"""From a declared mailbox to the binding in the manifest."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from posthouse.contracts import manifest as m
from posthouse.contracts import registry as r
from posthouse.errors import InvalidInput
from posthouse.sessions import mailbox_binding
from posthouse.sessions.mailbox_binding import MailboxOwner
from posthouse.testing import running_gateways

_MOMENT = datetime(2026, 3, 13, 9, 15, 30, 123456, tzinfo=UTC)
_VERSION = "2026-03-13T09:15:30.123456Z"
_OWNER = MailboxOwner(
    agent_name="research", default_root=Path("/roots/mail"), working_directory=Path("/work")
)


def _resolved(**payload: str) -> m.Mailbox:
    return mailbox_binding.resolve(mailbox_binding.parse_declaration(payload), _OWNER, moment=_MOMENT)


def test_the_defaults_are_the_contract_s() -> None:
    """With only a transport, the address, principal and root follow from the agent and its surroundings."""
    assert _resolved(transport="filesystem") == m.FilesystemMailbox(
        principal_id="HOUMAO-research",
        address="research@houmao.localhost",
        bindings_version=_VERSION,
        filesystem_root="/roots/mail",
        mailbox_path="/roots/mail/mailboxes/research@houmao.localhost",
    )


def test_what_is_declared_wins() -> None:
    """A declared identity and root are kept; a relative root counts from the agent's folder."""
    assert _resolved(
        transport="filesystem", principal_id="P", address="x@y", filesystem_root="mail", mailbox_path="/own"
    ) == m.FilesystemMailbox(
        principal_id="P",
        address="x@y",
        bindings_version=_VERSION,
        filesystem_root="/work/mail",
        mailbox_kind="symlink",
        mailbox_path="/own",
    )


def test_a_stalwart_binding_has_no_secret() -> None:
    """A base address becomes both endpoints, and the credential is only named."""
    assert _resolved(transport="stalwart", base_url="http://mail/") == m.StalwartMailbox(
        principal_id="HOUMAO-research",
        address="research@houmao.localhost",
        bindings_version=_VERSION,
        jmap_url="http://mail/jmap",
        management_url="http://mail/api",
        login_identity="research@houmao.localhost",
        credential_ref="stalwart-research-at-houmao-localhost-9a665b22ad036299",
    )


@pytest.mark.parametrize(
    "payload",
    [
        {"transport": "pigeon"},
        {"address": "x@y"},
        {"transport": "filesystem", "colour": "red"},
        {"transport": "filesystem", "address": "x"},
        {"transport": "filesystem", "address": "HOUMAO-x@houmao.localhost"},
        {"transport": "filesystem", "jmap_url": "http://mail"},
        {"transport": "stalwart"},
        {"transport": "stalwart", "jmap_url": "http://mail"},
        {"transport": "stalwart", "base_url": "http://mail", "filesystem_root": "/x"},
    ],
)
def test_what_contradicts_itself_is_refused(payload: Mapping[str, str]) -> None:
    """A declaration that can't be had is the caller's to change."""
    with pytest.raises(InvalidInput):
        _resolved(**payload)


def test_the_record_locates_the_same_mailbox() -> None:
    """The registry shows where a mailbox is, for both transports."""
    filesystem, stalwart = (
        _resolved(transport="filesystem"),
        _resolved(transport="stalwart", base_url="http://m"),
    )

    assert mailbox_binding.registry_mailbox(filesystem) == r.FilesystemMailbox(
        principal_id="HOUMAO-research",
        address="research@houmao.localhost",
        filesystem_root="/roots/mail",
        bindings_version=_VERSION,
    )
    assert mailbox_binding.registry_mailbox(stalwart) == r.StalwartMailbox(**structs.asdict(stalwart))
    assert mailbox_binding.registry_mailbox(None) is None


def test_binding_writes_the_manifest(tmp_path: Path) -> None:
    """The manifest holds the binding after `bind`, and none after `bind` of none."""
    from posthouse.sessions.registry import Registry

    made, registry = running_gateways.session_in(tmp_path), Registry(tmp_path / "registry")
    binding = _resolved(transport="filesystem")

    bound = mailbox_binding.bind(made, binding, registry)
    unbound = mailbox_binding.bind(made, None, registry)

    assert (bound.manifest.launch_plan.mailbox, unbound.manifest.launch_plan.mailbox) == (binding, None)


def test_a_payload_with_a_wrong_type_names_the_field() -> None:
    """Whoever wrote the declaration is told which field is wrong."""
    with pytest.raises(InvalidInput, match="address"):
        mailbox_binding.parse_declaration({"transport": "filesystem", "address": 5})
