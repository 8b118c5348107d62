"""Random numbers: one seed, named streams that do not disturb each other."""

from __future__ import annotations

from fakemq.randomness import Randomness


def test_one_seed_makes_one_run() -> None:
    first, second = Randomness(7), Randomness(7)
    assert [first.stream("a").random() for _ in range(3)] == [
        second.stream("a").random() for _ in range(3)
    ]


def test_streams_do_not_disturb_each_other() -> None:
    alone, together = Randomness(7), Randomness(7)
    together.stream("b").random()
    assert alone.stream("a").random() == together.stream("a").random()
    assert alone.stream("a").random() != alone.stream("b").random()


def test_reset_restarts_every_stream_for_its_holders_too() -> None:
    randomness = Randomness(7)
    stream = randomness.stream("a")
    first = stream.random()
    randomness.reset()
    assert stream.random() == first


def test_picked_seed_is_readable() -> None:
    randomness = Randomness()
    again = Randomness(randomness.seed)
    assert randomness.stream("a").random() == again.stream("a").random()
