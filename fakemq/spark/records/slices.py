"""Pieces of one long byte string as Arrow arrays, without a Python object for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

Ints: TypeAlias = npt.NDArray[np.int64]
_Byte = TypeVar("_Byte", np.uint8, np.bool_)
Pieces: TypeAlias = npt.NDArray[np.uint8]
"""Bytes in two dimensions: a row for each piece, all of one size."""

_HEX = np.frombuffer("".join(f"{one:04X}" for one in range(1 << 16)).encode(), np.uint32)
"""The four hexadecimal digits of each two bytes, as one 32-bit number."""


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


def common_piece(data: bytes, begin: Ints, end: Ints) -> bytes | None:
    """Return the bytes from each ``begin`` to its ``end`` if all are equal and not empty."""
    if not len(begin):
        return None
    size_bytes = int(end[0] - begin[0])
    if size_bytes < 1 or not (end - begin == size_bytes).all():
        return None
    pieces = pieces_at(data, begin, size_bytes)
    return pieces[0].tobytes() if like_next(pieces).all() else None


def pieces_at(data: bytes | pa.Buffer, begin: Ints, size_bytes: int) -> Pieces:
    """Return the bytes from each ``begin`` on, all of one size; they must lie within the data."""
    count = len(data) - size_bytes + 1
    found = np.ndarray((count,), f"V{size_bytes}", data, strides=(1,))[begin]
    return found.view(np.uint8).reshape(len(begin), size_bytes)


def like_next(pieces: npt.NDArray[_Byte]) -> npt.NDArray[np.bool_]:
    """Return which bytes of a piece are those of the next one; there is none behind the last.

    One comparison of all bytes is faster than a short one for each piece.
    """
    flat, (count, size_bytes) = pieces.reshape(-1), pieces.shape
    like: npt.NDArray[np.bool_] = flat[size_bytes:] == flat[:-size_bytes]
    return like.reshape(count - 1, size_bytes)


def equal_sized(pieces: Pieces, kind: pa.DataType) -> pa.Array:
    """Return pieces of one size as Arrow bytes or texts; texts must be valid UTF-8."""
    count, size_bytes = pieces.shape
    places = np.arange(count + 1, dtype=np.int32) * size_bytes
    buffers = [None, pa.py_buffer(places), pa.py_buffer(np.ascontiguousarray(pieces))]
    return pa.Array.from_buffers(kind, count, buffers)


def hexadecimals(numbers: Ints, before: str = "") -> pa.Array:
    """Return sixteen capital digits for each number, behind the same ASCII text."""
    width = len(before) + 16
    texts = np.empty((len(numbers), width), np.uint8)
    texts[:, : len(before)] = np.frombuffer(before.encode(), np.uint8)
    digits = _HEX[numbers.astype(">i8").view(">u2")].view(np.uint8)
    texts[:, len(before) :] = digits.reshape(len(numbers), 16)
    return equal_sized(texts, pa.string())


def repeated(text: str | None, count: int) -> pa.Array:
    """Return the same text several times, or null."""
    return pa.repeat(pa.scalar(text, pa.string()), count)
