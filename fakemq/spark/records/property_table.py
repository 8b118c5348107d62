"""The properties of many records at once; `decode_properties` defines their meaning."""

from __future__ import annotations

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from fakemq.protocol.properties import (
    NAME_VALUE_SEPARATOR,
    PROPERTY_SEPARATOR,
    decode_properties,
)
from fakemq.spark.records.slices import Ints, binaries, pieces_at, strings


class PropertyTable:
    """The entries that have a name and a value, in the order of their records."""

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts
        places = np.frombuffer(texts.buffers()[1], np.int32)[: len(texts) + 1].astype(np.int64)
        self._data = texts.buffers()[2]
        self._raw = raw = np.frombuffer(self._data, np.uint8)
        between = np.flatnonzero(raw == ord(PROPERTY_SEPARATOR))
        # The marks are in order: the first two are the begin and end of the first entry, and so on.
        begin = np.sort(np.concatenate((places[:-1], between + 1)), kind="stable")
        end = np.sort(np.concatenate((between, places[1:])), kind="stable")
        middle = _first_in(np.flatnonzero(raw == ord(NAME_VALUE_SEPARATOR)), begin, end)
        counts = np.diff(np.searchsorted(between, places)) + 1
        record = np.repeat(np.arange(len(texts)), counts)
        kept = (begin < middle) & (middle + 1 < end)
        if not kept.all():
            record, begin, middle, end = (one[kept] for one in (record, begin, middle, end))
        self._record: Ints = record
        self._name_begin: Ints = begin
        self._name_end: Ints = middle
        self._value_begin: Ints = middle + 1
        self._value_end: Ints = end

    def values(self, name: str) -> pa.Array:
        """Return the last value of a name in each record; null if there is none."""
        wanted = np.frombuffer(name.encode(), f"V{len(name.encode())}")
        found = np.flatnonzero(self._name_end - self._name_begin == wanted.itemsize)
        if len(found):
            names = pieces_at(self._data, self._name_begin[found], wanted.itemsize)
            found = found[names == wanted]
        count = len(self._texts)
        if not len(found):
            return pa.nulls(count, pa.string())
        if len(found) == count and (self._record[found] == np.arange(count)).all():
            begin, end = self._value_begin[found], self._value_end[found]
            return strings(binaries(self._data, begin, end))
        entry = np.full(count, -1)
        entry[self._record[found]] = found  # the last entry of a repeated name wins
        which = pa.array(2 * entry, mask=entry < 0)
        return strings(binaries(self._data, self._value_begin, self._value_end, which))

    def maps(self) -> pa.Array:
        """Return all properties; a repeated name keeps its first place and its last value."""
        names = strings(binaries(self._data, self._name_begin, self._name_end))
        values = strings(binaries(self._data, self._value_begin, self._value_end))
        counts = np.bincount(self._record, minlength=len(self._texts))
        if self._has_repeated(names):
            return _maps_one_by_one(self._texts)
        places = np.zeros(len(self._texts) + 1, np.int32)
        np.cumsum(counts, out=places[1:])
        return pa.MapArray.from_arrays(pa.array(places), names, values)

    def _has_repeated(self, names: pa.Array) -> bool:
        coded = names.dictionary_encode()
        codes = coded.indices.to_numpy().astype(np.int64)
        keys = np.sort(self._record * len(coded.dictionary) + codes)
        return bool((keys[1:] == keys[:-1]).any())


def _first_in(marks: Ints, begin: Ints, end: Ints) -> Ints:
    """Return the first mark in each piece, or the end of the piece."""
    if len(marks) == len(begin) and (begin <= marks).all() and (marks < end).all():
        return marks  # the usual case: one mark in each piece
    if not len(marks):
        return end
    at = np.searchsorted(marks, begin)
    first = marks[np.minimum(at, len(marks) - 1)]
    return np.where((at < len(marks)) & (first < end), first, end)


def _maps_one_by_one(texts: pa.Array) -> pa.Array:
    rows = [
        list(decode_properties(raw.decode("utf-8", "replace")).items()) for raw in texts.to_pylist()
    ]
    return pa.array(rows, pa.map_(pa.string(), pa.string()))
