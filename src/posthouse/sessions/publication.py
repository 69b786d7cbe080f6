"""Files that a session publishes so that a gateway can be attached later.

They are derived from the manifest and the desired configuration, so they can be rewritten at any time.
"""

import msgspec

from posthouse.contracts import gateway_files as gf
from posthouse.contracts import names, strict
from posthouse.errors import Conflict
from posthouse.sessions.session import Session
from posthouse.support import files, untrusted_files


def attach_of(session: Session) -> gf.Attach:
    """`attach.json`, derived from the manifest."""
    manifest = session.manifest
    control = manifest.gateway_authority.control if manifest.gateway_authority else None
    # Ignore incomplete managed-API metadata: it belongs to another system.
    managed = control if control and control.api_base_url and control.managed_agent_ref else None
    desired = desired_config(session)
    return gf.Attach(
        attach_identity=session.session_id,
        backend=manifest.backend,
        tmux_session_name=session.tmux_session_name,
        working_directory=manifest.working_directory,
        backend_metadata=gf.BackendMetadata(
            session_id=manifest.headless.session_id if manifest.headless else None,
            tool=manifest.tool,
            managed_api_base_url=managed.api_base_url if managed else None,
            managed_agent_ref=managed.managed_agent_ref if managed else None,
        ),
        manifest_path=str(session.manifest_path),
        agent_def_dir=manifest.runtime.agent_def_dir,
        runtime_session_id=manifest.runtime.session_id,
        desired_host=desired.desired_host,
        desired_port=desired.desired_port,
    )


def desired_config(session: Session) -> gf.DesiredConfig:
    """The desired configuration; the defaults when the file is missing.

    Raises:
        Conflict: The file can't be read.
    """
    path = session.gateway_root / gf.DESIRED_CONFIG
    try:
        return strict.decode(untrusted_files.read_own_bytes(path), gf.DesiredConfig)
    except FileNotFoundError:
        return gf.DesiredConfig()
    except ValueError as error:
        raise Conflict(
            f"{path} can't be used: {error}; fix or delete it", code="bad_desired_config"
        ) from error


def seed(session: Session) -> None:
    """Publish the files for a later attach, and the offline status."""
    root = files.private_folder(session.gateway_root)
    for folder in ("run", "logs"):
        files.private_folder(root / folder)
    files.write_whole(root / gf.PROTOCOL_VERSION, f"{names.PROTOCOL_VERSION}\n".encode(), durable=False)
    if not (root / gf.DESIRED_CONFIG).exists():
        files.write_json(root / gf.DESIRED_CONFIG, strict.plain(gf.DesiredConfig()), durable=True)
    publish_offline(session)


def publish_offline(session: Session, *, queue_depth: int = 0) -> None:
    """Publish the offline status: after a launch, a detach, or the death of a gateway."""
    attach = attach_of(session)
    root = session.gateway_root
    mode = desired_config(session).desired_execution_mode
    files.write_json(root / gf.ATTACH, msgspec.to_builtins(attach), durable=False)
    files.write_json(root / gf.GATEWAY_MANIFEST, gf.gateway_manifest(attach, None), durable=False)
    files.write_json(root / gf.STATE, gf.offline_status(attach, mode, queue_depth=queue_depth), durable=False)
