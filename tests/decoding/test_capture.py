"""The TCP streams of a capture are those that were sent, however their segments came."""

from __future__ import annotations

from collections import UserList
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.decoding import capture
from fakemq.decoding.explain import explain
from fakemq.decoding.fields import Problem, Title
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.frame import encode_frame
from tests.support.captures import BROKER, CLIENT, SYN, Sent, pcap, pcapng
from tests.support.command_line import run
from tests.support.grpc_bytes import from_client

FRAMES = [encode_frame(RemotingCommand(106, body=bytes([65 + one]) * 90)) for one in range(3)]
"""Three requests without fields, of one length."""
SIZE = len(FRAMES[0])


def client_sent(sequence: int, data: bytes = b"", flags: int = 16) -> Sent:
    return Sent(CLIENT, BROKER, sequence % 2**32, data, flags)


def segments_of(data: bytes, parts: Sequence[tuple[int, int]], first: int) -> list[Sent]:
    """The segments with the bytes from begin to end of each part; ``first`` is that of byte 0."""
    return [client_sent(first + begin, data[begin:end]) for begin, end in parts]


@st.composite
def shuffled_parts(draw: st.DrawFn, size: int) -> list[tuple[int, int]]:
    """Parts that are a stream together: cut, repeated, overlapped and in any order."""
    cuts = sorted({0, size, *draw(st.lists(st.integers(0, size), max_size=12))})
    parts = list(pairwise(cuts))
    places = st.integers(0, size)
    others = st.tuples(places, places).map(lambda pair: (min(pair), max(pair)))
    parts += draw(st.lists(st.sampled_from(parts) | others, max_size=8))
    return draw(st.permutations(parts))


NEAR_THE_WRAP = st.integers(2**32 - 400, 2**32 + 10) | st.integers(0, 2**32 - 1)


@given(shuffled_parts(300), NEAR_THE_WRAP)
def test_stream_is_the_same_however_its_segments_come(
    parts: list[tuple[int, int]], first: int
) -> None:
    data = bytes(number % 251 for number in range(300))
    syn = client_sent(first - 1, flags=SYN)
    found = capture.read(pcap([syn, *segments_of(data, parts, first), syn]))
    assert found.problem is None
    (stream,) = found.streams
    assert (bytes(stream.data), stream.lost_bytes) == (data, 0)


@given(shuffled_parts(300), NEAR_THE_WRAP, st.integers(1, 298), st.integers(1, 100))
def test_hole_is_counted_and_the_other_bytes_are_kept(
    parts: list[tuple[int, int]], first: int, hole: int, hole_bytes: int
) -> None:
    data = bytes(number % 251 for number in range(300))
    end = min(hole + hole_bytes, 299)
    there = [(begin, min(stop, hole)) for begin, stop in parts if begin < hole]
    there += [(max(begin, end), stop) for begin, stop in parts if stop > end]
    syn = client_sent(first - 1, flags=SYN)
    (stream,) = capture.read(pcap([syn, *segments_of(data, there, first)])).streams
    assert bytes(stream.data) == data[:hole] + data[end:]
    assert stream.lost_bytes == end - hole


def test_segment_that_covers_a_part_of_an_early_one_loses_nothing() -> None:
    data = b"".join(FRAMES)
    parts = [(0, 100), (150, len(data)), (100, 170)]
    items = list(explain(pcap(segments_of(data, parts, 7)), "capture"))
    assert [one.text for one in items if isinstance(one, Problem)] == []
    assert [one.text.partition(",")[0] for one in items if isinstance(one, Title)] == [
        "127.0.0.1:40000 > 127.0.0.1:10911", "frame 0", "frame 1", "frame 2",
    ]  # fmt: skip


def test_lost_bytes_of_http2_are_named() -> None:
    data = from_client()
    there = [client_sent(1, data[:60]), client_sent(71, data[70:])]
    items = explain(pcap(there), "capture")
    texts = [one.text for one in items if isinstance(one, Problem)]
    assert texts[0] == "the capture has lost 10 bytes of this direction"


@pytest.mark.parametrize("write", [pcap, pcapng])
@pytest.mark.parametrize("cut_bytes", [1, 60, 100])
def test_cut_capture_shows_its_whole_packets_and_the_cut(
    write: Callable[[list[Sent]], bytes], cut_bytes: int
) -> None:
    whole = [client_sent(1 + number * SIZE, frame) for number, frame in enumerate(FRAMES)]
    data = write([*whole, client_sent(1 + 3 * SIZE, b"cut" * 20)])
    items = list(explain(data[:-cut_bytes], "capture"))
    assert [one.text.partition(",")[0] for one in items if isinstance(one, Title)][1:] == [
        "frame 0", "frame 1", "frame 2",
    ]  # fmt: skip
    assert [one for one in items if isinstance(one, Problem)] == items[-1:]
    assert isinstance(items[-1], Problem)
    assert items[-1].text.startswith("the capture is cut: a ")
    assert len(write(whole)) <= items[-1].offset < len(data)


@pytest.mark.parametrize("write", [pcap, pcapng])
def test_capture_without_its_last_bytes_is_never_whole(
    write: Callable[[list[Sent]], bytes],
) -> None:
    data = write([client_sent(1, FRAMES[0])])
    assert capture.read(data).problem is None
    for left in (len(data) - 1, len(data) - len(FRAMES[0]) - 60, 30):
        assert capture.read(data[:left]).problem is not None


def test_command_shows_the_frames_of_a_cut_capture(tmp_path: Path) -> None:
    (tmp_path / "lo.pcap").write_bytes(pcap([client_sent(1, b"".join(FRAMES))] * 2)[:-1])
    shown = run("decode", str(tmp_path / "lo.pcap"), exit_code=1).stdout
    assert "-- frame 2" in shown
    assert "WRONG: the capture is cut: a packet has" in shown.splitlines()[-1]


class CountedReads(UserList[tuple[int, int]]):
    """Items that count how often one of them is read."""

    reads = 0

    def __getitem__(self, place: Any) -> Any:
        self.reads += 1
        return super().__getitem__(place)


def test_time_of_a_frame_is_found_without_reading_all_times() -> None:
    stream = capture.CapturedStream(CLIENT, BROKER)
    times = CountedReads((number * 10, number) for number in range(10_000))
    stream.times = times  # type: ignore[assignment]
    assert [stream.at_ms(offset) for offset in (0, 9, 10, 50_005, 10**6)] == [0, 0, 1, 5_000, 9_999]
    assert times.reads < 5 * 20
