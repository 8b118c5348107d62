"""The sums of topics and groups."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

import fakemq
from fakemq.core.cluster import ClusterCore
from fakemq.core.overview import GroupSum, Overview, overview


def test_overview_sums_up_topics_and_groups() -> None:
    with fakemq.Cluster(masters=2, clock="frozen", topics={"orders": 2}) as mq:
        mq.seed("orders", [str(number) for number in range(10)])
        mq.consumer(
            group="billing",
            subscribe="orders",
            consume_from="first",
            on_message=lambda message: message.retry_later(-1) if message.body == b"3" else None,
        )
        mq.run_until(lambda: mq.group("billing").lag("orders") == 0, at_most="20s")
        seen = mq.inspect(overview)
        few = mq.inspect(lambda core: overview(core, most=1))
    orders = seen.topics[0]
    assert (orders.name, orders.system, orders.queues) == ("orders", False, 4)
    assert (orders.messages, orders.written) == (10, 10)
    assert {one.name for one in seen.topics if one.system} >= {"TBW102", "%RETRY%billing"}
    (billing,) = seen.groups
    assert billing == GroupSum(
        name="billing", members=1, lag=0, consumed=billing.consumed, lags=billing.lags
    )
    assert billing.consumed >= 10
    assert billing.lags["orders"] == 0
    assert few.topics_left_out == len(seen.topics) - 1
    assert seen.topics_left_out == seen.groups_left_out == 0


def test_overview_is_of_topics_with_a_text_in_their_names() -> None:
    with fakemq.Cluster(topics={"Orders": 1, "orders-late": 1, "bills": 1}) as mq:
        seen = mq.inspect(lambda core: overview(core, most=1, topic="ORDERS"))
        own = mq.inspect(lambda core: overview(core, most=None, system=False))
    assert [one.name for one in seen.topics] == ["Orders"]
    assert seen.topics_left_out == 1
    assert [one.name for one in own.topics] == ["Orders", "bills", "orders-late"]


def test_overview_is_of_groups_with_a_text_in_their_names() -> None:
    with fakemq.Cluster() as mq:
        for name in ("Billing", "billing-late", "shop"):
            mq.group(name).set(retry_max_times=3)
        seen = mq.inspect(lambda core: overview(core, most=1, group="BILL"))
        none = mq.inspect(lambda core: overview(core, group="nothing"))
    assert [one.name for one in seen.groups] == ["Billing"]
    assert seen.groups_left_out == 1
    assert (none.groups, none.groups_left_out) == ([], 0)
    assert none.topics


def test_offsets_of_all_groups_are_read_once() -> None:
    groups = [f"group-{number:02}" for number in range(20)]

    def look(core: ClusterCore) -> tuple[Overview, int]:
        (broker,) = core.brokers.values()
        for group in groups:
            broker.offsets.commit(group, "orders", 0, 1)
            broker.offsets.commit(group, "bills", 0, 0)
        pairs = Mock(wraps=broker.offsets.topics_by_group)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(broker.offsets, "topics_by_group", pairs)
            return overview(core), pairs.call_count

    with fakemq.Cluster(clock="frozen", topics={"orders": 1, "bills": 1}) as mq:
        mq.seed("orders", ["a", "b"])
        for group in groups:
            mq.group(group).set(retry_max_times=3)
        seen, reads = mq.inspect(look)
    assert [(one.name, one.lag, one.consumed, one.lags) for one in seen.groups] == [
        (group, 1, 1, {"bills": 0, "orders": 1}) for group in groups
    ]
    assert reads == 1
