"""The file of ``--journal FILE``: one JSON line for each entry, written at once; and its reader.

A line has ``seq``, ``at_ms`` and ``at`` (the cluster's time, ISO 8601 in UTC), ``node``, ``kind``
(a class of `fakemq.events.kinds`), ``fields`` (those of the kind without the node) and ``cause``
(the ``seq`` of the cause, 0 for none). After a `reset` numbers begin at 1 again.
"""

from __future__ import annotations

import errno
import logging
import os
from datetime import UTC, datetime

import msgspec

from fakemq.errors import FakemqError
from fakemq.events.core import Delivered
from fakemq.files.regular import open_at_once, open_regular
from fakemq.journal import json_text
from fakemq.journal.entries import Entry
from fakemq.protocol.bodies.body import prepared

_logger = logging.getLogger("fakemq")


class JournalFile:
    """A listener of a journal that writes every entry to a file at once."""

    def __init__(self, path: str) -> None:
        try:
            # Unbuffered: a test that reads the file during a run sees every entry.
            self._file = open(path, "wb", buffering=0, opener=open_at_once)  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise FakemqError(f"{path}: cannot write the journal: {error.strerror}") from None

    def __call__(self, entry: Entry) -> None:
        if self._file.closed:
            return
        try:
            line = json_text.encoded(_line(entry)) + b"\n"
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:  # a full disk stops the file, not the cluster
            self._file.close()
            _logger.warning("%s: the journal ends here: %s", self._file.name, error.strerror)

    def close(self) -> None:
        self._file.close()


def _fields(entry: Entry) -> dict[str, object]:
    fields = msgspec.structs.asdict(entry.event)
    del fields["node"]
    return fields


def _line(entry: Entry) -> dict[str, object]:
    seconds, ms = divmod(entry.at_ms, 1000)
    at = datetime.fromtimestamp(seconds, UTC).replace(microsecond=1000 * ms)
    return {
        "seq": entry.seq,
        "at_ms": entry.at_ms,
        "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "node": entry.event.node,
        "kind": type(entry.event).__name__,
        "fields": _fields(entry),
        "cause": entry.cause,
    }


class _Line(msgspec.Struct):
    seq: int
    at_ms: int
    node: str
    kind: str
    fields: dict[str, object]
    cause: int


def read(path: str | os.PathLike[str]) -> list[Entry]:
    """Return the entries of a file that ``--journal`` wrote, with events of their own classes.

    An incomplete last line, as a killed process leaves it, is left out. Raise FakemqError, with
    file and line, for a line that is no entry.
    """
    decode = msgspec.json.Decoder(prepared(_Line)).decode
    entries = []
    try:
        with open(path, "rb", opener=open_regular) as file:
            lines = file.read().split(b"\n")
    except OSError as error:
        raise FakemqError(f"{path}: cannot read the journal: {error.strerror}") from None
    for number, text in enumerate(lines[:-1], 1):
        try:
            entries.append(_entry(decode(text)))
        except ValueError as error:
            raise FakemqError(f"{path}, line {number}: no entry of a journal: {error}") from None
    return entries


def _entry(line: _Line) -> Entry:
    from fakemq.events.faults import AnswerWithheld
    from fakemq.events.kinds import kind_named  # writing does not need it

    kind = prepared(kind_named(line.kind))
    event = msgspec.convert(line.fields | {"node": line.node}, kind)
    if isinstance(event, Delivered | AnswerWithheld):
        offsets = event.offsets
        whole = range(offsets[0], offsets[0] + len(offsets)) if offsets else range(0)
        kept = whole if list(whole) == list(offsets) else tuple(offsets)
        event = msgspec.structs.replace(event, offsets=kept)
    return Entry(line.seq, line.at_ms, event, line.cause)
