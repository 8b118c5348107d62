"""Values that come later, and the driver of generators that wait for them."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from fakemq.later import Later, Waits, all_of, drive


def test_later_has_its_first_value() -> None:
    later: Later[int] = Later()
    seen = list[object]()
    later.when_done(lambda: seen.append(later.value))
    assert seen == []
    later.resolve(1)
    later.resolve(2)
    assert (seen, later.result()) == ([1], 1)


def test_later_calls_at_once_if_the_value_is_there() -> None:
    later: Later[int] = Later()
    later.resolve(1)
    seen = list[int]()
    later.when_done(lambda: seen.append(later.result()))
    assert seen == [1]


def test_later_raises_the_exception_that_came_instead() -> None:
    later: Later[int] = Later()
    later.resolve(KeyError("tea"))
    with pytest.raises(KeyError, match="tea"):
        later.result()


def test_later_takes_the_value_of_another() -> None:
    later, other = Later[int](), Later[int]()
    later.follow(other)
    assert not later.done
    other.resolve(1)
    assert later.result() == 1


def test_later_takes_the_value_of_another_that_is_the_value_of_a_third() -> None:
    later, other, third = Later[int](), Later[int | Later[int]](), Later[int]()
    later.follow(other)
    other.resolve(third)
    assert not later.done
    third.resolve(1)
    assert later.result() == 1


def test_later_calls_its_owner_when_it_is_abandoned_unless_it_is_done() -> None:
    later, calls = Later[int](), list[str]()
    later.abandon()
    later.on_abandoned = lambda: calls.append("abandoned")
    later.abandon()
    later.resolve(1)
    later.abandon()
    assert calls == ["abandoned"]


def test_drive_sends_a_generator_what_it_waits_for() -> None:
    first, second = Later[int](), Later[int]()

    def steps() -> Waits[int]:
        one: int = yield first
        two: int = yield second
        return one + two

    outcome = drive(steps())
    second.resolve(2)
    assert not outcome.done
    first.resolve(1)
    assert outcome.result() == 3


def test_drive_raises_exceptions_where_a_generator_waits_and_takes_its_own() -> None:
    later: Later[int] = Later()

    def steps() -> Waits[None]:
        try:
            yield later
        except KeyError:
            raise ValueError("milk") from None

    outcome = drive(steps())
    later.resolve(KeyError("tea"))
    with pytest.raises(ValueError, match="milk"):
        outcome.result()


def test_drive_sends_what_a_function_returns_for_each_step() -> None:
    def steps() -> Generator[int, str, list[str]]:
        return [(yield 1), (yield 2)]

    assert drive(steps(), lambda number: f"tea {number}").result() == ["tea 1", "tea 2"]


def test_drive_raises_in_a_generator_what_the_function_raises() -> None:
    def steps() -> Generator[int, str, str]:
        try:
            return (yield 1)
        except ZeroDivisionError:
            return "refused"

    assert drive(steps(), lambda number: str(number // 0)).result() == "refused"


def test_drive_returns_a_later_value_as_it_is() -> None:
    later: Later[int] = Later()

    def steps() -> Waits[Later[int]]:
        yield from ()
        return later

    assert drive(steps()).result() is later


def test_drive_does_not_grow_the_stack() -> None:
    def steps() -> Waits[int]:
        for number in range(5_000):
            later: Later[int] = Later()
            later.resolve(number)
            yield later
        return number

    assert drive(steps()).result() == 4_999


def test_all_of_is_done_after_the_last_one() -> None:
    laters = [Later[int]() for _ in range(3)]
    together, seen = all_of(laters), list[str]()
    together.when_done(lambda: seen.append("done"))
    laters[2].resolve(1)
    laters[0].resolve(KeyError("no value is wanted"))
    assert seen == []
    laters[1].resolve(2)
    assert seen == ["done"]
    assert all_of(()).done
