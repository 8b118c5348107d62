"""Texts that outlive a node: KV configs and a broker's config files.

Source: common/MixAll.java#string2File, #file2String (4.9.7)
"""

from __future__ import annotations

import os
from typing import Protocol

from fakemq.files.regular import open_regular, require_regular, write_regular


class TextFile(Protocol):
    """A place that keeps one text, and the text before it as a backup. All may raise OSError."""

    path: str
    durable: bool
    """Whether the text remains when the process ends."""

    def require_regular(self) -> None:
        """Raise OSError if something else than a regular file is where one is to be written."""

    def read(self) -> str | None:
        """Return the last written text; None if there is none."""

    def read_backup(self) -> str | None:
        """Return the text before the last write; None if there is none."""

    def write(self, text: str) -> None:
        """Replace the text; the old text becomes the backup."""

    def delete(self) -> None:
        """Delete the text and its backup."""


class DiskTextFile:
    """A text in a file, replaced in Java's order: write .tmp, copy the old text to .bak, rename."""

    durable = True

    def __init__(self, path: str, mode: int = 0o644) -> None:
        self.path = path
        self._mode = mode
        """The mode of a new file."""

    def require_regular(self) -> None:
        for path in (self.path, self.path + ".bak", self.path + ".tmp"):
            require_regular(path)

    def read(self) -> str | None:
        return _read(self.path)

    def read_backup(self) -> str | None:
        return _read(self.path + ".bak")

    def write(self, text: str) -> None:
        _write(self.path + ".tmp", text, self._mode)
        previous = self.read()
        if previous is not None:
            _write(self.path + ".bak", previous, self._mode)
        # Java deletes the old file before it renames; that leaves a moment without one.
        os.replace(self.path + ".tmp", self.path)

    def delete(self) -> None:
        for path in (self.path, self.path + ".bak", self.path + ".tmp"):
            try:
                os.unlink(path)
            except (FileNotFoundError, NotADirectoryError):
                continue


class MemoryTextFile:
    """A text in memory, which a killed node finds again. No write fails, so there is no backup."""

    durable = False

    def __init__(self, name: str) -> None:
        self.path = f"memory/{name}"
        self._text: str | None = None

    def require_regular(self) -> None:
        """Do nothing: nothing else can be here."""

    def read(self) -> str | None:
        return self._text

    def read_backup(self) -> str | None:
        return None

    def write(self, text: str) -> None:
        self._text = text

    def delete(self) -> None:
        self._text = None


def _read(path: str) -> str | None:
    try:
        # Broken bytes and half surrogate pairs are replaced in both directions, as Java does.
        with open(
            path, encoding="utf-8", errors="replace", newline="", opener=open_regular
        ) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _write(path: str, text: str, mode: int) -> None:
    parent = os.path.dirname(path)
    if parent:
        os.makedirs(parent, exist_ok=True)
    write_regular(path, text.encode("utf-8", "replace"), mode)
