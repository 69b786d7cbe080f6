"""One suite for every transport."""

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from posthouse.errors import InvalidInput
from posthouse.mailbox import (
    BadMail,
    Draft,
    Flags,
    MailFilter,
    Message,
    MessageNotFound,
    NotifyBlock,
    OperatorNote,
    OutgoingAttachment,
    ReplyDraft,
    Transport,
    UnknownRecipient,
    UnsupportedMailOperation,
)
from posthouse.testing.mail import FilesystemOffice, Office, address_of

_UNKNOWN = "filesystem:msg-20260101T000000Z-" + "0" * 32


@pytest.fixture(params=["filesystem"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Office]:
    """A place with mailboxes, of every kind that there is."""
    offices = {"filesystem": FilesystemOffice}
    yield offices[request.param](tmp_path / "mail")


@pytest.fixture
def ada(office: Office) -> Transport:
    """A mailbox that writes."""
    return office.mailbox("ada")


@pytest.fixture
def ben(office: Office) -> Transport:
    """A mailbox that is written to."""
    return office.mailbox("ben")


def _draft(subject: str = "hello", body: str = "a body", **more: object) -> Draft:
    return Draft(to=(address_of("ben"),), subject=subject, body=body, **more)  # type: ignore[arg-type]


def _subjects(messages: list[Message]) -> list[str]:
    return [message.subject for message in messages]


def test_a_sent_message_is_in_the_receivers_inbox_unread_and_in_the_senders_sent_box_read(
    ada: Transport, ben: Transport
) -> None:
    """Both hold the same message, each with its own marks."""
    sent = ada.send(_draft("hello", "line one\n\nline two\n"))

    [got] = ben.find(MailFilter(include_body=True))
    assert got.message_ref == sent.message_ref == sent.thread_ref
    assert (got.box, got.read, got.unread, got.answered, got.archived) == ("inbox", False, True, False, False)
    assert (sent.box, sent.read, sent.unread) == ("sent", True, False)
    assert (got.subject, got.body_text, got.body_preview) == (
        "hello",
        "line one\n\nline two\n",
        "line one line two",
    )
    assert (got.sender.address, got.sender.principal_id) == (address_of("ada"), "HOUMAO-ada")
    assert [one.address for one in got.to] == [address_of("ben")]
    assert [one.message_ref for one in ada.find(MailFilter(box="sent"))] == [sent.message_ref]
    assert ada.find(MailFilter()) == []


def test_messages_of_one_second_are_listed_newest_first_by_arrival(ada: Transport, ben: Transport) -> None:
    """The contract's times have whole seconds; the order has not."""
    for number in range(8):
        ada.send(_draft(f"{number}"))

    assert _subjects(ben.find(MailFilter())) == ["7", "6", "5", "4", "3", "2", "1", "0"]
    assert _subjects(ben.find(MailFilter(limit=3))) == ["7", "6", "5"]


def test_filters_choose_before_the_limit_counts(ada: Transport, ben: Transport) -> None:
    """Ten unread of many are ten, wherever they stand."""
    refs = [ada.send(_draft(f"{number}")).message_ref for number in range(4)]
    ben.mark(refs[2:], Flags(read=True))
    ben.mark([refs[0]], Flags(answered=True))

    assert _subjects(ben.find(MailFilter(read_state="unread", limit=1))) == ["1"]
    assert _subjects(ben.find(MailFilter(read_state="read"))) == ["3", "2"]
    assert _subjects(ben.find(MailFilter(answered_state="answered"))) == ["0"]
    assert _subjects(ben.find(MailFilter(answered_state="unanswered", limit=2))) == ["3", "2"]
    assert ben.find(MailFilter(archived=True)) == []
    assert len(ben.find(MailFilter(archived=False))) == 4


def test_since_is_an_inclusive_bound(ada: Transport, ben: Transport) -> None:
    """A message of that very second is in; a fraction later it is not."""
    at = ada.send(_draft()).created_at_utc

    assert len(ben.find(MailFilter(since=at))) == 1
    assert len(ben.find(MailFilter(since=at.replace("Z", "+00:00")))) == 1
    assert ben.find(MailFilter(since=at.replace("Z", ".5Z"))) == []
    with pytest.raises(InvalidInput, match="not an ISO-8601 time"):
        ben.find(MailFilter(since="yesterday"))


def test_peek_leaves_a_message_unread_and_read_does_not(ada: Transport, ben: Transport) -> None:
    """Only reading marks read."""
    ref = ada.send(_draft(body="words")).message_ref

    assert (ben.peek(ref).body_text, ben.peek(ref).read) == ("words", False)
    assert (ben.read(ref, box="inbox").body_text, ben.peek(ref).read) == ("words", True)
    assert ben.read(ref.partition(":")[2]).read is True


def test_what_is_not_there_is_said_to_be_missing(ada: Transport, ben: Transport) -> None:
    """An unknown reference, another's message and another transport's reference are told apart."""
    ref = ada.send(_draft()).message_ref
    cleo_refuses = [_UNKNOWN, "no such thing", "../../etc/passwd"]

    for unknown in cleo_refuses:
        with pytest.raises(MessageNotFound):
            ben.peek(unknown)
    with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_message_ref"):
        ben.peek("stalwart:e1")
    with pytest.raises(InvalidInput, check=lambda error: error.code == "box_mismatch"):
        ben.peek(ref, box="archive")
    with pytest.raises(MessageNotFound):
        ben.mark([ref, _UNKNOWN], Flags(read=True))
    assert ben.peek(ref).read is False


def test_a_reply_goes_to_the_sender_in_the_same_thread_and_marks_its_parent(
    ada: Transport, ben: Transport
) -> None:
    """The answered message is read and answered; the subject gets its `Re:` once."""
    first = ada.send(_draft("question"))
    second = ben.reply(ReplyDraft(message_ref=first.message_ref, body="answer"))
    third = ada.reply(ReplyDraft(message_ref=second.message_ref, body="thanks"))

    assert (second.subject, third.subject) == ("Re: question", "Re: question")
    assert second.thread_ref == third.thread_ref == first.thread_ref
    assert [one.address for one in second.to] == [address_of("ada")]
    parent = ben.peek(first.message_ref)
    assert (parent.read, parent.answered) == (True, True)
    assert first.thread_ref is not None
    assert [one.body_text for one in ben.thread(first.thread_ref)] == ["a body", "answer", "thanks"]
    assert [one.body_text for one in ben.thread(first.thread_ref, limit=1)] == ["thanks"]
    with pytest.raises(MessageNotFound):
        ben.thread(_UNKNOWN)


def test_archiving_moves_and_reads_and_unarchiving_brings_back(ada: Transport, ben: Transport) -> None:
    """Archived mail is read and in its box; `archived=False` puts it into the inbox."""
    ref = ada.send(_draft()).message_ref

    [archived] = ben.archive([ref])
    assert (archived.box, archived.archived, archived.read) == ("archive", True, True)
    assert ben.find(MailFilter()) == []
    [back] = ben.mark([ref], Flags(archived=False, read=False))
    assert (back.box, back.archived, back.read) == ("inbox", False, False)
    [again] = ben.mark([ref], Flags(archived=True, answered=True))
    assert (again.box, again.read, again.answered) == ("archive", True, True)
    with pytest.raises(InvalidInput, check=lambda error: error.code == "contradictory_flags"):
        ben.mark([ref], Flags(archived=True, read=False))


def test_any_decent_name_can_be_a_box(ada: Transport, ben: Transport) -> None:
    """A new box is made; a name that leads elsewhere is refused."""
    ref = ada.send(_draft()).message_ref

    [moved] = ben.move([ref], " später ")
    assert (moved.box, moved.archived, moved.read) == ("später", False, False)
    assert _subjects(ben.find(MailFilter(box="später"))) == ["hello"]
    for bad in ("..", ".", "a/b", "", "x\0y", "x" * 200):
        with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_box"):
            ben.move([ref], bad)


def test_nobody_gets_anything_when_one_receiver_is_unknown(ada: Transport, ben: Transport) -> None:
    """A name is not an address, and an address without a mailbox gets no mail; the words help."""
    with pytest.raises(UnknownRecipient, match=r"nobody@houmao\.localhost"):
        ada.send(Draft(to=(address_of("ben"), address_of("nobody")), subject="s", body="b"))
    with pytest.raises(InvalidInput, match=r"did you mean ben@houmao\.localhost"):
        ada.send(Draft(to=("ben",), subject="s", body="b"))

    assert ben.find(MailFilter()) == []
    assert ada.find(MailFilter(box="sent")) == []


def test_mail_to_oneself_is_in_the_inbox_and_unread(ada: Transport) -> None:
    """One message, one state."""
    ada.send(Draft(to=(address_of("ada"),), cc=(address_of("ada"),), subject="note", body=""))

    assert [(one.box, one.read, one.body_preview) for one in ada.find(MailFilter())] == [("inbox", False, "")]
    assert ada.find(MailFilter(box="sent")) == []


@pytest.mark.parametrize(
    ("subject", "body"),
    [(" \n", "b"), ("s", "a\0b"), ("s", "x" * (5 << 20)), ("s" * 999, "b"), ("s", "\ud800")],
)
def test_what_cannot_be_a_message_is_refused(ada: Transport, subject: str, body: str) -> None:
    """Blank subjects, NULs, half characters and giants."""
    with pytest.raises(BadMail):
        ada.send(Draft(to=(address_of("ada"),), subject=subject, body=body))


def test_a_subject_is_one_line_whatever_it_was(ada: Transport, ben: Transport) -> None:
    """A line break in a subject can't become a header, a field or a line of a prompt."""
    ada.send(_draft("one\r\nto: x@y\u2028two\x00\x1b[2J"))

    assert _subjects(ben.find(MailFilter())) == ["one to: x@y two [2J"]


def test_a_fence_in_the_body_becomes_the_notice_and_a_notice_gets_a_fence(
    ada: Transport, ben: Transport
) -> None:
    """Whichever was given, receivers find both."""
    ada.send(_draft(body="x\n```houmao-notify\nlook now\n```\n"))
    ada.send(_draft(body="x", notify_block=NotifyBlock(text="first", placement="prepend")))

    newer, older = ben.find(MailFilter(include_body=True))
    assert older.notify_block == NotifyBlock(text="look now", placement="append")
    assert newer.notify_block == NotifyBlock(text="first", placement="prepend")
    assert newer.body_text == "```houmao-notify\nfirst\n```\n\nx"


def test_the_operators_note_is_answered_only_when_it_wants_to(ada: Transport) -> None:
    """A note is from the operator; its policy decides whether a reply goes anywhere."""
    open_note = ada.post(OperatorNote(subject="continue", body="please"))
    closed = ada.post(OperatorNote(subject="fyi", body="", reply_policy="none"))

    assert open_note.sender.principal_id == "HOUMAO-operator"
    assert (open_note.box, open_note.read) == ("inbox", False)
    reply = ada.reply(ReplyDraft(message_ref=open_note.message_ref, body="done"))
    assert [one.address for one in reply.to] == ["HOUMAO-operator@houmao.localhost"]
    with pytest.raises(UnsupportedMailOperation):
        ada.reply(ReplyDraft(message_ref=closed.message_ref, body="but"))


@pytest.mark.parametrize("is_copied", [True, False])
@pytest.mark.parametrize("path", ["/proc/self/mem", "/dev/zero", "/"])
def test_what_is_no_plain_file_can_not_be_attached(
    ada: Transport, ben: Transport, path: str, is_copied: bool
) -> None:
    """Also one that is regular by its mode and can't be read; its sender hears why."""
    with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_attachment"):
        ada.send(_draft(enclosures=(OutgoingAttachment(path=Path(path), label=None, is_copied=is_copied),)))
    assert ben.find(MailFilter()) == []


@pytest.mark.parametrize("is_copied", [True, False])
def test_an_attachment_arrives_with_its_hash_and_can_be_saved(
    ada: Transport, ben: Transport, tmp_path: Path, is_copied: bool
) -> None:
    """Referenced or copied, what is saved is what was sent; nothing is overwritten."""
    file = tmp_path / "data.json"
    file.write_bytes(b"{}")
    ref = ada.send(
        _draft(enclosures=(OutgoingAttachment(path=file, label="numbers", is_copied=is_copied),))
    ).message_ref

    [one] = ben.peek(ref).attachments
    assert (one.kind, one.media_type, one.size_bytes, one.label) == (
        "managed_copy" if is_copied else "path_ref",
        "application/json",
        2,
        "numbers",
    )
    assert one.sha256 == hashlib.sha256(b"{}").hexdigest()
    (tmp_path / "out").mkdir()
    saved = ben.save_attachment(ref, one.attachment_id, tmp_path / "out")
    assert (saved.path, saved.path.read_bytes()) == (tmp_path / "out" / "data.json", b"{}")
    with pytest.raises(InvalidInput, match="already exists"):
        ben.save_attachment(ref, one.attachment_id, tmp_path / "out")
    with pytest.raises(InvalidInput, match="no attachment"):
        ben.save_attachment(ref, "att-0", tmp_path / "out")
    file.write_bytes(b"[]")
    if is_copied:
        ben.save_attachment(ref, one.attachment_id, tmp_path / "copy")
    else:
        with pytest.raises(InvalidInput, match="hash differs"):
            ben.save_attachment(ref, one.attachment_id, tmp_path / "changed")
        assert not (tmp_path / "changed").exists()


def test_a_file_that_is_not_there_is_not_attached(ada: Transport, ben: Transport, tmp_path: Path) -> None:
    """Missing files and folders are refused, and nothing is sent."""
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_attachment"):
            ada.send(_draft(enclosures=(OutgoingAttachment(path=path, is_copied=True),)))

    assert ben.find(MailFilter()) == []


def test_a_search_finds_words_in_subject_body_and_people(ada: Transport, ben: Transport) -> None:
    """All words count, quotes make a phrase, and no word is an operator."""
    ada.send(_draft("parser drift", "the quick brown fox"))
    ada.send(_draft("lunch", "a brown bag near:far"))

    assert _subjects(ben.search("brown fox")) == ["parser drift"]
    assert _subjects(ben.search('"brown bag"')) == ["lunch"]
    assert _subjects(ben.search("pars*")) == ["parser drift"]
    assert len(ben.search("ada")) == 2
    assert _subjects(ben.search('NEAR(near OR "')) == []
    assert ben.search("brown", box="archive") == []
    assert len(ben.search("brown", limit=1)) == 1
    for bad in ("", '" * "', "x" * 2000):
        with pytest.raises(InvalidInput, check=lambda error: error.code == "bad_mail_filter"):
            ben.search(bad)


def test_whoever_watches_hears_of_new_mail(ada: Transport, ben: Transport) -> None:
    """The first look after being told sees the message."""

    async def scene() -> list[str]:
        told = asyncio.Event()
        watch = ben.watch(told.set)
        try:
            await asyncio.to_thread(ada.send, _draft("ping"))
            async with asyncio.timeout(60):
                while not (found := await asyncio.to_thread(ben.find, MailFilter())):
                    await told.wait()
                    told.clear()
        finally:
            watch.close()
            watch.close()
        return _subjects(found)

    assert asyncio.run(scene()) == ["ping"]


def test_a_usable_mailbox_passes_its_check_and_names_itself(ada: Transport) -> None:
    """Who and what it is."""
    ada.check()

    assert (ada.name, ada.address, ada.principal_id) == ("filesystem", address_of("ada"), "HOUMAO-ada")
    ada.close()
