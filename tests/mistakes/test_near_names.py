"""A question about a topic or group whose name is almost like an existing one says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import fakemq
from fakemq.config.almost_like import almost_like
from fakemq.errors import did_you_mean
from fakemq.events import Warned


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as cluster:
        cluster.seed("orders", ["one"])
        with cluster.consumer(group="billing", subscribe="orders"):
            cluster.settle()
            yield cluster


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *[("order", "orders"), ("oders", "orders"), ("Orders", "orders"), ("ordres", "orders")],
        *[("order_events", "order-events"), ("orderevents", "order-events")],
        *[("order-evnts", "order-events"), ("biling", "billing"), ("billingg", "billing")],
        *[("payment-confimred", "payment-confirmed"), ("pyament-confirmed", "payment-confirmed")],
    ],
)
def test_slip_of_the_keyboard_is_almost_alike(name: str, meant: str) -> None:
    assert almost_like(name, ["refunds", meant]) == meant


@pytest.mark.parametrize(
    ("name", "other"),
    [
        *[("orders", "orders-retry"), ("stock-1", "stock-2"), ("orders1", "orders2")],
        *[("topicA", "topicB"), ("topic", "topicB"), ("stock-eu", "stock-us"), ("in", "on")],
        *[("order-created", "order-deleted"), ("payment-created", "payment-updated")],
        *[("%RETRY%billing", "%DLQ%billing"), ("", "a"), ("orders", "refunds")],
    ],
)
def test_name_that_differs_on_purpose_is_not_almost_alike(name: str, other: str) -> None:
    assert almost_like(name, [other]) is None
    assert almost_like(other, [name]) is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda mq: mq.messages("ordres"),
        lambda mq: mq.queues("ordres"),
        lambda mq: mq.group("billing").lag("ordres"),
        lambda mq: mq.group("billing").offsets("ordres"),
        lambda mq: mq.wait_for(lambda: mq.group("billing").lag("ordres") == 0),
        lambda mq: mq.run_until(lambda: mq.messages("ordres"), at_most="1h"),
        lambda mq: mq.assert_sent("ordres"),
        lambda mq: mq.assert_consumed("ordres", "billing"),
    ],
)
def test_mistyped_topic_is_refused(
    mq: fakemq.Cluster, ask: Callable[[fakemq.Cluster], object]
) -> None:
    with pytest.raises(LookupError, match=r"^no topic 'ordres'; did you mean orders\?") as raised:
        ask(mq)
    assert "topics={'ordres': 8}" in str(raised.value)


@pytest.mark.parametrize(
    "ask",
    [
        lambda mq: mq.group("biling").lag("orders"),
        lambda mq: mq.group("biling").offsets("orders"),
        lambda mq: mq.group("biling").members(),
        lambda mq: mq.group("biling").suspend(),
        lambda mq: mq.group("biling").resume(),
        lambda mq: mq.messages("%DLQ%biling"),
        lambda mq: mq.assert_in_dlq("biling"),
        lambda mq: mq.assert_in_dlq("biling", 0),
        lambda mq: mq.assert_consumed("orders", "biling"),
        lambda mq: mq.assert_delivered_once("orders", "biling"),
        lambda mq: mq.assert_not_redelivered("orders", "biling"),
        lambda mq: mq.diagnosis("orders", "biling"),
    ],
)
def test_mistyped_group_is_refused(
    mq: fakemq.Cluster, ask: Callable[[fakemq.Cluster], object]
) -> None:
    with pytest.raises(LookupError, match=r"^no group 'biling'; did you mean billing\?$"):
        ask(mq)


def warnings_of(mq: fakemq.Cluster) -> list[str]:
    return [one.text for one in mq.journal.find(Warned)]


def test_seeding_of_a_mistyped_topic_is_a_warning(mq: fakemq.Cluster) -> None:
    mq.seed("order", [b"one"])
    (text,) = warnings_of(mq)
    assert text == (
        "messages are seeded into a new topic 'order'; did you mean orders?"
        " If not, declare it: topics={'order': 8}"
    )
    mq.seed("order", [b"two"])
    mq.seed("refunds", [b"three"])
    assert len(warnings_of(mq)) == 1


def test_mistyped_topic_is_not_changed(mq: fakemq.Cluster) -> None:
    expected = r"^no running master has a topic ordesr; did you mean orders\?$"
    with pytest.raises(LookupError, match=expected):
        mq.topic("ordesr").set_queues(4)
    with pytest.raises(LookupError, match=expected):
        _ = mq.topic("ordesr").message_type
    with pytest.raises(LookupError, match=r"^no running master has a topic refunds$"):
        mq.topic("refunds").set_perm("R")


def test_topic_of_a_stopped_broker_is_no_mistyped_one() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1, "order": 1}) as mq:
        mq.broker("broker-a").kill()
        with pytest.raises(LookupError, match=r"^no running master has a topic order$"):
            mq.topic("order").set_queues(2)


def test_group_is_created_by_its_settings_and_if_its_name_is_like_no_other(
    mq: fakemq.Cluster,
) -> None:
    mq.group("reports").suspend()
    mq.group("biling").set(retry_max_times=3)  # it may be meant: there was no group to change
    groups = mq.inspect(lambda core: core.broker("broker-a").groups.snapshot())
    assert not groups["reports"].consume_enable
    assert groups["billing"].consume_enable
    assert groups["biling"].retry_max_times == 3


def test_names_that_may_come_are_empty(mq: fakemq.Cluster) -> None:
    assert mq.messages("refunds") == []
    assert mq.queues("orders-retry") == []
    assert mq.messages("%DLQ%billing") == []
    assert mq.group("reports").lag("orders") == 1
    assert mq.group("reports").members() == []
    assert repr(mq.group("biling")) == "<group biling, 0 members>"
    assert repr(mq.group("billing")) == "<group billing, 1 member>"


def test_topic_of_a_stopped_broker_is_known(mq: fakemq.Cluster) -> None:
    mq.broker("broker-a").kill()
    assert mq.messages("orders")[0].body == b"one"
    with pytest.raises(LookupError, match="did you mean orders"):
        mq.messages("ordres")


def test_long_list_of_long_names_is_left_out() -> None:
    names = [f"{'a-long-name-' * 4}{number}" for number in range(30)]
    assert did_you_mean("x", names).removeprefix("; the nearest is ") in names
    assert did_you_mean("x", names[:3]) == f"; there are: {', '.join(names[:3])}"
