"""Documents as text: YAML front matter between two rules, then the body.

Each value is written as JSON on its own line, which is valid YAML and is read back without a YAML library.
Front matter of other programs is read with PyYAML if installed, otherwise (the scripts in a mailbox root
run on a bare Python) with the subset of `plain_yaml`.
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
#: Characters that a YAML reader refuses or treats as a line end inside a quoted text.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_OUR_STARTS = tuple(f"{key}: " for key in mail_document.KEYS)
_MAX_FRONT_CHARS = 1 << 20
_MAX_DEPTH = 20


def encode(document: Document) -> bytes:
    """The file content of *document*."""
    front = mail_document.to_mapping(document)
    lines = [f"{key}: {_json(value)}\n" for key, value in front.items()]
    body = f"\n{document.body}" if document.body else ""
    return f"{_RULE}{''.join(lines)}{_RULE}{body}".encode()


def decode(content: bytes) -> Document:
    """The document in *content*.

    Raises:
        BadDocument: The content is not a document; the message says why.
    """
    front, body = split(content)
    return mail_reading.from_mapping(front, body)


def split(content: bytes) -> tuple[dict[str, Any], str]:
    """The unvalidated front matter, and the body.

    Raises:
        BadDocument: There is no front matter.
    """
    front, body = _parts(content)
    return _parse_own(front) or _parse_yaml(front), body


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


def _parse_own(front: str) -> dict[str, Any] | None:
    """Front matter in the format of `encode`; None when it has another format."""
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
    # Fewer values when a line started differently; more when a line held two values.
    return dict(zip(mail_document.KEYS, read, strict=True)) if len(read) == len(_OUR_STARTS) else None


def _parse_yaml(front: str) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        return plain_yaml.parse(front)
    try:
        _check_bounds(yaml.parse(front, Loader=_loader(yaml)), yaml)
        read = yaml.load(front, Loader=_loader(yaml))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadDocument(f"the front matter is not YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(read, dict):
        raise BadDocument("the front matter is not a mapping")
    return read


def _check_bounds(events: Iterable[Any], yaml: Any) -> None:
    """Refuse aliases and deep nesting: aliases can expand to gigabytes, brackets can exhaust the stack."""
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > _MAX_DEPTH:
            raise BadDocument("the front matter holds a YAML alias or is nested too deeply")


@cache
def _loader(yaml: Any) -> Any:
    """A safe loader that keeps timestamps as text."""

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
