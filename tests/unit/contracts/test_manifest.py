"""`manifest.json`, schema 4: strict at every level."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from posthouse.contracts import strict
from posthouse.contracts.manifest import Manifest

_MINIMAL: dict[str, Any] = {
    "schema_version": 4,
    "backend": "local_interactive",
    "tool": "codex",
    "role_name": "r",
    "created_at_utc": "2026-06-05T00:00:00+00:00",
    "working_directory": "/w",
    "brain_manifest_path": "/b.yaml",
    "agent_name": "gpu",
    "agent_id": "0aa0be2a866411d9ff03515227454947",
    "tmux_session_name": "HOUMAO-gpu-1",
    "registry_generation_id": "g",
    "registry_launch_authority": "runtime",
    "runtime": {
        "session_id": "local_interactive-20260605-000000Z-deadbeef",
        "agent_def_dir": "/d",
        "registry_generation_id": "g",
        "registry_launch_authority": "runtime",
    },
    "tmux": {
        "session_name": "HOUMAO-gpu-1",
        "primary_window_index": "0",
        "primary_window_role": "managed_agent_surface",
        "primary_window_name": "agent",
        "primary_window_id": "@1",
        "primary_pane_id": "%1",
    },
    "interactive": {"turn_index": 0, "working_directory": "/w", "role_bootstrap_applied": False},
    "agent_launch_authority": {
        "backend": "local_interactive",
        "tool": "codex",
        "tmux_session_name": "HOUMAO-gpu-1",
        "primary_window_index": "0",
        "working_directory": "/w",
        "posture_kind": "runtime_launch_plan",
    },
    "gateway_authority": {"attach": {}, "control": {}},
    "launch_plan": {
        "backend": "local_interactive",
        "tool": "codex",
        "executable": "codex",
        "args": [],
        "working_directory": "/w",
        "home_selector": {"env_var": "CODEX_HOME", "home_path": "/h"},
        "env_var_names": [],
        "role_injection": {"method": "native_developer_instructions", "role_name": "r"},
        "metadata": {},
    },
    "backend_state": {},
    "local_interactive": {"turn_index": 0, "role_bootstrap_applied": False, "working_directory": "/w"},
}


def _decode(payload: dict[str, Any]) -> Manifest:
    return strict.decode(json.dumps(payload).encode(), Manifest)


def _changed(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    payload = copy.deepcopy(_MINIMAL)
    change(payload)
    return payload


def test_a_minimal_manifest_is_read_and_written_with_every_null() -> None:
    """What another writer left out is read as its default and written as null."""
    manifest = _decode(_MINIMAL)
    written = strict.plain(manifest)

    assert _decode(written) == manifest
    assert {name for name in written if written[name] is None} == {
        "cao",
        "codex",
        "headless",
        "houmao_server",
        "launch_policy_provenance",
    }
    assert written["runtime"]["memory_root"] is None
    assert written["gateway_authority"]["attach"]["api_base_url"] is None


def _set(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(payload: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        for parent in parents:
            payload = payload[parent]
        payload[last] = value

    return change


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("another schema", _set("schema_version", 3)),
        ("unknown key at the top", _set("extra", 1)),
        ("unknown key below", _set("tmux.extra", 1)),
        ("a number as text", _set("local_interactive.turn_index", "0")),
        ("a number as boolean", _set("local_interactive.role_bootstrap_applied", 0)),
        ("an unknown backend", _set("backend", "kimi_headless")),
        ("a blank tool", _set("tool", " ")),
        ("a name with a slash", _set("agent_name", "a/b")),
        ("a name with a trailing newline", _set("agent_name", "gpu\n")),
        ("no agent id", _set("agent_id", None)),
        ("no tmux section", _set("tmux", None)),
        ("another session in the tmux section", _set("tmux.session_name", "other")),
        ("the launch plan of another tool", _set("launch_plan.tool", "claude")),
        ("another generation in runtime", _set("runtime.registry_generation_id", "h")),
        ("another authority in runtime", _set("runtime.registry_launch_authority", "external")),
        ("a section of another backend", _set("headless", {"session_id": None, "turn_index": 0})),
        ("no section of its own", _set("local_interactive", None)),
        ("half of the memory fields", _set("runtime.memory_root", "/m")),
        ("launch args with a launch plan", _set("agent_launch_authority.launch_args", ["-p"])),
        ("a pid of zero", _set("runtime.agent_pid", 0)),
    ],
)
def test_what_breaks_a_rule_is_refused(rule: str, change: Callable[[dict[str, Any]], None]) -> None:
    """One broken rule makes the whole manifest unusable."""
    with pytest.raises(ValueError, match=r"."):
        _decode(_changed(change))


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        ("none", None, True),
        ("last", None, True),
        ("exact", "chat-1", True),
        ("exact", None, False),
        ("last", "chat-1", False),
    ],
)
def test_a_resume_value_goes_with_exact_only(kind: str, value: str | None, fits: bool) -> None:
    """`resume_selection_value` is there exactly when the kind is `exact`."""
    headless = {
        "session_id": None,
        "turn_index": 0,
        "role_bootstrap_applied": False,
        "working_directory": "/w",
        "resume_selection_kind": kind,
        "resume_selection_value": value,
    }

    def change(payload: dict[str, Any]) -> None:
        payload["local_interactive"] = None
        payload["backend"] = payload["launch_plan"]["backend"] = "codex_headless"
        payload["agent_launch_authority"]["backend"] = "codex_headless"
        payload["headless"] = headless

    if fits:
        assert _decode(_changed(change)).is_headless
    else:
        with pytest.raises(ValueError, match="resume_selection_value"):
            _decode(_changed(change))


@pytest.mark.parametrize(
    ("kind", "path", "fits"),
    [
        ("in_root", None, True),
        ("in_root", "/m/mailboxes/gpu@houmao.localhost", True),
        ("in_root", "/elsewhere", False),
        ("symlink", "/private", True),
        ("symlink", None, False),
    ],
)
def test_the_path_of_a_mailbox_fits_its_kind(kind: str, path: str | None, fits: bool) -> None:
    """A mailbox inside the root has the root's path; a symlinked one names its own."""
    mailbox = {
        "transport": "filesystem",
        "principal_id": "HOUMAO-gpu",
        "address": "gpu@houmao.localhost",
        "bindings_version": "1",
        "filesystem_root": "/m",
        "mailbox_kind": kind,
        "mailbox_path": path,
    }
    payload = _changed(_set("launch_plan.mailbox", mailbox))

    if fits:
        assert strict.plain(_decode(payload))["launch_plan"]["mailbox"] == mailbox
    else:
        with pytest.raises(ValueError, match=r"mailbox_path|symlink"):
            _decode(payload)
