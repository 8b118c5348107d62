"""``--journal FILE``: the journal as JSON lines, one entry each, as it is written."""

from __future__ import annotations

import msgspec

from fakemq.errors import FakemqError
from fakemq.journal import Entry


class JournalFile:
    """A listener of a journal that writes every entry to a file at once."""

    def __init__(self, path: str) -> None:
        self._encoder = msgspec.json.Encoder()
        try:
            # Unbuffered: a test that looks into the file sees all that has happened.
            self._file = open(path, "wb", buffering=0)  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise FakemqError(f"{path}: cannot write the journal: {error.strerror}") from None

    def __call__(self, entry: Entry) -> None:
        self._file.write(self._encoder.encode(entry) + b"\n")

    def close(self) -> None:
        self._file.close()
