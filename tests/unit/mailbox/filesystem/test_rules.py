"""The scripts of a root run on the system's Python with nothing installed."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from posthouse.contracts import mail_document
from posthouse.contracts.mail_document import Document, Participant
from posthouse.mailbox import MailFilter, front_matter
from posthouse.support import clock
from posthouse.testing.mail import FilesystemOffice, address_of

_PYTHON = "/usr/bin/python3"


@pytest.fixture
def office(tmp_path: Path) -> FilesystemOffice:
    """A root with ada in it."""
    made = FilesystemOffice(tmp_path / "mail")
    made.mailbox("ada")
    return made


def _run(office: FilesystemOffice, script: str, payload: Any) -> dict[str, Any]:
    file = office.root.path.parent / "payload.json"
    file.write_text(json.dumps(payload))
    done = subprocess.run(
        # Isolated and without site packages: as bare as a Python can be.
        [
            *(_PYTHON, "-I", "-S", str(office.root.rules / "scripts" / f"{script}.py")),
            *("--mailbox-root", str(office.root.path), "--payload-file", str(file)),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    answer: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode == 0, done.stdout.count("\n")) == (answer["ok"], 1)
    return answer


def test_a_message_goes_its_whole_way_by_scripts_alone(office: FilesystemOffice) -> None:
    """Register, complete the headers, deliver, mark, repair, deregister: each says what it did."""
    wish = {"mode": "safe", "address": address_of("ben"), "owner_principal_id": "HOUMAO-ben"}
    registered = _run(office, "register_mailbox", wish)
    assert (registered["status"], registered["mode"]) == ("active", "safe")
    staged = office.root.staging / "mine.md"
    staged.write_text(
        "---\nfrom:\n  principal_id: HOUMAO-ada\n  address: ada@houmao.localhost\n"
        "to:\n- principal_id: HOUMAO-ben\n  address: ben@houmao.localhost\n"
        "subject: 'by hand: hello'\n---\n\nhi\n"
    )
    headers = _run(office, "insert_standard_headers", {"staged_message_path": str(staged)})
    delivered = _run(office, "deliver_message", {"staged_message_path": str(staged)})
    assert delivered == {
        "ok": True,
        "message_id": headers["message_id"],
        "canonical_path": str(next(office.root.messages.glob("*/*.md"))),
        "recipient_count": 1,
    }
    ben = office.mailbox("ben")
    assert [(one.subject, one.body_preview, one.read) for one in ben.find(MailFilter())] == [
        ("by hand: hello", "hi", False)
    ]
    marked = {"address": address_of("ben"), "message_id": headers["message_id"], "archived": True}
    assert _run(office, "update_mailbox_state", marked)["updated_count"] == 1
    assert [one.read for one in ben.find(MailFilter(box="archive"))] == [True]
    assert _run(office, "repair_index", {})["message_count"] == 1
    gone = _run(office, "deregister_mailbox", {"mode": "purge", "address": address_of("ben")})
    assert (gone["resulting_status"], gone["purged_registration_id"]) == (
        "purged",
        registered["active_registration_id"],
    )


@pytest.mark.parametrize(
    ("script", "payload", "reason"),
    [
        ("register_mailbox", {"address": "a/b@c", "owner_principal_id": "p"}, "not a full mail address"),
        ("register_mailbox", {"address": "a@b"}, "owner_principal_id is missing"),
        ("register_mailbox", [], "not a JSON object"),
        ("deregister_mailbox", {"address": "a@b"}, "no mailbox is active"),
        ("deliver_message", {"staged_message_path": "/etc/passwd"}, "not a file in"),
        ("update_mailbox_state", {"address": "ada@houmao.localhost", "message_ids": []}, "not a list"),
    ],
)
def test_a_script_says_no_in_one_line(
    office: FilesystemOffice, script: str, payload: Any, reason: str
) -> None:
    """`ok` is false, the error says why, and the exit code is 1."""
    answer = _run(office, script, payload)

    assert (answer["ok"], reason in answer["error"]) == (False, True)


def test_a_document_for_an_unknown_receiver_stays_staged(office: FilesystemOffice) -> None:
    """After a refusal the sender can mend its document and try again."""
    moment = clock.now()
    message_id = mail_document.new_message_id(moment)
    document = Document(
        message_id=message_id,
        thread_id=message_id,
        created_at_utc=mail_document.created_at(moment),
        sender=Participant(principal_id="HOUMAO-ada", address=address_of("ada")),
        to=(Participant(principal_id="HOUMAO-x", address="x@y"),),
        subject="s",
        body="",
    )
    staged = office.root.staging / "mine.md"
    staged.write_bytes(front_matter.encode(document))

    answer = _run(office, "deliver_message", {"staged_message_path": "mine.md"})

    assert (answer["ok"], "no mailbox has the address x@y" in answer["error"]) == (False, True)
    assert staged.exists()
    assert list(office.root.messages.glob("*/*.md")) == []
