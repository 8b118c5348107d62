"""Diagnoses of members of one group that take messages from each other."""

from __future__ import annotations

import pytest

import fakemq
from fakemq.client import PushConsumer
from fakemq.events import SubscriptionsDiffer

LOST = (
    "; a broker keeps one subscription for all and divides the queues among all, so messages are"
    " missed: let them subscribe to the same, or give each a group of its own"
)
ONE, TWO = "billing@inside-1", "billing@inside-2"


def differ(topic: str, one: str, two: str) -> str:
    return f"members of group billing differ about {topic}: {ONE}{one}, {TWO}{two}{LOST}"


@pytest.mark.parametrize("closed", [None, 1, 2])
def test_members_with_different_tags_are_named_as_long_as_the_journal_knows(
    closed: int | None,
) -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 4}) as mq:
        mine = mq.consumer(group="billing", subscribe={"orders": "paid"})
        theirs = mq.consumer(group="billing", subscribe={"orders": "open"})
        assert mq.diagnosis() == []  # no message waits
        mq.producer().send("orders", b"tea", tags="paid")
        if closed is not None:
            (mine, theirs)[closed - 1].close()
        one, two = ("" if closed != number else " (closed since)" for number in (1, 2))
        expected = differ("orders", f"{one} subscribed to 'paid'", f"{two} subscribed to 'open'")
        assert mq.diagnosis("orders", "billing")[0] == expected
        assert expected in mq.diagnosis()
        assert expected not in mq.diagnosis("orders", "other")
        with pytest.raises(AssertionError, match=r"most likely:\n  members of group billing"):
            mq.assert_consumed("orders", "billing", 2)


def test_members_with_different_topics_are_named() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1, "bills": 1}) as mq:
        mq.consumer(group="billing", subscribe="orders")
        mq.consumer(group="billing", subscribe="bills")
        mq.seed("orders", ["tea"])
        mq.seed("bills", ["tea"])
        named = differ("orders", " subscribed to '*'", " subscribed to others")
        assert mq.diagnosis("orders", "billing")[0] == named
        named = differ("bills", " subscribed to others", " subscribed to '*'")
        assert mq.diagnosis("bills", "billing")[0] == named
        number = len(mq.journal.find(SubscriptionsDiffer))
        mq.clock.advance("5m")  # the heartbeats of both change the topics of the group
        assert len(mq.journal.find(SubscriptionsDiffer)) <= number + 2


def test_members_that_subscribe_alike_are_not_named() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 4}) as mq:
        mq.consumer(group="billing", subscribe={"orders": "paid"}).close()
        mq.consumer(group="billing", subscribe={"orders": "open"})  # after the other one
        mq.consumer(group="billing", subscribe={"orders": "open"})
        mq.consumer(group="other", subscribe={"orders": "paid"})
        mq.seed("orders", ["tea"])
        mq.clock.advance("1m")
        assert not mq.journal.find(SubscriptionsDiffer)
        assert not [line for line in mq.diagnosis() if "differ" in line]


def test_some_of_many_members_with_the_same_tags_are_named() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq:
        mq.consumer(group="billing", subscribe={"orders": "paid"})
        for _ in range(6):
            mq.consumer(group="billing", subscribe={"orders": "open"})
        mq.seed("orders", ["tea"])
        (line,) = (one for one in mq.diagnosis() if "differ" in one)
        names = " and ".join(f"billing@inside-{number}" for number in (2, 3, 4))
        assert f": {ONE} subscribed to 'paid', {names} and 3 more subscribed to 'open'; " in line


def test_queues_of_members_that_broadcast_are_not_divided() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq:
        for tags in ("paid", "open"):
            mq.consumer(group="billing", subscribe={"orders": tags}, message_model="BROADCASTING")
        mq.seed("orders", ["tea"])
        (line,) = (one for one in mq.diagnosis() if "differ" in one)
        assert "; a broker keeps one subscription for all, so messages are missed" in line


def test_members_that_subscribe_alike_soon_are_not_named() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 4, "bills": 1}) as mq:

        def consumer(name: str) -> PushConsumer:
            return PushConsumer(
                mq.namesrv_addr,
                group="billing",
                subscribe="orders",
                instance_name=name,
                on_message=lambda message: None,
            )

        def named() -> list[str]:
            return [line for line in mq.diagnosis("bills") if "differ" in line]

        mq.seed("bills", ["tea"])
        with consumer("one") as one:
            one.subscribe("bills")
            with consumer("two") as two:
                mq.wait_for(named)
                two.subscribe("bills")
                mq.wait_for(lambda: not named())


def test_member_that_an_earlier_test_left_is_named_with_that_test() -> None:
    def consumer(name: str) -> PushConsumer:
        return PushConsumer(
            mq.namesrv_addr,
            group="billing",
            subscribe="orders",
            instance_name=name,
            on_message=lambda message: None,
        )

    with fakemq.Cluster(topics={"orders": 4}) as mq:
        mq.reset(test="test_a.py::test_first")
        with consumer("left"):
            mq.wait_for(lambda: mq.group("billing").members())
            (left,) = mq.group("billing").members()
            mq.reset(test="test_a.py::test_second")
            mq.reset()
            mq.seed("orders", ["tea"] * 4)
            assert not [line for line in mq.diagnosis() if "test_a" in line]  # it is alone
            with consumer("new"):
                mq.wait_for(lambda: len(mq.group("billing").members()) == 2)
                (line,) = (line for line in mq.diagnosis() if "test_a" in line)
                assert line.startswith(
                    f"{left.client_id} is in group billing since test_a.py::test_first, which did"
                    " not close it; it shares the queues with later members, and received "
                )
                assert line in mq.diagnosis("orders", "billing")
                assert line not in mq.diagnosis("orders", "other")
            assert not [line for line in mq.diagnosis() if "test_a" in line]
