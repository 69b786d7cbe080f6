"""`posthouse mailbox …` as a person types it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from posthouse.mailbox import Draft
from posthouse.mailbox.filesystem.mailbox import open_mailbox

if TYPE_CHECKING:
    from tests.acceptance.conftest import Commands

_ADA, _BEN = "ada@houmao.localhost", "ben@houmao.localhost"


def _root(posthouse: "Commands") -> Path:
    return Path(posthouse.environment["HOUMAO_GLOBAL_MAILBOX_DIR"])


@pytest.mark.ordinary_user
def test_a_root_is_made_used_repaired_and_exported(posthouse: "Commands", tmp_path: Path) -> None:
    """From nothing to a copy of everything, with the commands alone."""
    missing = posthouse.run("mailbox", "status")
    assert (missing.returncode, "`mailbox init` creates one" in missing.stderr) == (1, True)
    posthouse.ok("mailbox", "init")
    for address in (_ADA, _BEN):
        posthouse.ok("mailbox", "register", "--address", address)
    ada = open_mailbox(_root(posthouse), address=_ADA, principal_id="HOUMAO-ada")
    sent = ada.send(Draft(to=(_BEN,), subject="hello", body="from ada"))

    listed = json.loads(posthouse.ok("mailbox", "messages", "list", "--address", _BEN, "--json"))
    assert [(one["message_ref"], one["unread"]) for one in listed["messages"]] == [(sent.message_ref, True)]
    shown = posthouse.ok("mailbox", "messages", "get", "--address", _BEN, "--message-ref", sent.message_ref)
    assert shown.endswith("\n\nfrom ada\n")
    (_root(posthouse) / "index.sqlite").write_bytes(
        b"no database at all, but long enough to be looked at" * 9
    )
    assert "mailbox repair" in posthouse.run("mailbox", "status").stderr
    repaired = json.loads(posthouse.ok("mailbox", "repair", "--json"))
    assert (repaired["message_count"], repaired["registration_count"]) == (1, 3)
    account = json.loads(posthouse.ok("mailbox", "accounts", "get", "--address", _BEN, "--json"))
    assert (account["owner_principal_id"], account["boxes"]) == (
        "HOUMAO-ben",
        {"inbox": {"message_count": 1, "unread_count": 1}},
    )
    posthouse.ok("mailbox", "export", "--output-dir", str(tmp_path / "out"), "--address", _BEN)
    copy = tmp_path / "out" / "mailboxes" / _BEN / "inbox" / f"{sent.message_ref.partition(':')[2]}.md"
    assert copy.read_text().endswith("\n\nfrom ada")
    assert posthouse.ok("mailbox", "cleanup") == "nothing to clean up\n"


def test_what_throws_mail_away_asks_first(posthouse: "Commands") -> None:
    """`force`, `purge` and `clear-messages` need a yes; the operator's mailbox stays anyway."""
    posthouse.ok("mailbox", "init")
    posthouse.ok("mailbox", "register", "--address", _ADA)

    for words in (
        ("register", "--address", _ADA, "--mode", "force"),
        ("unregister", "--address", _ADA, "--mode", "purge"),
        ("clear-messages",),
    ):
        refused = posthouse.run("mailbox", *words)
        assert (refused.returncode, "add --yes" in refused.stderr) == (2, True)
    cleared = posthouse.ok("mailbox", "clear-messages", "--yes")
    assert cleared == "0 messages in 2 mailboxes are removed\n"
    posthouse.ok("mailbox", "unregister", "--address", _ADA, "--mode", "purge", "--yes")
    operator = "HOUMAO-operator@houmao.localhost"
    stays = posthouse.run("mailbox", "unregister", "--address", operator)
    assert (stays.returncode, stays.stderr) == (1, f"error: {operator} is the operator's and stays\n")
    accounts = json.loads(posthouse.ok("mailbox", "accounts", "list", "--json"))["accounts"]
    assert [one["address"] for one in accounts] == [operator]
