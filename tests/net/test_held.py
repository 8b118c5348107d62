"""Limits of the data that a cluster holds for all peers together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.net.held import HeldBytes
from fakemq.net.link import HELD, UNREAD


class Link:
    """A link that is asked to drop its data."""

    def __init__(self, true_bytes: int = 1 << 30) -> None:
        self.whys: list[str] = []
        self.kinds: list[str] = []
        self.true_bytes = true_bytes

    def measure_held_bytes(self) -> int:
        return self.true_bytes

    def drop_soon(self, why: str, kind: str) -> None:
        self.whys.append(why)
        self.kinds.append(kind)


def test_largest_holder_is_closed_when_the_total_is_exceeded() -> None:
    held = HeldBytes(100)
    small, great, last = Link(), Link(), Link()
    held.put(small, 20)
    held.put(great, 70)
    held.put(last, 10)
    assert held.total_bytes == 100
    assert [small.whys, great.whys, last.whys] == [[], [], []]
    held.put(last, 11)
    assert great.whys == [
        "all peers make us hold 101 bytes; 100 is the most, and 70 of them are for this one"
    ]
    assert [small.whys, last.whys, held.total_bytes] == [[], [], 31]
    assert great.kinds == [HELD]


def test_newest_holder_may_be_the_largest() -> None:
    held = HeldBytes(100)
    here, comes = Link(), Link()
    held.put(here, 60)
    held.put(comes, 61)
    assert (here.whys, len(comes.whys), held.total_bytes) == ([], 1, 60)


def test_overstated_size_does_not_close_its_peer() -> None:
    held = HeldBytes(100)
    quick, slow, last = Link(5), Link(), Link()
    held.put(slow, 30)
    held.put(quick, 70)
    held.put(last, 20)
    assert ([quick.whys, slow.whys, last.whys], held.total_bytes) == ([[], [], []], 55)
    held.put(quick, 90)
    assert held.total_bytes == 55, "looked up again"
    quick.true_bytes = 50
    held.put(quick, 90)
    assert held.total_bytes == 100
    held.put(last, 21)
    assert (len(quick.whys), held.total_bytes) == (1, 51)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 200)), max_size=60))
def test_total_is_the_sum_and_never_exceeded(puts: list[tuple[int, int]]) -> None:
    held = HeldBytes(300)
    links = [Link() for _ in range(6)]
    sizes = dict.fromkeys(range(6), 0)
    for number, size in puts:
        notified = [len(link.whys) for link in links]
        held.put(links[number], size)
        sizes[number] = size
        for other, link in enumerate(links):
            if len(link.whys) > notified[other]:
                assert sizes[other] == max(sizes.values())
                sizes[other] = 0
        assert held.total_bytes == sum(sizes.values()) <= 300


def test_closing_releases_everything() -> None:
    held = HeldBytes()
    links = [Link(), Link()]
    for link in links:
        held.put(link, 5)
    held.drop_all()
    assert [len(link.whys) for link in links] == [1, 1]
    assert [link.kinds for link in links] == [[UNREAD], [UNREAD]]
    held.drop_all()
    assert [len(link.whys) for link in links] == [1, 1]
