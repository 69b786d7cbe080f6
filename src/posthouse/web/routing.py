"""Finds the route of a method and a path."""

from collections.abc import Iterable, Mapping

from starlette.exceptions import HTTPException

from posthouse.web.route import Route

#: The routes of one path, by method.
_Methods = dict[str, Route]
_NO_NAMES: Mapping[str, str] = {}


class RouteTable:
    """Routes by path: plain paths by dictionary, paths with parameters by segments.

    A plain path takes precedence over one with parameters.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._plain: dict[str, _Methods] = {}
        #: By the number of segments, then by the segments; parameters are in braces.
        self._named: dict[int, dict[tuple[str, ...], _Methods]] = {}
        for route in routes:
            self._add(route)

    def find(self, method: str, path: str) -> tuple[Route, Mapping[str, str]]:
        """The route and its path parameters.

        Raises:
            HTTPException: 404 for an unknown path, 405 with `Allow` for another method.
        """
        methods = self._plain.get(path)
        if methods is not None and (route := methods.get(method)) is not None:
            return route, _NO_NAMES
        allowed = set(methods or ())
        parts = path.split("/")
        for template, offered in self._named.get(len(parts), {}).items():
            if (names := _match(template, parts)) is None:
                continue
            if (route := offered.get(method)) is not None:
                return route, names
            allowed.update(offered)
        if allowed:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(allowed))})
        raise HTTPException(404)

    def _add(self, route: Route) -> None:
        if "{" in route.path:
            template = tuple(route.path.split("/"))
            methods = self._named.setdefault(len(template), {}).setdefault(template, {})
        else:
            methods = self._plain.setdefault(route.path, {})
        methods[route.method] = route
        if route.method == "GET":
            methods["HEAD"] = route


def _match(template: tuple[str, ...], parts: list[str]) -> dict[str, str] | None:
    """The path parameters of *template* in *parts*, of the same length; None without a match."""
    names: dict[str, str] = {}
    for wanted, part in zip(template, parts, strict=True):
        if wanted.startswith("{"):
            if not part:
                return None
            names[wanted[1:-1]] = part
        elif wanted != part:
            return None
    return names
