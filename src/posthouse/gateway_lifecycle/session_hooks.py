"""Hooks for session changes: mailbox, running turn and gateway of an agent."""

from posthouse.sessions.session import Session


class GatewaySessionHooks:
    """Called by `sessions`. Imports lazily, so that listing agents stays fast."""

    def open_mailbox(self, made: Session) -> None:
        """Create the mailbox that the manifest names, if any."""
        binding = made.manifest.launch_plan.mailbox
        if binding is not None:
            from posthouse.gateway_lifecycle import mailbox

            mailbox.ensure_mailbox(made, binding)

    def end_turn(self, found: Session) -> None:
        """Kill the running headless turn, if any."""
        if not found.manifest.is_headless:
            return
        from posthouse.turns import runner

        running = runner.active(found.turns_root)
        if running is not None:
            running.kill()

    def detach_gateway(self, found: Session) -> None:
        """End the session's gateway, if any."""
        from posthouse.gateway_lifecycle import attach

        # Without the registry: the caller holds the record's lock and updates it.
        attach.detach(found, None)
