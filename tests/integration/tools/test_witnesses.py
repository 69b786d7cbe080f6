"""What a failure shows when a CLI was waited for in vain."""

import json
import urllib.request
from pathlib import Path

import pytest

from posthouse.terminal.client import Server, Tmux
from posthouse.testing.model_api import ModelApi
from posthouse.testing.waiting import NeverHappened, wait_for

_PATH = "/v1beta/models/small:generateContent"


def test_a_wait_in_vain_shows_screen_transcript_and_calls(
    tmux_server: Server, cli_home: Path, model_api: ModelApi
) -> None:
    """The fixtures of every test with a CLI see to that."""
    tmux = Tmux(tmux_server)
    tmux.run("new-session", "-d", "-s", "agent", "echo 'a dialog that waits'; exec sleep 999")
    wait_for(lambda: "a dialog" in tmux.run("capture-pane", "-p", "-t", "=agent:"))
    (cli_home / "project").mkdir()
    (cli_home / "project" / "chat.jsonl").write_text('{"said": "last words"}\n')
    body = json.dumps({"contents": [{"role": "user", "parts": [{"text": "why so slow"}]}]}).encode()
    urllib.request.urlopen(model_api.base_url + _PATH, body).close()

    with pytest.raises(NeverHappened) as raised:
        wait_for(lambda: False, seconds=0)

    screens, transcripts, calls = (part.splitlines() for part in str(raised.value).split("\n\n")[1:])
    assert screens[0].startswith("screen of %0 session=agent dead=0 mode=0 title=")
    assert screens[1:] == ["  | a dialog that waits"]
    assert transcripts == ["end of project/chat.jsonl", '{"said": "last words"}']
    assert calls == [
        "last calls of the model API, 0 held now",
        f"  1 {_PATH} side default completed: 'why so slow'",
    ]
