"""Filters of consumer groups: from heartbeats to the file, and until they are forgotten."""

from __future__ import annotations

import json
import re

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import FilterChanged
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.filter import ConsumerFilterTable
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.client import UnregisterClientRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import (
    GROUP,
    TOPIC,
    pull,
    sql_subscription,
    subscribe,
    subscription,
)
from tests.support.java_filters import recorded
from tests.support.peer import Peer
from tests.support.time import START_MS

DAY_MS = 24 * 3600 * 1000


def leave(peer: Peer, group: str = GROUP) -> None:
    header = UnregisterClientRequestHeader(client_id="client-1", consumer_group=group)
    assert peer.ask(RequestCode.UNREGISTER_CLIENT, header).code == 0


def expression(broker: Broker, topic: str = TOPIC) -> str | None:
    found = broker.filters.find(topic, GROUP)
    return None if found is None else found.data.expression


def dead_time(broker: Broker) -> int | None:
    """Since when the filter is dead; None if it lives."""
    found = broker.filters.find(TOPIC, GROUP)
    assert found is not None
    assert found.data.dead is (found.data.dead_time >= found.data.born_time)
    return found.data.dead_time if found.data.dead else None


def history(lab: BrokerLab) -> list[str]:
    return [event.how for event in lab.journal.find(FilterChanged)]


def clean_timers(lab: BrokerLab) -> list[int]:
    return [timer.due_ms for timer in lab.clock.timers() if timer.kind == "filter_data_clean"]


def test_heartbeat_registers_expressions_and_no_tags(broker: Broker, peer: Peer) -> None:
    subscribe(peer, sql_subscription("a > 5"), subscription("bills", "a || b"))
    found = broker.filters.find(TOPIC, GROUP)
    assert found is not None
    assert found.expression.matches({"a": "6"})
    assert (found.data.born_time, found.data.client_version) == (START_MS, 1)
    assert broker.filters.find("bills", GROUP) is None
    assert broker.filters.find(TOPIC, "another") is None


@pytest.mark.parametrize(
    ("said", "version", "left"),
    [
        ("a < 5", 2, "a > 5"),
        ("a < 5", 3, "a > 5"),
        ("a < 5", 4, "a < 5"),
        ("a <", 4, None),
        ("", 4, "a > 5"),
    ],
    ids=["older", "the same", "newer", "newer and none", "newer and empty"],
)
def test_filter_is_replaced_by_newer_versions_only(
    broker: Broker, peer: Peer, said: str, version: int, left: str | None
) -> None:
    subscribe(peer, sql_subscription("a > 5", 3))
    subscribe(peer, sql_subscription(said, version))
    assert expression(broker) == left


def test_newer_version_of_the_same_expression_changes_only_the_version(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    subscribe(peer, sql_subscription("a > 5", 1))
    lab.clock.advance(1)
    subscribe(peer, sql_subscription("a > 5", 2))
    found = broker.filters.find(TOPIC, GROUP)
    assert found is not None
    assert (found.data.born_time, found.data.client_version) == (START_MS, 2)
    assert history(lab) == ["registered"]


@pytest.mark.parametrize("expression_type", ["XPATH", "sql92"])
def test_unknown_expression_type_is_refused(
    lab: BrokerLab, broker: Broker, peer: Peer, expression_type: str
) -> None:
    subscribe(peer, sql_subscription("a > 5") | {"expressionType": expression_type})
    assert expression(broker) is None
    assert history(lab) == ["refused"]


# -- death ------------------------------------------------------------------------------------


def test_filter_dies_and_returns_with_its_subscription(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    subscribe(peer, sql_subscription("a > 5"))
    subscribe(peer, subscription("bills"))
    assert dead_time(broker) == START_MS
    subscribe(peer, sql_subscription("of no account, for it has the same version"))
    assert dead_time(broker) is None
    assert expression(broker) == "a > 5"
    assert history(lab) == ["registered", "dead", "revived"]


def test_filter_stays_alive_when_tags_replace_the_expression(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    subscribe(peer, sql_subscription("a > 5"))
    subscribe(peer, subscription(subVersion=2))
    assert history(lab) == ["registered"]


@pytest.mark.parametrize("how", ["unregistered", "closed"])
def test_last_member_of_a_group_ends_its_filters(lab: BrokerLab, broker: Broker, how: str) -> None:
    first, last = lab.peer(broker.addr, "first"), lab.peer(broker.addr, "last")
    for peer in (first, last):
        subscribe(peer, sql_subscription("a > 5"))
    for peer in (first, last):
        assert history(lab) == ["registered"]
        if how == "unregistered":
            leave(peer)
        else:
            peer.session.close("gone")
            lab.network.settle()
    assert history(lab) == ["registered", "dead"]


def test_filter_stays_alive_when_its_client_is_silent(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    subscribe(peer, sql_subscription("a > 5"))
    lab.clock.advance("70s")
    pull(peer)  # it is there, but says no more of itself
    lab.clock.advance("61s")
    assert broker.consumers.group(GROUP) is None
    assert history(lab) == ["registered"]


def test_dead_filter_is_dropped_after_a_day_at_the_next_tick(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    subscribe(peer, sql_subscription("a > 5"), sql_subscription("a < 5", topic="bills"))
    assert clean_timers(lab) == []
    lab.clock.advance("3s")
    subscribe(peer, sql_subscription("a > 5"))
    lab.clock.advance("6s")
    leave(peer)
    due_ms = DAY_MS + 10_000
    assert clean_timers(lab) == [due_ms]
    lab.clock.advance((due_ms - 9_000 - 1) / 1000)
    assert expression(broker, "bills") == "a < 5"
    lab.clock.advance(0.001)
    assert expression(broker, "bills") is None
    # Dead since 9 s: it is due at the very tick.
    assert expression(broker) is None
    assert clean_timers(lab) == []
    assert history(lab)[-2:] == ["removed", "removed"]


def test_later_dead_filter_is_dropped_later(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    subscribe(peer, sql_subscription("a > 5"), sql_subscription("a < 5", topic="bills"))
    subscribe(peer, sql_subscription("a > 5"))
    lab.clock.advance("10s")
    subscribe(peer, sql_subscription("a < 5", topic="bills"))
    lab.clock.advance("10s")
    leave(peer)
    # "bills" came back to life and died again: 10 s after the other.
    lab.clock.advance(DAY_MS / 1000 - 10)
    assert (expression(broker), expression(broker, "bills")) == (None, "a < 5")
    lab.clock.advance("10s")
    assert expression(broker, "bills") is None


def test_time_until_a_dead_filter_is_dropped_is_configured(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(filter_data_clean_time_span=0))
    peer = lab.peer(broker.addr)
    subscribe(peer, sql_subscription("a > 5"))
    leave(peer)
    lab.clock.advance("10s")
    assert expression(broker) is None


# -- start, stop, reset -----------------------------------------------------------------------


def test_restarted_broker_takes_filters_for_dead_since_30_s(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    subscribe(peer, sql_subscription("a > 5"))
    lab.clock.advance("60s")
    broker.kill()
    assert clean_timers(lab) == []
    lab.clock.advance("60s")
    broker.start()
    assert dead_time(broker) == START_MS + 90_000
    [due_ms] = clean_timers(lab)
    assert due_ms == DAY_MS + 90_000
    peer = lab.peer(broker.addr)
    subscribe(peer, sql_subscription("a > 5"))
    assert dead_time(broker) is None
    lab.clock.advance(DAY_MS / 1000)
    assert expression(broker) == "a > 5"


def test_reset_keeps_the_filters_of_connected_members(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    subscribe(peer, sql_subscription("a > 5"), sql_subscription("a < 5", topic="bills"))
    subscribe(peer, sql_subscription("a > 5"))
    other = lab.peer(broker.addr, "other")
    subscribe(other, sql_subscription("a = 5"), group="another")
    other.session.close("gone")
    lab.network.settle()
    broker.reset()
    assert expression(broker) == "a > 5"
    assert expression(broker, "bills") is None
    assert broker.filters.find(TOPIC, "another") is None


# -- the file ---------------------------------------------------------------------------------


def test_filter_file_is_written_as_by_java(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(expect_consumer_num_use_filter=64))
    peer, leaving = lab.peer(broker.addr), lab.peer(broker.addr, "leaving")
    subscribe(peer, sql_subscription("a > 5", 3), group="billing")
    subscribe(leaving, sql_subscription("a IS NULL", 4), group="shipping")
    leave(leaving, "shipping")
    [line] = recorded("table")
    text = fastjson.dumps(broker.filters.persisted())
    assert re.sub(r'Time":\d{13}', 'Time":7', text) == line


def test_bloom_bits_are_those_of_the_default_config(broker: Broker, peer: Peer) -> None:
    subscribe(peer, sql_subscription("a > 5"))
    table = json.loads(fastjson.dumps(broker.filters.persisted()))
    bits = table["filterDataByTopic"][TOPIC]["groupFilterData"][GROUP]["bloomFilterData"]
    assert bits["bitNum"] == 112
    assert len(bits["bitPos"]) == 3


def test_filter_file_omits_expired_filters(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(filter_data_clean_time_span=1_000))
    peer = lab.peer(broker.addr)
    subscribe(peer, sql_subscription("a > 5"))
    leave(peer)
    lab.clock.advance("1s")
    assert fastjson.dumps(broker.filters.persisted()) == '{"filterDataByTopic":{}}'


def test_filter_file_is_read_again(lab: BrokerLab) -> None:
    broker = lab.broker()
    peer, leaving = lab.peer(broker.addr), lab.peer(broker.addr, "leaving")
    subscribe(peer, sql_subscription("a > 5"))
    subscribe(leaving, sql_subscription("a < 5"), group="shipping")
    leave(leaving, "shipping")
    written = fastjson.dumps_pretty(broker.filters.persisted()).encode()
    lab.clock.advance("60s")
    after = lab.broker(BrokerConfig(broker_name="after", listen_port=20911))
    after.filters.load(ConsumerFilterTable.decode(written))
    after.filters.start()
    found = after.filters.find(TOPIC, "shipping")
    assert found is not None
    assert found.data.dead_time == START_MS
    assert found.expression.matches({"a": "3"})
    assert dead_time(after) == START_MS + 30_000
    lab.clock.advance((DAY_MS - 60_000) / 1000)
    assert after.filters.find(TOPIC, "shipping") is None
    assert expression(after) == "a > 5"


def test_filter_file_for_other_bits_is_not_read(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    subscribe(peer, sql_subscription("a > 5"))
    table = broker.filters.persisted()
    other = lab.broker(
        BrokerConfig(broker_name="other", listen_port=20911, expect_consumer_num_use_filter=64)
    )
    other.filters.load(table)
    assert expression(other) is None
    broker.filters.load(table)
    assert expression(broker) == "a > 5"
