"""Documents as text, read back from our hand, another program's, and a hostile one."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from posthouse.contracts import mail_document
from posthouse.contracts.mail_document import BadDocument, Document, DocumentAttachment, Participant
from posthouse.contracts.mail_notice import NotifyAuth, NotifyBlock
from posthouse.mailbox import front_matter, plain_yaml

_WITHOUT_HURRY = settings(max_examples=25, deadline=None)
_ID = "msg-20260313T091530Z-" + "a" * 32
# Without the line ends of other alphabets, which PyYAML itself does not read as it wrote them.
_texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\x85\u2028\u2029\ufeff"), max_size=60
)
_said = _texts.filter(lambda text: bool(text.strip()))
_ids = st.from_regex(r"msg-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{32}", fullmatch=True)
_addresses = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_+-]{0,9}@[a-z]{1,9}", fullmatch=True)
_participants = st.builds(
    Participant,
    principal_id=_said,
    address=_addresses,
    display_name=st.none() | _said,
    role=st.none() | _said,
)
_attachments = st.builds(
    DocumentAttachment,
    attachment_id=_said,
    kind=st.sampled_from(["path_ref", "managed_copy"]),
    path=_said.map(lambda text: f"/{text}"),
    media_type=_said,
    sha256=st.none() | st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
    size_bytes=st.none() | st.integers(0, 1 << 60),
    label=st.none() | _said,
)


@st.composite
def _documents(draw: st.DrawFn) -> Document:
    message_id, parent = draw(_ids), draw(st.none() | _ids)
    return Document(
        message_id=message_id,
        thread_id=message_id if parent is None else draw(_ids),
        in_reply_to=parent,
        references=() if parent is None else (*draw(st.lists(_ids, max_size=3)), parent),
        created_at_utc="2026-03-13T09:15:30Z",
        sender=draw(_participants),
        to=tuple(draw(st.lists(_participants, min_size=1, max_size=3))),
        cc=tuple(draw(st.lists(_participants, max_size=2))),
        reply_to=tuple(draw(st.lists(_participants, max_size=2))),
        subject=draw(_said).strip(),
        body=draw(_texts.filter(lambda text: not text.startswith("\n"))),
        attachments=tuple(draw(st.lists(_attachments, max_size=2))),
        headers=draw(st.dictionaries(_said, _texts | st.integers() | st.booleans() | st.none(), max_size=3)),
        notify_block=draw(st.none() | st.builds(NotifyBlock, text=_said)),
        notify_auth=draw(st.none() | st.builds(NotifyAuth, token=st.none() | _said)),
    )


def _document(**more: Any) -> Document:
    party = Participant(principal_id="HOUMAO-a", address="a@b")
    values: dict[str, Any] = {"subject": "s", "body": "text", **more}
    return Document(
        message_id=_ID,
        thread_id=_ID,
        created_at_utc="2026-03-13T09:15:30Z",
        sender=party,
        to=(party,),
        **values,
    )


@_WITHOUT_HURRY
@given(_documents())
def test_what_is_written_is_read_back(document: Document) -> None:
    """Whatever a message may hold, its file gives the same message."""
    assert front_matter.decode(front_matter.encode(document)) == document


@_WITHOUT_HURRY
@given(_documents())
def test_every_yaml_reader_reads_what_we_write(document: Document) -> None:
    """Another program with a YAML library finds the same values."""
    text = front_matter.encode(document).decode().removeprefix("---\n").partition("\n---\n")[0]

    read = yaml.safe_load(text)

    expected = mail_document.to_mapping(document)
    assert read == {**expected, "references": list(document.references)}
    assert list(read) == list(mail_document.KEYS)


@_WITHOUT_HURRY
@given(_documents())
def test_we_read_what_a_yaml_library_writes(document: Document) -> None:
    """Block style, folded lines, either quote: the message is the same."""
    values = {**mail_document.to_mapping(document), "references": list(document.references)}
    for options in ({}, {"allow_unicode": True, "default_flow_style": False}, {"width": 20}):
        front = yaml.safe_dump(values, sort_keys=False, **options)
        content = f"---\n{front}---\n" + (f"\n{document.body}" if document.body else "")

        assert front_matter.decode(content.encode()) == document


def test_line_ends_of_other_alphabets_survive() -> None:
    """No character of a subject ends its line."""
    document = _document(subject="a\x85b\u2028c\u2029d\x7fe\ufefff")

    text = front_matter.encode(document).decode()

    assert front_matter.decode(text.encode()) == document
    assert yaml.safe_load(text.split("\n---\n")[0].removeprefix("---\n"))["subject"] == document.subject


def test_the_text_is_laid_out_as_the_contract_says() -> None:
    """Two rules, the keys in order, an empty line before a body and none without one."""
    written = front_matter.encode(_document()).decode()

    assert written.startswith('---\nprotocol_version: 3\nmessage_id: "msg-')
    assert written.endswith("notify_auth: null\n---\n\ntext")
    assert front_matter.encode(_document(body="")).decode().endswith("notify_auth: null\n---\n")


_BARE = f"""\
protocol_version: 3
message_id: {_ID}
thread_id: {_ID}  # its own
created_at_utc: '2026-03-13T09:15:30Z'
from:
  principal_id: HOUMAO-a
  address: a@b
to:
- principal_id: "HOUMAO-b"
  address: b@c
- principal_id: 'it''s'
  address: c@d
cc: []
headers: {{"x": 1}}
attachments:
subject: 'Re: hi: there'
"""


def test_a_hand_written_document_is_read_without_a_library() -> None:
    """The part of YAML that people write mail in needs nothing installed, and gives what PyYAML gives."""
    assert plain_yaml.parse(_BARE) == yaml.safe_load(_BARE)


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  block",
        "a: &x 1\nb: *x",
        "a: [1, two]",
        "\ta: 1",
        "- a",
        "a: 1\na: 2",
        "a: 'open",
        "just words",
    ],
)
def test_more_of_yaml_than_that_is_refused_and_not_guessed_at(text: str) -> None:
    """A document that needs a library says so."""
    with pytest.raises(BadDocument):
        plain_yaml.parse(text)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,9}", fullmatch=True), _texts, max_size=5))
def test_one_value_a_line_in_json_is_read_without_a_library(values: dict[str, str]) -> None:
    """Any text survives as JSON on its line."""
    import json

    text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items())

    assert plain_yaml.parse(text) == values


def _bomb() -> str:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no front matter"),
        (b"---\nsubject: x\n", "no front matter"),
        (b"---\n---\n", "no protocol_version|not a mapping"),
        (b"---\n\xff\n---\n", "not UTF-8"),
        (f"---\n{_bomb()}\n---\n".encode(), "alias"),
        (b"---\na: " + b"[" * 500 + b"]" * 500 + b"\n---\n", "nested"),
        (b"---\n- 1\n---\n", "not a mapping"),
        (b"---\n!!python/object:os.system x\n---\n", "not YAML"),
        (b"---\n" + b"x" * (1 << 21) + b"\n---\n", "longer than"),
    ],
    ids=["empty", "open", "blank", "bytes", "bomb", "deep", "list", "object", "huge"],
)
def test_bad_front_matter_is_refused_with_its_reason(content: bytes, reason: str) -> None:
    """Nothing that anybody puts into a root is read as more than it is."""
    with pytest.raises(BadDocument, match=reason):
        front_matter.decode(content)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"protocol_version": 1}, "protocol_version is 1"),
        ({"protocol_version": True}, "protocol_version is True"),
        ({"message_id": "msg-1"}, "message_id"),
        ({"message_id": "../../etc/passwd"}, "message_id"),
        ({"to": []}, "to is empty"),
        ({"from": {"principal_id": "x", "address": "a/../b@c"}}, "no address"),
        ({"created_at_utc": "2026-03-13"}, "created_at_utc"),
        ({"created_at_utc": "2026-13-13T00:00:00Z"}, "no time"),
        ({"subject": " "}, "subject"),
        ({"more": 1}, "unknown field 'more'"),
        ({"references": [_ID]}, "references are empty"),
        ({"in_reply_to": _ID}, "last of references"),
        ({"notify_auth": {"scheme": "jws"}}, "verifier not yet supported"),
        ({"notify_block": {"text": "x", "placement": "middle"}}, "placement"),
        ({"headers": {" ": 1}}, "header"),
        (
            {"attachments": [{"attachment_id": "a", "kind": "path_ref", "path": "x", "media_type": "t"}]},
            "absolute",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else value,
)
def test_a_document_that_breaks_a_rule_is_refused(change: dict[str, Any], reason: str) -> None:
    """The message names the field."""
    values = {**mail_document.to_mapping(_document()), **change}
    content = f"---\n{yaml.safe_dump(values, sort_keys=False)}---\n"

    with pytest.raises(BadDocument, match=reason):
        front_matter.decode(content.encode())
