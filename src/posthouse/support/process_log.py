"""The log that a process leaves for people: one line each, rotated, and never in the way."""

import logging
from collections.abc import Callable
from pathlib import Path

from posthouse.support import clock
from posthouse.support.rotation import Keep, RotatingFile

#: For people; a search through all of it takes a second.
KEPT = Keep(max_bytes=8 << 20, backups=4)
#: What every log record has; the rest are the fields of the message.
OWN_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}


class _Line(logging.Formatter):
    """`<utc iso seconds> <message> key=value …`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {name: value for name, value in record.__dict__.items() if name not in OWN_FIELDS}
        told = "".join(f" {name}={value!r}" for name, value in fields.items())
        text = f"{clock.iso_seconds(clock.now())} {record.getMessage()}{told}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class _LogFile(logging.Handler):
    """Writes the running log. Never fails: lines that the disk refuses are counted, and told later."""

    def __init__(self, path: Path, keep: Keep, on_rotate: Callable[[int, int], None]) -> None:
        super().__init__()
        self._file = RotatingFile(path, max_bytes=keep.max_bytes, backups=keep.backups, on_rotate=on_rotate)
        self._lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        told = f"({self._lost} lines were lost)\n" if self._lost else ""
        try:
            self._file.write(f"{told}{self.format(record)}\n".encode(errors="replace"))
            self._lost = 0
        except OSError:
            self._lost += 1

    def close(self) -> None:
        self._file.close()
        super().close()


def open_log(
    path: Path,
    *handlers: logging.Handler,
    keep: Keep = KEPT,
    on_rotate: Callable[[int, int], None] = lambda old, new: None,
) -> logging.Logger:
    """The log that people tail. A logger of its own, so that two of them in one process never mix."""
    logger = logging.Logger("posthouse", level=logging.INFO)
    for handler in (_LogFile(path, keep, on_rotate), *handlers):
        handler.setFormatter(_Line())
        logger.addHandler(handler)
    return logger


def close_log(logger: logging.Logger) -> None:
    """Let go of its file. Later lines are not written."""
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
