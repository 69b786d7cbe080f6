"""Sessions with nothing beside them."""

from posthouse.sessions.session import Session


class NoSessionHooks:
    """No mailbox, no turn and no gateway to open or end with a session."""

    def open_mailbox(self, made: Session) -> None: ...

    def end_turn(self, found: Session) -> None: ...

    def detach_gateway(self, found: Session) -> None: ...
