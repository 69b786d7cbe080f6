"""What is published about a live gateway outside its own process: wish, tmux variables, registry record.

Live bindings are locators: whoever reads them checks them against the process and `/health`.
"""

from msgspec import structs

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names, strict
from posthouse.contracts.registry import GatewayLocator, Record
from posthouse.errors import Unavailable
from posthouse.sessions import publication
from posthouse.sessions import session as sessions
from posthouse.sessions.registry import Registry
from posthouse.sessions.session import Session
from posthouse.support import files, untrusted_files
from posthouse.terminal import session as terminal


def recorded(session: Session) -> gf.CurrentInstance | None:
    """What `run/current-instance.json` says, if it says something valid."""
    try:
        content = untrusted_files.read_own_bytes(session.gateway_root / gf.CURRENT_INSTANCE)
        return strict.decode(content, gf.CurrentInstance)
    except (FileNotFoundError, ValueError):
        return None


def publish(session: Session, registry: Registry, there: gf.CurrentInstance) -> None:
    """Tell everybody who may look: the next attach, the tmux session, the registry."""
    desired = publication.desired_config(session)
    resolved = structs.replace(
        desired,
        desired_host=there.host,
        desired_port=there.port,
        desired_execution_mode=there.execution_mode,
    )
    if resolved != desired:
        files.write_json(session.gateway_root / gf.DESIRED_CONFIG, strict.plain(resolved), durable=True)
    state_path = str(session.gateway_root / gf.STATE)
    published: dict[str, str | None] = dict.fromkeys(names.RETIRED)
    published |= {
        names.GATEWAY_HOST: there.host,
        names.GATEWAY_PORT: str(there.port),
        names.GATEWAY_STATE_PATH: state_path,
        names.GATEWAY_PROTOCOL_VERSION: there.protocol_version,
    }
    terminal.set_environment(session.tmux, session.tmux_session_name, published)
    locator = GatewayLocator(
        host=there.host, port=there.port, state_path=state_path, protocol_version=there.protocol_version
    )
    record(session, registry, locator)


def wish(
    session: Session, diagnostics: gf.DiagnosticLogging | None, timings: gf.TrackingTimings | None
) -> None:
    """Write what is wished of the next gateway where it reads it; what is None stays as it was."""
    desired = publication.desired_config(session)
    changed = structs.replace(
        desired,
        desired_diagnostic_logging=diagnostics or desired.desired_diagnostic_logging,
        desired_tui_tracking_timings=timings or desired.desired_tui_tracking_timings,
    )
    if changed != desired:
        files.write_json(session.gateway_root / gf.DESIRED_CONFIG, strict.plain(changed), durable=True)


def wish_host(session: Session, *, is_hosted: bool) -> None:
    """Remember whether the gateway runs in a host, for the next attach that does not say."""
    mark = session.gateway_root / gf.HOSTED
    if is_hosted and not mark.exists():
        files.write_whole(mark, b"", durable=True)
    elif not is_hosted:
        mark.unlink(missing_ok=True)


def is_host_wished(session: Session) -> bool:
    return (session.gateway_root / gf.HOSTED).exists()


def withdraw(session: Session) -> None:
    """Say in the files and in tmux that no gateway lives here. A killed gateway could not do it itself."""
    window = recorded(session)
    for name in (gf.CURRENT_INSTANCE, gf.PID):
        (session.gateway_root / name).unlink(missing_ok=True)
    # Read again: turns may have changed the manifest since the caller read it.
    publication.publish_offline(sessions.read(session.manifest_path), queue_depth=_depth(session))
    try:
        terminal.set_environment(
            session.tmux, session.tmux_session_name, dict.fromkeys((*names.LIVE_GATEWAY, *names.RETIRED))
        )
        if window is not None and window.tmux_window_id is not None:
            terminal.kill_window(session.tmux, window.tmux_window_id)
    except Unavailable:
        return  # the session or the window is gone, and what it held with it


def _depth(session: Session) -> int:
    """What still waits; those requests are carried on by the next gateway."""
    from posthouse.queue import depth_of  # asyncio comes with it, and most commands never detach

    return depth_of(session.gateway_root / gf.QUEUE)


def record(session: Session, registry: Registry, locator: GatewayLocator | None) -> None:
    """Write the gateway's place, or its absence, into the agent's record."""
    generation = session.manifest.registry_generation_id
    if generation is None:
        return

    def located(record: Record) -> Record:
        # A record that ended has no gateway, and gets none.
        return record if record.liveness is None else structs.replace(record, gateway=locator)

    with registry.locked(session.agent_id):
        registry.change(session.agent_id, generation, located)
