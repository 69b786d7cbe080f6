"""Counts the answers of an application, by route and status."""

from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from posthouse.web.app import ROUTE
from posthouse.web.exposition import Family, Sample
from posthouse.web.route import Route


class Answers:
    """How many there were, from the moment this was made."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, int]] = Counter()

    def count(self, scope: Scope, status: int) -> None:
        route: Route | None = scope.get(ROUTE)
        # What was asked of no route of ours has words of the caller's own.
        method, path = ("any", "none") if route is None else (route.method, route.path)
        self._counts[method, path, status] += 1

    def family(self) -> Family:
        return Family(
            name="posthouse_http_answers_total",
            kind="counter",
            help="Answers by route and status; route none: there is none, or the door refused.",
            samples=[
                Sample(value=count, labels={"method": method, "route": path, "status": str(status)})
                for (method, path, status), count in sorted(self._counts.items())
            ],
        )


def counted(app: ASGIApp, answers: Answers) -> ASGIApp:
    """*app*, with every answer counted."""

    async def counting_app(scope: Scope, receive: Receive, send: Send) -> None:
        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                answers.count(scope, message["status"])
            await send(message)

        await app(scope, receive, counting)

    return counting_app
