"""Bindings of a gateway outside its process: desired config, tmux variables, registry record.

Live bindings are locators: readers verify them against the process and `/health`.
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


def read_instance(session: Session) -> gf.CurrentInstance | None:
    """The content of `run/current-instance.json`; None when it is missing or invalid."""
    try:
        content = untrusted_files.read_own_bytes(session.gateway_root / gf.CURRENT_INSTANCE)
        return strict.decode(content, gf.CurrentInstance)
    except (FileNotFoundError, ValueError):
        return None


def publish(session: Session, registry: Registry, instance: gf.CurrentInstance) -> None:
    """Write the bindings: desired config, tmux variables and registry record."""
    desired = publication.desired_config(session)
    resolved = structs.replace(
        desired,
        desired_host=instance.host,
        desired_port=instance.port,
        desired_execution_mode=instance.execution_mode,
    )
    if resolved != desired:
        files.write_json(session.gateway_root / gf.DESIRED_CONFIG, strict.plain(resolved), durable=True)
    state_path = str(session.gateway_root / gf.STATE)
    published: dict[str, str | None] = dict.fromkeys(names.RETIRED)
    published |= {
        names.GATEWAY_HOST: instance.host,
        names.GATEWAY_PORT: str(instance.port),
        names.GATEWAY_STATE_PATH: state_path,
        names.GATEWAY_PROTOCOL_VERSION: instance.protocol_version,
    }
    terminal.set_environment(session.tmux, session.tmux_session_name, published)
    locator = GatewayLocator(
        host=instance.host,
        port=instance.port,
        state_path=state_path,
        protocol_version=instance.protocol_version,
    )
    update_registry(session, registry, locator)


def update_desired_config(
    session: Session, diagnostics: gf.DiagnosticLogging | None, timings: gf.TrackingTimings | None
) -> None:
    """Update the desired config for the next gateway start; None keeps a value."""
    desired = publication.desired_config(session)
    changed = structs.replace(
        desired,
        desired_diagnostic_logging=diagnostics or desired.desired_diagnostic_logging,
        desired_tui_tracking_timings=timings or desired.desired_tui_tracking_timings,
    )
    if changed != desired:
        files.write_json(session.gateway_root / gf.DESIRED_CONFIG, strict.plain(changed), durable=True)


def set_hosted(session: Session, *, is_hosted: bool) -> None:
    """Store whether the gateway runs in a host, as the default of the next attach."""
    mark = session.gateway_root / gf.HOSTED
    if is_hosted and not mark.exists():
        files.write_whole(mark, b"", durable=True)
    elif not is_hosted:
        mark.unlink(missing_ok=True)


def was_hosted(session: Session) -> bool:
    return (session.gateway_root / gf.HOSTED).exists()


def withdraw(session: Session) -> None:
    """Remove the bindings in files and tmux, also for a gateway that was killed."""
    instance = read_instance(session)
    for name in (gf.CURRENT_INSTANCE, gf.PID):
        (session.gateway_root / name).unlink(missing_ok=True)
    # Read again: turns may have changed the manifest since.
    publication.publish_offline(sessions.read(session.manifest_path), queue_depth=_depth(session))
    try:
        terminal.set_environment(
            session.tmux, session.tmux_session_name, dict.fromkeys((*names.LIVE_GATEWAY, *names.RETIRED))
        )
        if instance is not None and instance.tmux_window_id is not None:
            terminal.kill_window(session.tmux, instance.tmux_window_id)
    except Unavailable:
        return  # the session or window is gone, with its variables


def _depth(session: Session) -> int:
    """Queued requests, which the next gateway continues."""
    from posthouse.queue import depth_of  # asyncio comes with it, and most commands never detach

    return depth_of(session.gateway_root / gf.QUEUE)


def update_registry(session: Session, registry: Registry, locator: GatewayLocator | None) -> None:
    """Write or clear the gateway's locator in the agent's record."""
    generation = session.manifest.registry_generation_id
    if generation is None:
        return

    def located(record: Record) -> Record:
        # An ended record gets no gateway.
        return record if record.liveness is None else structs.replace(record, gateway=locator)

    with registry.locked(session.agent_id):
        registry.change(session.agent_id, generation, located)
