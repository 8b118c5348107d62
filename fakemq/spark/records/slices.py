"""Pieces of one long byte string as Arrow arrays, without a Python object for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

Ints: TypeAlias = npt.NDArray[np.int64]

_HEX = np.frombuffer("".join(f"{one:02X}" for one in range(256)).encode(), np.uint16)
"""The two hexadecimal digits of each byte, as one 16-bit number."""


def fields_dtype(fields: Mapping[str, tuple[int, str]]) -> np.dtype[np.void]:
    """Return the type of one entry of a layout, from the places that its declaration yields."""
    return np.dtype(
        {
            "names": list(fields),
            "formats": [f">{kind}" for _, kind in fields.values()],
            "offsets": [offset for offset, _ in fields.values()],
        }
    )


def binaries(
    data: bytes | pa.Buffer, begin: Ints, end: Ints, which: pa.Array | None = None
) -> pa.Array:
    """Return the bytes from each ``begin`` to its ``end``: sorted pieces that do not overlap.

    ``which`` selects some of them, as `pyarrow.Array.take` does; null makes null.
    """
    count = len(begin)
    if not count:
        return pa.nulls(0 if which is None else len(which), pa.binary())
    # Every second piece of this array is the gap between two requested ones.
    places = np.empty(2 * count, np.int32)
    places[0::2] = begin
    places[1::2] = end
    buffers = [None, pa.py_buffer(places), pa.py_buffer(data)]
    pieces = pa.Array.from_buffers(pa.binary(), 2 * count - 1, buffers)
    return pieces.take(pa.array(np.arange(0, 2 * count, 2)) if which is None else which)


def strings(raw: pa.Array) -> pa.Array:
    """Return bytes as UTF-8; invalid sequences are replaced, as Python does."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [None if one is None else one.decode("utf-8", "replace") for one in raw.to_pylist()]
        return pa.array(texts, pa.string())


def hexadecimals(numbers: Ints) -> pa.Array:
    """Return sixteen capital digits for each number."""
    digits = _HEX[numbers.astype(">i8").view(np.uint8)]
    places = np.arange(len(numbers) + 1, dtype=np.int32) * 16
    buffers = [None, pa.py_buffer(places), pa.py_buffer(digits)]
    return pa.Array.from_buffers(pa.string(), len(numbers), buffers)
