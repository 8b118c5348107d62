"""Damaged ranges as rows, as nothing, or as an error, depending on ``mode``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pyarrow as pa  # type: ignore[import-untyped]

from fakemq.errors import StoreError
from fakemq.spark.stores.options import DROPMALFORMED, FAILFAST, LOG, NAME

if TYPE_CHECKING:
    from fakemq.spark.stores.options import StoreOptions


class Damage(NamedTuple):
    """A damaged range of a file; ``size_bytes`` is None if its end is unknown."""

    position: int
    size_bytes: int | None
    text: str


class Place(Protocol):
    """The file that contains the damage."""

    @property
    def path(self) -> str: ...

    @property
    def node(self) -> str: ...

    @property
    def name(self) -> str: ...


def is_gone(place: Place) -> bool:
    """Return True if a file no longer exists: a broker deletes its oldest files."""
    return not os.path.lexists(place.path)


def gone(position: int, size_bytes: int | None = None) -> Damage:
    """Return the damage for a deleted file."""
    return Damage(position, size_bytes, "the file was deleted after the read was planned")


def damage_batches(
    place: Place, damages: Sequence[Damage], options: StoreOptions, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Return rows for damaged ranges, as ``mode`` says. Raise StoreError in mode FAILFAST."""
    if not damages or options.mode == DROPMALFORMED:
        return
    if options.mode == FAILFAST:
        first = damages[0]
        raise StoreError(
            f"{NAME}: {place.path}: position {first.position}: {first.text};"
            " mode PERMISSIVE reads the undamaged records"
        )
    count = len(damages)
    size = "recordBytes" if options.view == LOG else ""
    columns = {
        "node": pa.array([place.node] * count),
        "file": pa.array([place.name] * count),
        "filePosition": pa.array([one.position for one in damages], pa.int64()),
        size: pa.array([one.size_bytes for one in damages], pa.int64()),
        options.damage_column: pa.array([one.text for one in damages]),
    }
    arrays = [columns.get(field.name, pa.nulls(count, field.type)) for field in schema]
    yield pa.RecordBatch.from_arrays(arrays, schema=schema)
