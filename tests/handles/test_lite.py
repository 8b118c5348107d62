"""Lite topics in the laboratory's terms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import fakemq
from fakemq.client import Client
from fakemq.errors import ConfigError
from fakemq.events import LiteTopicExpired
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.header import Header
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.consumer import normalised
from tests.support.lites import (
    GROUP,
    LITE_KEYS,
    PARENT,
    LiteMessage,
    lite_ack,
    lite_header,
    popped,
    subscription,
)

QUEUE = f"%LMQ%${PARENT}$a"


class LiteClient(Client):
    """A client that does by hand what a proxy does for a lite consumer."""

    addr: str

    def subscribe(self, *lites: str, **fields: Any) -> None:
        body = subscription("PARTIAL_ADD", *lites, **fields)
        assert self._ask(RequestCode5.LITE_SUBSCRIPTION_CTL, None, body).code == 0

    def pop_lite(self, **fields: Any) -> list[LiteMessage]:
        return popped(self._ask(RequestCode5.POP_LITE_MESSAGE, lite_header(**fields)))

    def ack(self, message: LiteMessage) -> None:
        assert self._ask(RequestCode5.ACK_MESSAGE, lite_ack(message)).code == 0

    def _ask(self, code: RequestCode5, header: Header | None, body: bytes = b"") -> RemotingCommand:
        command = self.instance.command(code, header, body)
        return self.run(self.instance.invoke(self.addr, command))


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        reference="5.5.0",
        clock="frozen",
        start_at="2024-02-29T12:00:00Z",
        topics={PARENT: {"queues": 1, "message_type": "LITE"}, "orders": 1},
        config=LITE_KEYS,
    ) as cluster:
        cluster.topic(PARENT).lite().bind(GROUP)
        yield cluster


@pytest.fixture
def client(mq: fakemq.Cluster) -> Iterator[LiteClient]:
    with LiteClient(mq.namesrv_addr) as client:
        client.addr = mq.broker("broker-a").addr
        yield client


def seed(mq: fakemq.Cluster, lite: str, *bodies: str) -> None:
    mq.seed(PARENT, bodies, properties={"__LITE_TOPIC": lite})


def lines(mq: fakemq.Cluster, number: int = 0) -> list[str]:
    text = normalised(str(mq.messages(PARENT)[number].biography))
    return [re.sub(rf"{GROUP}@ADDR", GROUP, line.strip()) for line in text.splitlines()][1:]


def test_topics_are_listed_with_their_subscribers(mq: fakemq.Cluster, client: LiteClient) -> None:
    lite = mq.topic(PARENT).lite()
    assert lite.topics() == []
    client.subscribe("b")
    seed(mq, "a", "x", "y")
    found = [(one.name, one.broker, one.end_offset, one.subscribers) for one in lite.topics()]
    assert found == [("a", "broker-a-0", 2, ()), ("b", "broker-a-0", 0, ((GROUP, "c1"),))]
    assert [one.last_message_ms for one in lite.topics()] == [mq.clock.now_ms(), -1]
    assert repr(lite) == f"<lite topics of {PARENT}>"


def test_group_is_notified_that_it_has_a_lite_topic_no_more(
    mq: fakemq.Cluster, client: LiteClient
) -> None:
    lite = mq.topic(PARENT).lite()
    client.subscribe("a")
    client.subscribe("a", client_id="c2")
    assert lite.unsubscribe("a", GROUP) == 2
    assert lite.topics() == []
    assert len(mq.journal.find(fakemq.events.LiteUnsubscribed)) == 2
    with pytest.raises(LookupError, match=f"no client of group '{GROUP}' subscribes to 'a'"):
        lite.unsubscribe("a", GROUP)


def test_topic_for_something_else_has_no_lite_topics(mq: fakemq.Cluster) -> None:
    lite = mq.topic("orders").lite()
    for call in (lite.topics, partial(lite.bind, "g")):
        with pytest.raises(fakemq.ConfigError, match="topic 'orders' is of type NORMAL, not LITE"):
            call()
    with pytest.raises(LookupError):
        mq.topic("nothing").lite().topics()


def test_brokers_without_light_queues_have_no_lite_topics() -> None:
    topics = {PARENT: {"queues": 1, "message_type": "LITE"}}
    with (
        fakemq.Cluster(reference="5.5.0", topics=topics) as mq,
        pytest.raises(fakemq.ConfigError, match=r'"enableLmq": "true"'),
    ):
        mq.topic(PARENT).lite().topics()


def test_binding_replaces_an_earlier_one(mq: fakemq.Cluster, client: LiteClient) -> None:
    lite = mq.topic(PARENT).lite()
    lite.bind(GROUP, wildcard=True, quota=5, max_event_count=10)
    lite.bind(GROUP, exclusive=True, reset_offset=True)
    seed(mq, "a", "x")
    client.subscribe("a")
    client.ack(*client.pop_lite())
    client.subscribe("a", client_id="c2")
    (again,) = client.pop_lite(client_id="c2")
    assert (again.lite, again.body) == ("a", b"x")
    with pytest.raises(ValueError, match="a b"):
        lite.bind("a b")


def test_idle_lite_topic_ends(mq: fakemq.Cluster) -> None:
    lite = mq.topic(PARENT).lite()
    lite.expire_after(30)
    seed(mq, "a", "x")
    mq.clock.advance("29m")
    assert [one.name for one in lite.topics()] == ["a"]
    mq.clock.advance("3m")
    assert lite.topics() == []
    expected = f"{QUEUE} deleted, after 1860 s without a message: no consumer gets it"
    assert expected in "\n".join(lines(mq))
    lite.expire_after(-1)
    seed(mq, "a", "y")
    mq.clock.advance("5d")
    assert [one.end_offset for one in lite.topics()] == [1]


def test_biography_follows_a_message_through_its_lite_topic(
    mq: fakemq.Cluster, client: LiteClient
) -> None:
    client.subscribe("a")
    seed(mq, "a", "x", "y")
    (first,) = client.pop_lite(max_msg_num=1)
    assert [(one.topic, one.offset) for one in mq.group(GROUP).inflight()] == [(QUEUE, 0)]
    client.ack(first)
    assert lines(mq) == [
        f"12:00:00.000 stored in {PARENT} broker-a-0/0@0",
        "12:00:00.000 dispatched at broker-a-0",
        f"12:00:00.000 also in {QUEUE} broker-a-0/0@0",
        f"12:00:00.000 popped in order 1st time by {GROUP}, invisible until 12:00:10.000",
        f"12:00:00.000 acknowledged by {GROUP}",
    ]
    first_message, second_message = mq.messages(PARENT)
    assert [one.group for one in first_message.deliveries] == [GROUP]
    assert second_message.deliveries == ()
    assert mq.group(GROUP).lag(PARENT) == 1
    client.ack(*client.pop_lite())
    mq.assert_consumed(PARENT, GROUP, 2)
    assert mq.group(GROUP).lag(PARENT) == 0


def test_diagnosis_names_what_keeps_a_message(mq: fakemq.Cluster, client: LiteClient) -> None:
    seed(mq, "a", "x", "y")
    (found,) = mq.diagnosis(PARENT, GROUP)
    assert found.endswith(f"no client of group {GROUP} has subscribed to its lite topic a")
    client.subscribe("a")
    assert f"no client of group {GROUP} has popped from its lite topic a" in "\n".join(
        mq.diagnosis(PARENT)
    )
    client.pop_lite(max_msg_num=1)
    found = "\n".join(mq.diagnosis(PARENT, GROUP))
    assert f"b'x' of {PARENT}: popped once by {GROUP}, invisible until 12:00:10.000" in found
    assert (
        f"b'y' of {PARENT}: never delivered: group {GROUP} consumes its lite topic a in order, and"
        " offset 0 is not acknowledged and invisible until 12:00:10.000"
    ) in found


def test_seed_keeps_a_lite_topic_at_the_broker_of_its_name() -> None:
    with fakemq.Cluster(
        reference="5.5.0",
        clock="frozen",
        masters=2,
        topics={PARENT: {"queues": 2, "message_type": "LITE"}},
        config=LITE_KEYS,
    ) as mq:
        lite = mq.topic(PARENT).lite()
        lite.bind(GROUP)
        for name in ("a", "b", "c", "d"):
            seed(mq, name, "1", "2")
        found = lite.topics()
        assert sorted((one.name, one.end_offset) for one in found) == [
            (name, 2) for name in ("a", "b", "c", "d")
        ]
        assert {one.broker for one in found} == {"broker-a-0", "broker-b-0"}
        with LiteClient(mq.namesrv_addr) as client:
            for broker in ("broker-a", "broker-b"):
                client.addr = mq.broker(broker).addr
                client.subscribe("a", "b", "c", "d", "none")
            homes = [one.broker for one in lite.topics() if one.subscribers]
        assert len(homes) == 5


def test_usual_group_consumes_the_parent_itself(mq: fakemq.Cluster) -> None:
    seed(mq, "a", "x", "y")
    assert [mq.group(one).lag(PARENT) for one in ("usual", GROUP)] == [2, 2]
    assert "no member" in "\n".join(mq.diagnosis(PARENT, "usual"))
    consumer = mq.consumer(group="usual", subscribe=PARENT, consume_from="first")
    mq.clock.advance("11s")
    assert sorted(one.body for one in consumer.received) == [b"x", b"y"]
    mq.assert_consumed(PARENT, "usual", 2)
    assert mq.group(GROUP).lag(PARENT) == 2


def test_slave_deletes_lite_topics_as_its_master() -> None:
    with fakemq.Cluster(
        reference="5.5.0",
        clock="frozen",
        controllers=1,
        slaves=1,
        topics={PARENT: {"queues": 1, "message_type": "LITE"}},
        config=LITE_KEYS,
    ) as mq:
        mq.topic(PARENT).lite().expire_after(1)
        seed(mq, "a", "1", "2")
        mq.clock.advance("20m")
        assert len(mq.journal.find(LiteTopicExpired, queue=QUEUE)) == 2
        seed(mq, "a", "3")
        mq.clock.advance("10s")
        mq.failover("broker-a")
        mq.clock.advance("31s")
        (found,) = mq.topic(PARENT).lite().topics()
        assert found.end_offset == 1


@pytest.mark.parametrize("name", ["a/b", "x" * 300, "a,b"])
def test_seed_refuses_a_lite_topic_that_no_queue_can_have(mq: fakemq.Cluster, name: str) -> None:
    with pytest.raises(ConfigError, match="no message can be in the lite topic"):
        seed(mq, name, "x")
    mq.seed("orders", ["x"], properties={"__LITE_TOPIC": name})


def test_diagnosis_names_a_lite_topic_that_has_ended(mq: fakemq.Cluster) -> None:
    mq.topic(PARENT).lite().expire_after(1)
    seed(mq, "a", "x")
    mq.clock.advance("20m")
    (found,) = mq.diagnosis(PARENT, GROUP)
    assert found.endswith("its lite topic a was deleted: no consumer gets it any more")


def test_diagnosis_names_the_keys_that_brokers_lack(mq: fakemq.Cluster) -> None:
    mq.broker("broker-a").restart({"enableLmq": "false", "enableMultiDispatch": "false"})
    seed(mq, "a", "x")
    (found,) = mq.diagnosis(PARENT, GROUP)
    assert found.endswith(
        "broker-a-0 has no light queues, so no lite topics, without enableLmq=true and"
        " enableMultiDispatch=true"
    )
