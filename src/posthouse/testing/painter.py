"""A cheap program that looks like an agent's TUI and says when it changed. Run as a file; no imports of ours.

    painter.py busy LOG     repaints ten times a second; its title begins and ends turns
    painter.py quiet LOG    writes only when a dialog comes or goes, without a word in the title
    painter.py idle LOG     paints once

LOG gets a line `<time> <state>` for every change, right after it was written to the terminal.
"""

import os
import random
import sys
import time

_RULE = "─" * 78
_COMPOSER = f"{_RULE}\r\n❯\u00a0\r\n{_RULE}\r\n  ? for shortcuts"
_DIALOG = (
    f"{_RULE}\r\n Bash command\r\n\r\n   ls\r\n\r\n Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n\r\n"
    " Esc to cancel · Enter to confirm"
)
_SPINNER = "⠂⠐⠒⠖"
_TICK_SECONDS = 0.1


def paint(title: str, *rows: str) -> None:
    """Write title and screen in one go."""
    body = "\r\n".join(rows)
    os.write(1, f"\x1b]2;{title}\x07\x1b[?25l\x1b[H\x1b[2J❯ do something\r\n\r\n{body}".encode())


def note(log: int, state: str) -> None:
    os.write(log, f"{time.time():.6f} {state}\n".encode())


def busy(log: int) -> None:
    """Begin and end turns; repaint whether or not one runs."""
    is_working, next_at, tick = False, time.monotonic() + random.uniform(1, 2), 0
    while True:
        now, tick = time.monotonic(), tick + 1
        if is_new := now >= next_at:
            is_working, next_at = not is_working, now + random.uniform(1, 2)
        title = f"{_SPINNER[tick % 4]} scripted" if is_working else "✳ scripted"
        paint(title, f"tick {tick}", "", "✶ Working…" if is_working else "", "", _COMPOSER)
        if is_new:
            note(log, "active" if is_working else "ready")
        time.sleep(_TICK_SECONDS)


def quiet(log: int) -> None:
    """Let a dialog come and go."""
    is_asking = False
    while True:
        paint("✳ scripted", _DIALOG if is_asking else _COMPOSER)
        note(log, "blocked" if is_asking else "ready")
        time.sleep(random.uniform(1, 2))
        is_asking = not is_asking


def idle(log: int) -> None:
    paint("✳ scripted", _COMPOSER)
    note(log, "ready")
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    chosen = {"busy": busy, "quiet": quiet, "idle": idle}[sys.argv[1]]
    chosen(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
