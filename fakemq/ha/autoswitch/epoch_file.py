"""The file ``epochFileCheckpoint``: the number of epochs, a checksum, and a line for each epoch.

Source: common/utils/CheckpointFile.java, store/ha/autoswitch/EpochFileCache.java (5.5.0)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fakemq.errors import StoreError
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_int, parse_long
from fakemq.protocol.java import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakemq.files.texts import TextFile

NAME = "epochFileCheckpoint"
_UNCHECKED = 0
"""A checksum that is not compared."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_NO_UTF8 = "\ufffd"
"""What `TextFile.read` makes of bytes that are no UTF-8."""


def encode(entries: Iterable[tuple[int, int, int]]) -> str:
    """Return the text of the file: each entry begins with its epoch and its start offset."""
    lines = [f"{epoch}-{start_offset}\n" for epoch, start_offset, _ in entries]
    body = "".join(lines)
    return f"{len(lines)}\n{crc32(body.encode())}\n{body}"


def decode(text: str) -> list[tuple[int, int]] | None:
    """Return epoch and start offset of each entry; None for a text that Java takes for damaged.

    Damage is a wrong count, a wrong checksum, or a byte that is no UTF-8. Lines without two parts
    are passed over. Raise NumberFormatError for a number that is none: Java does not start then.
    """
    if _NO_UTF8 in text:
        return None
    lines = _LINE_END.split(text)
    if not lines[-1]:
        del lines[-1]  # it is behind the end of the last line
    count, checksum = parse_int(lines[0] if lines else ""), parse_int("".join(lines[1:2]))
    entries = []
    for line in lines[2:]:
        parts = line.rstrip("-").split("-")  # String.split drops empty parts at the end
        if len(parts) == 2:
            entries.append((parse_int(parts[0]), parse_long(parts[1])))
    body = "".join(f"{line}\n" for line in lines[2:])
    if len(entries) != count or checksum not in (_UNCHECKED, crc32(body.encode())):
        return None
    return entries


def write(file: TextFile, entries: Iterable[tuple[int, int, int]]) -> None:
    """Write the file. Raise OSError if the system refuses."""
    file.write(encode(entries))


def read(file: TextFile) -> list[tuple[int, int]]:
    """Return the entries of the file, or those of its backup if it has none or is damaged.

    With both damaged there are none: the log then counts as one without epochs. Raise StoreError
    where a number is none: Java does not start on such a file; and where no regular file is.
    """
    for path, text in ((file.path, file.read), (f"{file.path}.bak", file.read_backup)):
        try:
            found = text()
            entries = None if found is None else decode(found)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from None
        except NumberFormatError as error:
            raise StoreError(
                f"{path}: {error}, where a number is expected; put the backup in its place, or"
                " delete both: without epochs nothing of this log is cut when it meets a master"
            ) from None
        if entries:
            return entries
    return []
