"""Base of on-disk structures: unknown keys and wrong types are refused."""

from _thread import allocate_lock  # without what `threading` costs every start
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from posthouse.support.untrusted_files import BadJson

NonBlank = Annotated[str, msgspec.Meta(pattern=r"\S")]
PositiveInt = Annotated[int, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]


class Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value of a contract. Equality is by value; `msgspec.structs.replace` makes a changed copy."""


S = TypeVar("S", bound=msgspec.Struct)

#: Decoders, built under a lock at first use: msgspec 0.22 crashes the process when two threads
#: build one at the same time.
_decoders: dict[type[msgspec.Struct], msgspec.json.Decoder[Any]] = {}
_working_out = allocate_lock()


def decode(content: bytes, kind: type[S]) -> S:
    """Read *content* strictly.

    Raises:
        ValueError: It is not JSON or not of that shape; the message names the field.
    """
    try:
        decoded: S = _decoder(kind).decode(content)
    except RecursionError:
        raise BadJson("nested too deeply") from None
    return decoded


def parse(content: bytes) -> Any:
    """Any JSON value.

    Raises:
        ValueError: It is not JSON.
    """
    try:
        return msgspec.json.decode(content)
    except RecursionError:
        raise BadJson("nested too deeply") from None


def convert(payload: Mapping[str, Any], kind: type[S]) -> S:
    """Read already parsed JSON strictly.

    Raises:
        ValueError: It is not of that shape; the message names the field.
    """
    _decoder(kind)  # for what it works out
    return msgspec.convert(payload, type=kind, strict=True)


def plain(value: msgspec.Struct) -> dict[str, Any]:
    """*value* as JSON-ready builtins, nulls included."""
    built: Mapping[str, Any] = msgspec.to_builtins(value)
    return dict(built)


def _decoder(kind: type[msgspec.Struct]) -> msgspec.json.Decoder[Any]:
    decoder = _decoders.get(kind)
    if decoder is None:
        with _working_out:
            decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return decoder
