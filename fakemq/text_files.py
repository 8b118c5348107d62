"""Texts that outlive a node: KV configs and a broker's config files.

Source: common/MixAll.java#string2File, #file2String (4.9.7)
"""

from __future__ import annotations

import os
from typing import Protocol


class TextFile(Protocol):
    """Where a text is kept between runs."""

    path: str

    def read(self) -> str | None:
        """The text as last written; None if there is none. May raise OSError."""

    def read_backup(self) -> str | None:
        """The text before that; None if there is none. May raise OSError."""

    def write(self, text: str) -> None:
        """Replace the text, which becomes the backup. May raise OSError."""

    def delete(self) -> None:
        """Have neither text nor backup. May raise OSError."""


class DiskTextFile:
    """A text in a file, replaced as Java does it: .tmp written, old text to .bak, then renamed."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> str | None:
        return _read(self.path)

    def read_backup(self) -> str | None:
        return _read(self.path + ".bak")

    def write(self, text: str) -> None:
        _write(self.path + ".tmp", text)
        previous = self.read()
        if previous is not None:
            _write(self.path + ".bak", previous)
        # Java deletes the old file before it renames; that leaves a moment without one.
        os.replace(self.path + ".tmp", self.path)

    def delete(self) -> None:
        for path in (self.path, self.path + ".bak", self.path + ".tmp"):
            try:
                os.unlink(path)
            except (FileNotFoundError, NotADirectoryError):
                continue


def open_at_once(path: str, flags: int) -> int:
    """An opener that never waits: a pipe in the place of a file reads as empty."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _read(path: str) -> str | None:
    try:
        # Broken bytes and half surrogate pairs are replaced in both directions, as Java does.
        with open(
            path, encoding="utf-8", errors="replace", newline="", opener=open_at_once
        ) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _write(path: str, text: str) -> None:
    parent = os.path.dirname(path)
    if parent:
        os.makedirs(parent, exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
