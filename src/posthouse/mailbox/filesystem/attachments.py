"""Attached files: referenced by path or copied into the root, with a hash in both cases."""

import hashlib
import mimetypes
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from posthouse.contracts.mail_document import DocumentAttachment
from posthouse.errors import InvalidInput
from posthouse.mailbox.filesystem.layout import Root
from posthouse.mailbox.message import OutgoingAttachment
from posthouse.mailbox.transport import MailTransportError
from posthouse.support import crashpoints, files, ids, untrusted_files
from posthouse.support.untrusted_files import UnsafeFile

_CHUNK = 1 << 20
#: A referenced file is only read for its hash; a copied one also uses disk space.
MAX_NAMED_BYTES = 1 << 30
MAX_COPIED_BYTES = 256 << 20


def attach(root: Root, enclosures: Sequence[OutgoingAttachment]) -> tuple[DocumentAttachment, ...]:
    """The attachments of a new message. Copies are durable; `discard` removes them.

    Raises:
        InvalidInput: A file is missing, not a regular file, or too big; no copy is left.
    """
    made: list[DocumentAttachment] = []
    try:
        for one in enclosures:
            made.append(_copied(root, one) if one.is_copied else _named(one))
    except BaseException:
        discard(root, made)
        raise
    return tuple(made)


def discard(root: Root, attachments: Sequence[DocumentAttachment]) -> None:
    """Remove the copies of a message that was not delivered."""
    for one in attachments:
        if one.kind == "managed_copy":
            shutil.rmtree(root.managed / one.attachment_id, ignore_errors=True)


def save(root: Root, one: DocumentAttachment, target: Path) -> Path:
    """Copy an attachment to *target*, or into it when it is a folder. Nothing is overwritten.

    Raises:
        InvalidInput: The file is missing, its hash differs, or *target* exists or can't be written.
    """
    source = _kept_at(root, one) if one.kind == "managed_copy" else Path(one.path)
    target = target / _file_name(one) if target.is_dir() else target
    with _plain_file(source, MAX_NAMED_BYTES) as stream:
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise _bad_attachment(f"{target} already exists") from None
        except OSError as error:
            raise _bad_attachment(f"{target} can't be written: {error}") from error
        try:
            with open(descriptor, "wb") as copy:
                digest, _size = _copy_stream(stream, copy, MAX_NAMED_BYTES)
            if one.sha256 is not None and digest != one.sha256:
                raise _bad_attachment(f"{source} is not the file that was attached: its hash differs")
        except BaseException:
            target.unlink(missing_ok=True)
            raise
    return target


def _named(one: OutgoingAttachment) -> DocumentAttachment:
    with _plain_file(one.path, MAX_NAMED_BYTES) as stream:
        digest, size = _copy_stream(stream, None, MAX_NAMED_BYTES)
    return DocumentAttachment(
        attachment_id=_new_id(),
        kind="path_ref",
        path=str(one.path.resolve()),
        media_type=_media_type(one.path),
        sha256=digest,
        size_bytes=size,
        label=one.label,
    )


def _copied(root: Root, one: OutgoingAttachment) -> DocumentAttachment:
    attachment_id = _new_id()
    folder = root.managed / attachment_id
    with _plain_file(one.path, MAX_COPIED_BYTES) as stream:
        try:
            files.private_folder(folder)
            descriptor = os.open(folder / one.path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as copy:
                digest, size = _copy_stream(stream, copy, MAX_COPIED_BYTES)
                copy.flush()
                os.fsync(descriptor)
            files.sync_folder(folder)
            files.sync_folder(root.managed)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise MailTransportError(f"{one.path} can't be copied into {folder}: {error}") from error
            raise
    crashpoints.reach("attachment copied")
    return DocumentAttachment(
        attachment_id=attachment_id,
        kind="managed_copy",
        path=str(folder / one.path.name),
        media_type=_media_type(one.path),
        sha256=digest,
        size_bytes=size,
        label=one.label,
    )


def _plain_file(path: Path, most: int) -> BinaryIO:
    try:
        stream = untrusted_files.open_file(path, follow=True)
    except OSError as error:
        raise _bad_attachment(f"{path} can't be attached: {error.strerror}") from error
    except UnsafeFile as error:
        raise _bad_attachment(f"{path} is not a regular file of at most {most >> 20} MiB: {error}") from error
    if os.fstat(stream.fileno()).st_size > most:
        stream.close()
        raise _bad_attachment(f"{path} is not a regular file of at most {most >> 20} MiB")
    return stream


def _copy_stream(source: BinaryIO, target: BinaryIO | None, most: int) -> tuple[str, int]:
    """Read *source* to its end, copying it to *target* if given; its hash and size."""
    digest, size = hashlib.sha256(), 0
    while chunk := _read(source):
        size += len(chunk)
        if size > most:
            raise _bad_attachment(f"{source.name} grew beyond {most >> 20} MiB while it was read")
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
    return digest.hexdigest(), size


def _read(source: BinaryIO) -> bytes:
    try:
        return source.read(_CHUNK)
    except OSError as error:  # such as /proc/self/mem, a regular file by its mode
        raise _bad_attachment(f"{source.name} can't be read: {error.strerror}") from error


def _kept_at(root: Root, one: DocumentAttachment) -> Path:
    """Path of a copy in the root. The path in the document is untrusted and not used."""
    folder = root.managed / one.attachment_id
    if "/" in one.attachment_id or one.attachment_id in (".", ".."):
        raise _bad_attachment(f"{one.attachment_id[:80]!r} can't be the id of an attachment")
    return folder / Path(one.path).name


def _file_name(one: DocumentAttachment) -> str:
    name = Path(one.path).name
    return name if name not in ("", ".", "..") else one.attachment_id


def _media_type(path: Path) -> str:
    guessed: str | None = None
    with suppress(ValueError):
        guessed, _ = mimetypes.guess_type(path.name)
    return guessed or "application/octet-stream"


def _new_id() -> str:
    return f"att-{ids.hex_id(12)}"


def _bad_attachment(message: str) -> InvalidInput:
    return InvalidInput(message, code="bad_attachment")
