"""Counts the responses of an application by route and status."""

from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from posthouse.web.app import ROUTE
from posthouse.web.exposition import Family, Sample
from posthouse.web.route import Route


class ResponseCounter:
    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, int]] = Counter()

    def count(self, scope: Scope, status: int) -> None:
        route: Route | None = scope.get(ROUTE)
        # An unknown path is text of the caller and must not become a label.
        method, path = ("any", "none") if route is None else (route.method, route.path)
        self._counts[method, path, status] += 1

    def family(self) -> Family:
        return Family(
            name="posthouse_http_answers_total",
            kind="counter",
            help="Responses by route and status; route none: unknown path or access refused.",
            samples=[
                Sample(value=count, labels={"method": method, "route": path, "status": str(status)})
                for (method, path, status), count in sorted(self._counts.items())
            ],
        )


def count_responses(app: ASGIApp, counter: ResponseCounter) -> ASGIApp:
    """Middleware that counts every response of *app*."""

    async def counting_app(scope: Scope, receive: Receive, send: Send) -> None:
        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                counter.count(scope, message["status"])
            await send(message)

        await app(scope, receive, counting)

    return counting_app
