"""Waiters are woken by the events that concern them, once, and by no others."""

from __future__ import annotations

from collections.abc import Callable

from fakemq.clock.clock import Clock
from fakemq.events.core import Delivered, LogAppended, MemberChanged, NodeStarted, RequestReceived
from fakemq.journal.journal import Journal
from fakemq.journal.wakes import OTHERS, Key, Waiter, Wakes


def appended(topic: str) -> LogAppended:
    return LogAppended(
        node="n", topic=topic, queue_id=0, queue_offset=0, phy_offset=0, size_bytes=1, msg_id=""
    )


class Lab:
    def __init__(self) -> None:
        self.journal = Journal(Clock(frozen=True))
        self.wakes = Wakes(self.journal)
        self.later: list[Callable[[], None]] = []
        self.wakes.soon = self.later.append
        self.woken: list[str] = []

    def waiter(self, name: str, *keys: Key) -> Waiter:
        waiter = Waiter(lambda: self.woken.append(name), keys)
        self.wakes.arm(waiter)
        return waiter

    def turn(self) -> list[str]:
        """Return the waiters that are woken in the next turn."""
        later, self.later[:] = list(self.later), []
        self.woken.clear()
        for act in later:
            act()
        return list(self.woken)


def test_waiter_is_woken_by_its_own_topic_group_or_kind_only() -> None:
    lab = Lab()
    lab.waiter("orders", ("topic", "orders"))
    lab.waiter("billing", ("group", "billing"))
    lab.waiter("delivered", Delivered)
    lab.journal.add(appended("other"))
    assert lab.turn() == []
    lab.journal.add(appended("orders"))
    assert lab.turn() == ["orders"]
    lab.journal.add(
        MemberChanged(
            node="n", kind="consumer", group="billing", client_id="c", peer="p", how="registered"
        )
    )
    assert lab.turn() == ["billing"]


def test_waiter_is_woken_once_for_many_events_and_again_when_it_is_armed_again() -> None:
    lab = Lab()
    waiter = lab.waiter("orders", ("topic", "orders"))
    for _ in range(10):
        lab.journal.add(appended("orders"))
    assert lab.turn() == ["orders"]
    lab.journal.add(appended("orders"))
    assert lab.turn() == []
    lab.wakes.arm(waiter)
    lab.journal.add(appended("orders"))
    assert lab.turn() == ["orders"]


def test_events_without_a_topic_wake_the_waiters_of_others_unless_they_change_nothing() -> None:
    lab = Lab()
    lab.waiter("others", OTHERS, ("topic", "orders"))
    lab.journal.add(RequestReceived(node="n", code=10, peer="p", opaque=1))
    assert lab.turn() == []
    lab.journal.add(NodeStarted(node="n", addr="a"))
    assert lab.turn() == ["others"]


def test_journal_has_one_listener_for_all_waiters_and_none_without() -> None:
    lab = Lab()
    waiters = [lab.waiter(str(number), ("topic", str(number))) for number in range(300)]
    assert len(lab.journal._listeners) == 1
    lab.journal.add(appended("orders"))
    assert lab.later == []
    for waiter in waiters:
        lab.wakes.leave(waiter)
    assert len(lab.journal._listeners) == 0
    assert len(lab.wakes) == 0
