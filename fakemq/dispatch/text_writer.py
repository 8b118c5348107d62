"""Writes one text file of a node; what fails, and that it succeeds again, is one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.events.core import Warned

if TYPE_CHECKING:
    from fakemq.files.texts import TextFile
    from fakemq.journal.journal import Journal


class TextWriter:
    """The writes of one file. Java logs each failure, and tries again when there is a change."""

    def __init__(self, journal: Journal, node: str) -> None:
        self._journal = journal
        self._node = node
        self._failed = False
        """Whether the last write failed."""

    def write(self, file: TextFile, text: str) -> bool:
        """Write a text; return False if that failed, so that the caller tries again later."""
        try:
            file.write(text)
        except OSError as error:
            if not self._failed:
                self._failed = True
                self._warn(f"{file.path}: could not be written: {error.strerror}")
            return False
        if self._failed:
            self._failed = False
            self._warn(f"{file.path}: was written again")
        return True

    def _warn(self, text: str) -> None:
        self._journal.add(Warned(node=self._node, text=text))
