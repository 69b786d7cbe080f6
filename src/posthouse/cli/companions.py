"""What ends together with an agent: its running turn and its gateway."""

from posthouse.sessions.registry import Registry
from posthouse.sessions.session import Session


class Companions:
    """Ends them when `sessions` asks. Nothing is imported for agents that are only looked at."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def end_turn(self, found: Session) -> None:
        """Kill the headless turn that runs in the session, if one does."""
        if not found.manifest.is_headless:
            return
        from posthouse.turns import runner

        running = runner.active(found.turns_root)
        if running is not None:
            running.kill()

    def detach_gateway(self, found: Session) -> None:
        """End the session's gateway, if it has one."""
        from posthouse.gateway import attach

        attach.detach(found, self._registry)
