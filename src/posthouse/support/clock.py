"""Times as the contracts write them. Every time here is aware UTC."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)


def iso_seconds(moment: datetime) -> str:
    """`2026-03-13T00:00:00+00:00`: queue rows, events, manifests."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def iso_micros(moment: datetime) -> str:
    """`2026-03-13T00:00:00.000001+00:00`: where order inside a second matters."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def compact(moment: datetime) -> str:
    """`20260313-000000Z`: the stamp inside ids."""
    return moment.astimezone(UTC).strftime("%Y%m%d-%H%M%SZ")


def parse(text: str) -> datetime:
    """Read ISO-8601; `Z` is allowed and a naive time is UTC.

    Raises:
        ValueError: *text* is not a time.
    """
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
