"""The smallest TUI that can be typed into, with the ways in which one can fail to listen.

Started as `composer_program.py LOG OPTIONS` (a JSON object). Every prompt it takes is a line of JSON in LOG.
The composer is the row that starts with `>`; the title says `ready`, `active` or `blocked`.
"""

import json
import os
import re
import select
import sys
import time
import tty

LOG, OPTIONS = sys.argv[1], json.loads(sys.argv[2])
KEY = re.compile(rb"\x1b\[200~(?P<paste>.*?)\x1b\[201~|(?P<escape>\x1b(?!\[))|(?P<key>[^\x1b])", re.DOTALL)


class Composer:
    def __init__(self) -> None:
        self.draft = OPTIONS.get("draft", "")
        self.title = OPTIONS.get("title", "ready")
        self.enters_to_lose = OPTIONS.get("enters_to_lose", 0)
        self.active_until = 0.0

    def paint(self) -> None:
        shown = self.draft.replace("\n", "⏎") if len(self.draft) < 1000 else "[Pasted text #1]"
        if OPTIONS.get("blind"):
            shown = ""
        sys.stdout.write(f"\x1b]2;{self.title}\x07\x1b[H\x1b[2J> {shown}")
        sys.stdout.flush()

    def enter(self) -> None:
        if self.enters_to_lose:
            self.enters_to_lose -= 1
            return
        self.note({"prompt": self.draft})
        if self.draft == "die":
            os._exit(3)
        self.draft = ""
        self.work()

    def work(self) -> None:
        if OPTIONS.get("seconds", 0.2):
            self.title = OPTIONS.get("after", "active")
            self.active_until = time.monotonic() + OPTIONS.get("seconds", 0.2)

    def take(self, match: re.Match[bytes]) -> None:
        if match["paste"] is not None:
            self.draft += match["paste"].decode()
        elif match["escape"]:
            self.note({"key": "Escape"})
            self.active_until = time.monotonic()
        elif match["key"] in b"\r\n":
            self.enter()
        else:
            self.draft += match["key"].decode(errors="replace")

    def note(self, entry: dict[str, str]) -> None:
        with open(LOG, "a") as log:
            log.write(json.dumps(entry) + "\n")

    def run(self) -> None:
        waiting = b""
        while True:
            self.paint()
            left = max(0.0, self.active_until - time.monotonic()) if self.active_until else None
            if select.select([0], [], [], left)[0]:
                waiting += os.read(0, 65536)
                if waiting.rfind(b"\x1b[200~") <= waiting.rfind(b"\x1b[201~"):
                    for match in KEY.finditer(waiting):
                        self.take(match)
                    waiting = b""
            if self.active_until and time.monotonic() >= self.active_until:
                self.title, self.active_until = "ready", 0.0


tty.setraw(0)
sys.stdout.write("\x1b[?2004h")
composer = Composer()
if OPTIONS.get("busy"):
    composer.work()
composer.run()
