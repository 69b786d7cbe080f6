"""The server's record of a headless agent whose turns it owns."""

from posthouse.contracts import managed_agent_files as mf
from posthouse.sessions.session import Session
from posthouse.support import clock


def authority_of(agent: str, session: Session, known: mf.Authority | None = None) -> mf.Authority:
    """The content of `authority.json` for *session*; *known* is the previous content."""
    manifest, moment = session.manifest, clock.iso_seconds(clock.now())
    return mf.Authority(
        tracked_agent_id=agent,
        backend=manifest.backend,
        tool=manifest.tool,
        manifest_path=str(session.manifest_path),
        session_root=str(session.root),
        tmux_session_name=session.tmux_session_name,
        tmux_window_id=manifest.tmux.primary_window_id if manifest.tmux else None,
        tmux_pane_id=manifest.tmux.primary_pane_id if manifest.tmux else None,
        agent_def_dir=manifest.runtime.agent_def_dir or str(session.root),
        agent_name=session.agent_name,
        agent_id=session.agent_id,
        created_at_utc=known.created_at_utc if known else moment,
        updated_at_utc=moment,
    )
