"""``--journal FILE``: the journal as JSON lines, one entry each, as it is written."""

from __future__ import annotations

import logging

from fakemq import json_text
from fakemq.errors import FakemqError
from fakemq.journal import Entry

_logger = logging.getLogger("fakemq")


class JournalFile:
    """A listener of a journal that writes every entry to a file at once."""

    def __init__(self, path: str) -> None:
        try:
            # Unbuffered: a test that looks into the file sees all that has happened.
            self._file = open(path, "wb", buffering=0)  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise FakemqError(f"{path}: cannot write the journal: {error.strerror}") from None

    def __call__(self, entry: Entry) -> None:
        if self._file.closed:
            return
        try:
            self._file.write(json_text.encoded(entry) + b"\n")
        except OSError as error:  # a full disk stops the file, not the cluster
            self._file.close()
            _logger.warning("%s: the journal ends here: %s", self._file.name, error.strerror)

    def close(self) -> None:
        self._file.close()
