"""Documents as text: YAML front matter between two rules, then the body.

We write each value as JSON on its own line, which every YAML reader understands and which is read back
without one. Whatever others wrote is read with PyYAML where it is installed, and otherwise (the scripts in a
mailbox root run on a bare Python) as far as `plain_yaml` goes.
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from posthouse.contracts import mail_document, mail_reading
from posthouse.contracts.mail_document import BadDocument, Document
from posthouse.mailbox import plain_yaml

_RULE = "---\n"
_END = "\n---\n"
#: What a YAML reader refuses, or takes for the end of a line, inside a quoted text.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_OUR_STARTS = tuple(f"{key}: " for key in mail_document.KEYS)
_MAX_FRONT_CHARS = 1 << 20
_MAX_DEPTH = 20


def encode(document: Document) -> bytes:
    """*document* as the bytes of its file."""
    front = mail_document.to_mapping(document)
    lines = [f"{key}: {_json(value)}\n" for key, value in front.items()]
    body = f"\n{document.body}" if document.body else ""
    return f"{_RULE}{''.join(lines)}{_RULE}{body}".encode()


def decode(content: bytes) -> Document:
    """The document in *content*.

    Raises:
        BadDocument: It is none; the words say why.
    """
    front, body = split(content)
    return mail_reading.from_mapping(front, body)


def split(content: bytes) -> tuple[dict[str, Any], str]:
    """The front matter, its fields not yet judged, and the body.

    Raises:
        BadDocument: There is none.
    """
    front, body = _parts(content)
    return _fast(front) or _any(front), body


def _parts(content: bytes) -> tuple[str, str]:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise BadDocument("the document is not UTF-8") from error
    end = text.find(_END, len(_RULE) - 1)
    if not text.startswith(_RULE) or end < 0:
        raise BadDocument("the document has no front matter between two lines '---'")
    if end > _MAX_FRONT_CHARS:
        raise BadDocument(f"the front matter is longer than {_MAX_FRONT_CHARS} characters")
    return text[len(_RULE) : end + 1], text[end + len(_END) :].removeprefix("\n")


def _fast(front: str) -> dict[str, Any] | None:
    """The front matter that we wrote, key by key in its order; None when somebody else did."""
    lines = front.split("\n")
    if len(lines) != len(_OUR_STARTS) + 1:
        return None
    values = [
        line[len(start) :] for line, start in zip(lines, _OUR_STARTS, strict=False) if line.startswith(start)
    ]
    try:
        read = json.loads(f"[{','.join(values)}]")
    except (ValueError, RecursionError):
        return None
    # One short when a line began otherwise; more when a line held two values.
    return dict(zip(mail_document.KEYS, read, strict=True)) if len(read) == len(_OUR_STARTS) else None


def _any(front: str) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        return plain_yaml.parse(front)
    try:
        _bounded(yaml.parse(front, Loader=_loader(yaml)), yaml)
        read = yaml.load(front, Loader=_loader(yaml))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadDocument(f"the front matter is not YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(read, dict):
        raise BadDocument("the front matter is no mapping")
    return read


def _bounded(events: Iterable[Any], yaml: Any) -> None:
    """A page of aliases can stand for gigabytes, and a page of brackets for a deep recursion."""
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > _MAX_DEPTH:
            raise BadDocument("the front matter holds a YAML alias or is nested too deeply")


@cache
def _loader(yaml: Any) -> Any:
    """A safe loader that leaves times as text."""

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in Loader.yaml_implicit_resolvers.items()
    }
    return Loader


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
