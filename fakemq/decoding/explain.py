"""Finds out what bytes are, and explains them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePath

from fakemq.decoding import capture, entries, hex_dump, records
from fakemq.decoding.fields import BrokenError, Explained, Item, Problem, Title
from fakemq.decoding.frames import Explainer, plausible_starts
from fakemq.decoding.http2 import Http2Explainer, is_http2
from fakemq.dump.show import time_text

KINDS = (
    *("frame", "record", "batch", "capture", "http2", "index", "ha"),
    *entries.ENTRIES,
    *entries.HEADS,
)
"""What bytes can be explained as."""

_FOLDERS = {"commitlog": "record", "consumequeue": "consumequeue", "index": "index"}
_FILES = ("checkpoint", "timerwheel", "timercheck")


def unwrapped(data: bytes) -> bytes:
    """Return the bytes that a text of hex digits stands for; other bytes as they are."""
    return hex_dump.bytes_of(data.decode("ascii", "replace")) if hex_dump.is_hex(data) else data


def kind_of(data: bytes, path: str = "") -> str:
    """Return what bytes seem to be, by their begin and by the name of their file."""
    if capture.is_capture(data):
        return "capture"
    place = PurePath(path)
    if place.name in _FILES:
        return place.name
    for folder in reversed(place.parts[:-1]):
        if folder in _FOLDERS:
            return _FOLDERS[folder]
        if folder == "timerlog":
            return "timerlog"
    if is_http2(data):
        return "http2"
    return "record" if records.is_record(data) else "frame"


def explain(data: bytes, kind: str) -> Iterator[Item]:
    """Explain bytes as one of `KINDS`; what cannot be read is a `Problem`, and the last item."""
    explained: dict[str, Callable[[], Explained[None]]] = {
        "frame": lambda: Explainer().frames(data),
        "record": lambda: records.records(data, 0, len(data)),
        "batch": lambda: records.batch(data, 0, len(data)),
        "capture": lambda: _capture(data),
        "http2": lambda: Http2Explainer().connection(data),
        "index": lambda: entries.index(data, 0),
        "ha": lambda: entries.transfers(data, 0),
    }
    for name in entries.ENTRIES:
        explained[name] = lambda name=name: entries.entries(name, data, 0)  # type: ignore[misc]
    for name in entries.HEADS:
        explained[name] = lambda name=name: entries.head(name, data, 0)  # type: ignore[misc]
    try:
        yield from explained[kind]()
    except BrokenError as error:
        yield error.problem


def _capture(data: bytes) -> Explained[None]:
    """Explain the frames of all connections, each direction after the other, requests first."""
    requested: dict[frozenset[object], dict[int, int]] = {}
    paths: dict[frozenset[object], dict[int, str]] = {}
    streams, problem = capture.read(data)
    if not streams and problem is None:
        yield Title(0, "no data of TCP connections")
    for stream in streams:
        pair = frozenset((stream.source, stream.target))
        if is_http2(bytes(stream.data[:64])):
            yield from _http2(Http2Explainer(paths.setdefault(pair, {})), stream)
            continue
        explainer = Explainer(requested.setdefault(pair, {}))
        yield from _stream(explainer, stream)
    if problem is not None:
        yield problem


def _http2(explainer: Http2Explainer, stream: capture.CapturedStream) -> Explained[None]:
    yield from _head(stream)
    try:
        yield from explainer.connection(bytes(stream.data))
    except BrokenError as error:
        yield error.problem


def _head(stream: capture.CapturedStream) -> Explained[None]:
    yield Title(0, f"{stream.name}, {len(stream.data)} bytes")
    if stream.lost_bytes:
        yield Problem(0, f"the capture has lost {stream.lost_bytes} bytes of this direction")


def _stream(explainer: Explainer, stream: capture.CapturedStream) -> Explained[None]:
    data = bytes(stream.data)
    yield from _head(stream)
    start = 0 if stream.from_begin else next(plausible_starts(data[: 1 << 20]), 0)
    if start:
        yield Title(0, f"{start} bytes of a frame whose begin the capture does not have")
    number = 0
    while start < len(data):
        yield Title(start, f"frame {number}, {time_text(stream.at_ms(start))}")
        try:
            start = yield from explainer.frame(data, start)
        except BrokenError as error:
            yield error.problem
            return
        number += 1
