import pytest

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import strict

_ATTACH = gf.Attach(
    attach_identity="s1",
    backend="local_interactive",
    tmux_session_name="HOUMAO-gpu-1",
    working_directory="/w",
    backend_metadata=gf.BackendMetadata(tool="scripted"),
)


def _instance(**more: object) -> gf.CurrentInstance:
    return strict.convert(
        {
            "schema_version": 1,
            "protocol_version": "v1",
            "pid": 7,
            "host": "127.0.0.1",
            "port": 43123,
            "execution_mode": "detached_process",
            "managed_agent_instance_epoch": 1,
            "managed_agent_instance_id": "i",
            **more,
        },
        gf.CurrentInstance,
    )


def test_a_detached_instance_omits_the_tmux_fields() -> None:
    """A process outside tmux says nothing about windows."""
    assert strict.plain(_instance()) == {
        "schema_version": 1,
        "protocol_version": "v1",
        "pid": 7,
        "host": "127.0.0.1",
        "port": 43123,
        "execution_mode": "detached_process",
        "managed_agent_instance_epoch": 1,
        "managed_agent_instance_id": "i",
    }


_WINDOW = {
    "execution_mode": "tmux_auxiliary_window",
    "tmux_window_id": "@2",
    "tmux_window_index": "1",
    "tmux_pane_id": "%7",
}


@pytest.mark.parametrize(
    "broken",
    [{**_WINDOW, "tmux_window_index": "0"}, {**_WINDOW, "tmux_pane_id": None}, {"tmux_pane_id": "%7"}],
)
def test_the_tmux_fields_fit_the_execution_mode(broken: dict[str, object]) -> None:
    """A window has all three and is never window 0; a detached process has none."""
    with pytest.raises(ValueError, match="tmux window"):
        _instance(**broken)


def test_live_fields_are_in_the_gateway_manifest_only_while_it_lives() -> None:
    """Five fields for a live gateway, three more for one in a window, none without one."""
    offline = gf.gateway_manifest(_ATTACH, None)
    detached = gf.gateway_manifest(_ATTACH, _instance())
    window = gf.gateway_manifest(_ATTACH, _instance(**_WINDOW))

    assert offline == strict.plain(_ATTACH)
    assert detached.keys() - offline.keys() == {
        "gateway_pid",
        "gateway_host",
        "gateway_port",
        "gateway_protocol_version",
        "gateway_execution_mode",
    }
    assert window.keys() - detached.keys() == {
        "gateway_tmux_window_id",
        "gateway_tmux_window_index",
        "gateway_tmux_pane_id",
    }


def test_the_offline_status_is_the_contracts() -> None:
    """No host, no port, epoch 0, and the desired mode."""
    assert gf.offline_status(_ATTACH, "tmux_auxiliary_window") == {
        "schema_version": 1,
        "protocol_version": "v1",
        "attach_identity": "s1",
        "backend": "local_interactive",
        "tmux_session_name": "HOUMAO-gpu-1",
        "gateway_health": "not_attached",
        "managed_agent_connectivity": "unavailable",
        "managed_agent_recovery": "idle",
        "request_admission": "blocked_unavailable",
        "terminal_surface_eligibility": "unknown",
        "active_execution": "idle",
        "execution_mode": "tmux_auxiliary_window",
        "queue_depth": 0,
        "managed_agent_instance_epoch": 0,
    }


@pytest.mark.parametrize("half", [{"managed_api_base_url": "http://x"}, {"managed_agent_ref": "a"}])
def test_a_managing_server_is_named_whole(half: dict[str, str]) -> None:
    """The server's address and the agent's name there come together."""
    with pytest.raises(ValueError, match="together"):
        gf.BackendMetadata(tool="scripted", **half)
