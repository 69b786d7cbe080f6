"""Every reader of a file that can name a command, an address or a secret refuses what others could write.

One row per file: how it is read, and what its reader comes to when the file is not to be believed. The same
readers refuse named pipes, links and JSON without end, and none of them waits.
"""

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit.sessions.test_externals import FAR

from posthouse.contracts import external_agents
from posthouse.contracts import gateway_host as gh
from posthouse.errors import PosthouseError
from posthouse.gateway.context import GatewayContext
from posthouse.gateway.control.answer_rules import DialogAutoResponder
from posthouse.gateway.notifications.targets import TargetFiles
from posthouse.gateway_lifecycle import bindings, host_registry
from posthouse.server import token_store
from posthouse.sessions import brain, overlay_trust, publication, roots, secrets
from posthouse.sessions import session as sessions
from posthouse.sessions.externals import ExternalAgents
from posthouse.sessions.registry import Registry
from posthouse.sessions.session import Session
from posthouse.support import files
from posthouse.terminal import variable_files
from posthouse.testing import members, running_gateways, server_with_gateways

_RULES = b'{"rules": [{"dialog": "permission", "choice": "yes"}]}'
_BRAIN = b"""
schema_version: 3
inputs: {tool: scripted}
runtime:
  home_path: /h
  launch_home_selector: {env_var: HOME_OF_IT}
  launch_executable: /bin/agent
"""


@dataclass(frozen=True)
class Believed:
    """A file in its place, and its reader."""

    path: Path
    #: What is read; a refusal of ours counts as its code.
    read: Callable[[], Any]


def _session(folder: Path) -> Session:
    return running_gateways.session_in(folder)


def _manifest(folder: Path) -> Believed:
    path = _session(folder).manifest_path
    return Believed(path, lambda: sessions.read(path).agent_name)


def _record(folder: Path) -> Believed:
    registry = Registry(folder)
    registry.publish(members.record("gpu"))
    return Believed(
        folder / "live_agents" / "gpu" / "record.json", lambda: [one.agent_name for one in registry.records()]
    )


def _targets(folder: Path) -> Believed:
    kept = TargetFiles(folder)
    kept.add(["finished"], command=["true"])
    return Believed(folder / "notify" / "targets.json", lambda: [one.command for one in kept.read()])


def _secret(folder: Path) -> Believed:
    kept = TargetFiles(folder)
    made = kept.add(["finished"], url="http://127.0.0.1:1/", secret=b"s" * 32)
    return Believed(kept.secret_path(made.target_id), lambda: kept.secret(made.target_id))


def _roll(folder: Path) -> Believed:
    host_registry.add(folder, gh.HostRegistryEntry(gateway_root="/g"))
    return Believed(
        folder / "gateway-host" / "gateways.json",
        lambda: [one.gateway_root for one in host_registry.read(folder)],
    )


def _answer_rules(folder: Path) -> Believed:
    path = folder / "answer-rules.json"
    files.write_whole(path, _RULES, durable=False)

    class Logging:
        log = logging.getLogger("test")

    # Reading needs the log alone.
    gateway = cast("GatewayContext", Logging())

    def dialogs() -> list[str]:
        responder = DialogAutoResponder(gateway, cast("Any", None), folder)
        return [rule.dialog for rule in responder.rules().rules]

    return Believed(path, dialogs)


def _launch_env(folder: Path) -> Believed:
    secrets.write(folder, {"KEY": "value"})
    return Believed(folder / "launch-env.json", lambda: variable_files.read(secrets.file_of(folder)))


def _env_file(folder: Path) -> Believed:
    path = folder / "keys.env"
    files.write_whole(path, b"KEY=value\n", durable=False)
    return Believed(path, lambda: secrets.collect([], {}, [path]))


def _brain_manifest(folder: Path) -> Believed:
    path = folder / "brain.yaml"
    files.write_whole(path, _BRAIN, durable=False)
    return Believed(path, lambda: brain.read(path).executable)


def _desired_config(folder: Path) -> Believed:
    session = _session(folder)
    publication.seed(session)
    path = session.gateway_root / "desired-config.json"
    return Believed(path, lambda: publication.desired_config(session).schema_version)


def _current_instance(folder: Path) -> Believed:
    session = _session(folder)
    path = session.gateway_root / "run" / "current-instance.json"
    with server_with_gateways.claimed(session, 4321):
        content = path.read_bytes()
    files.write_whole(path, content, durable=False)
    return Believed(path, lambda: getattr(bindings.read_instance(session), "port", None))


def _external_record(folder: Path) -> Believed:
    externals = ExternalAgents(folder)
    externals.register(FAR, "t0ken")
    path = externals.folder / FAR.external_agent_id / "record.json"
    return Believed(path, lambda: [one.local_name for one in externals.records()])


def _external_token(folder: Path) -> Believed:
    externals = ExternalAgents(folder)
    externals.register(FAR, "t0ken")
    path = externals.folder / FAR.external_agent_id / external_agents.TOKEN
    return Believed(path, lambda: externals.token(FAR.external_agent_id))


def _server_token(folder: Path) -> Believed:
    ring = token_store.TokenStore(folder)
    made = ring.create("ci", "admin")
    return Believed(made.path, lambda: list(token_store.read_scopes(ring)[0].scopes.values()))


def _trust_record(folder: Path) -> Believed:
    project, anchor = files.private_folder(folder / "project"), folder / "anchor"
    overlay = roots.make_overlay(project, anchor)
    [record] = (anchor / "trusted-overlays").iterdir()
    return Believed(record, lambda: overlay_trust.require_trust(overlay, anchor))


#: A refusal that names the file, and nothing more particular.
_REFUSED = frozenset(("unsafe_file", "bad_json"))
#: What is read while the file is as it was written, and what when it is not to be believed.
BELIEVED: dict[str, tuple[Callable[[Path], Believed], Any, Any]] = {
    "session manifest": (_manifest, "gpu", "bad_manifest"),
    "registry record": (_record, ["gpu"], []),
    "notification targets": (_targets, [["true"]], "bad_target"),
    "secret of a webhook": (_secret, b"s" * 32, "bad_secret"),
    "roll of the host": (_roll, ["/g"], []),
    "answer rules": (_answer_rules, ["permission"], []),
    "variables of a launch": (_launch_env, {"KEY": "value"}, "bad_variables_file"),
    "env file": (_env_file, {"KEY": "value"}, "bad_variable"),
    "brain manifest": (_brain_manifest, "/bin/agent", "bad_definition"),
    "wish for a gateway": (_desired_config, 1, "bad_desired_config"),
    "place of a gateway": (_current_instance, 4321, None),
    "record of an external agent": (_external_record, ["far"], []),
    "token of an external agent": (_external_token, "t0ken", _REFUSED),
    "token of the server": (_server_token, ["admin"], []),
    "record of trust": (_trust_record, None, _REFUSED),
}
#: Paths that the user gives: a link there is the user's own.
_FOLLOWED = ("env file", "brain manifest")
#: No JSON.
_TEXTS = ("secret of a webhook", "env file", "token of an external agent", "token of the server")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A private folder, whatever the umask is."""
    yield files.private_folder(tmp_path / "folder")


def _came_to(believed: Believed) -> Any:
    try:
        return believed.read()
    except PosthouseError as error:
        return _REFUSED if error.code in _REFUSED else error.code


@pytest.mark.parametrize("name", BELIEVED)
def test_what_we_wrote_is_read(folder: Path, name: str) -> None:
    make, expected, _ = BELIEVED[name]

    assert _came_to(make(folder)) == expected


@pytest.mark.parametrize("name", BELIEVED)
def test_what_others_could_write_is_not_believed(folder: Path, name: str) -> None:
    make, _, refused = BELIEVED[name]
    believed = make(folder)
    believed.path.chmod(0o646)

    assert _came_to(believed) == refused


@pytest.mark.needs_host("root")
@pytest.mark.parametrize("name", BELIEVED)
def test_what_another_user_wrote_is_not_believed(folder: Path, name: str) -> None:
    """Though nobody else can change it."""
    make, _, refused = BELIEVED[name]
    believed = make(folder)
    os.chown(believed.path, 65534, 65534)

    assert _came_to(believed) == refused


@pytest.mark.parametrize("name", [name for name in BELIEVED if name not in _FOLLOWED])
def test_what_is_reached_through_a_link_is_not_believed(folder: Path, name: str) -> None:
    make, _, refused = BELIEVED[name]
    believed = make(folder)
    believed.path.rename(folder / "elsewhere")
    believed.path.symlink_to(folder / "elsewhere")

    assert _came_to(believed) == refused


@pytest.mark.parametrize("name", BELIEVED)
def test_a_named_pipe_is_refused_at_once(folder: Path, name: str) -> None:
    make, _, refused = BELIEVED[name]
    believed = make(folder)
    believed.path.unlink()
    os.mkfifo(believed.path, 0o600)

    assert _came_to(believed) == refused


@pytest.mark.parametrize("name", [name for name in BELIEVED if name not in _TEXTS])
@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000], ids=["lists", "objects"])
def test_json_without_end_is_refused(folder: Path, name: str, deep: str) -> None:
    make, _, refused = BELIEVED[name]
    believed = make(folder)
    files.write_whole(believed.path, deep.encode(), durable=False)

    assert _came_to(believed) == refused
