"""What stands beside an agent: its mailbox, its running turn and its gateway."""

from posthouse.sessions.session import Session


class Companions:
    """Ends them when `sessions` asks. Nothing is imported for agents that are only looked at."""

    def open_mailbox(self, made: Session) -> None:
        """Have the mailbox that the manifest names, if it names one."""
        binding = made.manifest.launch_plan.mailbox
        if binding is not None:
            from posthouse.gateway_lifecycle import mailbox

            mailbox.provide(made, binding)

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
        from posthouse.gateway_lifecycle import attach

        # Without the registry: who stops the agent holds its record, and writes it without a gateway.
        attach.detach(found, None)
