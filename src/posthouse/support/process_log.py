"""The human-readable log of a process: one line per record, rotated; a full disk never fails the caller."""

import logging
from collections.abc import Callable
from pathlib import Path

from posthouse.support import clock
from posthouse.support.rotation import Retention, RotatingFile

#: Small enough to search in a second.
LOG_RETENTION = Retention(max_bytes=8 << 20, backups=4)
#: The standard attributes of a log record; all others are the fields of the message.
OWN_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}


class _LineFormatter(logging.Formatter):
    """`<utc iso seconds> <message> key=value …`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {name: value for name, value in record.__dict__.items() if name not in OWN_FIELDS}
        suffix = "".join(f" {name}={value!r}" for name, value in fields.items())
        text = f"{clock.iso_seconds(clock.now())} {record.getMessage()}{suffix}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class _LogFile(logging.Handler):
    """Writes the log file. Never fails: lost lines are counted, and the next line reports them."""

    def __init__(self, path: Path, retention: Retention, on_rotate: Callable[[int, int], None]) -> None:
        super().__init__()
        self._file = RotatingFile(
            path, max_bytes=retention.max_bytes, backups=retention.backups, on_rotate=on_rotate
        )
        self._lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        notice = f"({self._lost} lines were lost)\n" if self._lost else ""
        try:
            self._file.write(f"{notice}{self.format(record)}\n".encode(errors="replace"))
            self._lost = 0
        except OSError:
            self._lost += 1

    def close(self) -> None:
        self._file.close()
        super().close()


def open_log(
    path: Path,
    *handlers: logging.Handler,
    retention: Retention = LOG_RETENTION,
    on_rotate: Callable[[int, int], None] = lambda old, new: None,
) -> logging.Logger:
    """The log at *path*. Not in the logger hierarchy, so that two logs in one process never mix."""
    logger = logging.Logger("posthouse", level=logging.INFO)
    for handler in (_LogFile(path, retention, on_rotate), *handlers):
        handler.setFormatter(_LineFormatter())
        logger.addHandler(handler)
    return logger


def close_log(logger: logging.Logger) -> None:
    """Close its file. Later records are discarded."""
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
