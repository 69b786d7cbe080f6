"""What a session's files say before it starts."""

from pathlib import Path

import pytest

from posthouse.contracts import strict
from posthouse.sessions import launch_files
from posthouse.sessions.launch_files import SessionPlan


def _plan(tool_version: str | None) -> SessionPlan:
    return SessionPlan(
        session_root=Path("/r/sessions/claude_headless/s1"),
        created_at_utc="2026-03-13T10:00:00+00:00",
        generation_id="g",
        backend="claude_headless",
        tool="scripted",
        agent_name="gpu",
        agent_id="a1",
        tmux_session_name="HOUMAO-gpu-1",
        tmux_socket=None,
        working_directory=Path("/w"),
        role_name="default",
        role_method="native_append_system_prompt",
        brain_manifest_path=Path("/b.yaml"),
        agent_def_dir=Path("/d"),
        executable="/bin/x",
        args=(),
        home_variable="X_HOME",
        home_path=Path("/h"),
        variable_names=("B", "A"),
        tool_version=tool_version,
        permissions="all",
    )


@pytest.mark.parametrize(
    ("version", "provenance"),
    [
        pytest.param(
            "2.1.7",
            {
                "requested_operator_prompt_mode": "unattended",
                "detected_tool_version": "2.1.7",
                "selected_strategy_id": "scripted-all",
                "selection_source": "registry",
                "override_env_var_name": None,
            },
            id="every field that strict readers want is a text",
        ),
        pytest.param(None, None, id="nothing, where the version is not known"),
    ],
)
def test_the_launch_policy_is_told_whole_or_not_at_all(
    version: str | None, provenance: dict[str, str | None] | None
) -> None:
    """Only the override may be null in it."""
    written = strict.plain(launch_files.manifest_of(_plan(version)))

    assert written["launch_policy_provenance"] == provenance
    assert written["launch_plan"]["launch_policy_provenance"] == provenance
    assert written["launch_plan"]["env_var_names"] == ["A", "B"]
