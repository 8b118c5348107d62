"""What access control refused: the diagnosis names it, for consumers and for producers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.biographies.refusals import Refusals
from fakemq.client import MQBrokerError, MQClientError
from fakemq.errors import WaitTimeout
from fakemq.events import AccessRefused
from fakemq.journal.entries import Entry
from fakemq.reference import NAMES, find_reference

RULES = {
    "accounts": [
        {
            "accessKey": "billing1",
            "secretKey": "12345678",
            "topicPerms": ["orders=SUB"],
            "groupPerms": ["billing=SUB"],
        },
    ]
}
KEYS = {"access_key": "billing1", "secret_key": "12345678"}
WRONG = {"access_key": "billing1", "secret_key": "87654321"}


@pytest.fixture(params=[name for name in NAMES if find_reference(name).reads_acl_enable])
def mq(request: pytest.FixtureRequest) -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        acl=RULES, clock="frozen", topics={"orders": 1}, reference=request.param
    ) as cluster:
        cluster.seed("orders", ["tea"])
        yield cluster


def joined(mq: fakemq.Cluster, group: str, **keys: str) -> object:
    consumer = mq.consumer(
        group=group,
        subscribe="orders",
        consume_from="first",
        access_key=keys.get("access_key", ""),
        secret_key=keys.get("secret_key", ""),
    )
    mq.clock.advance("1m")
    return consumer


def said(group: str, why: str) -> str:
    return (
        f"b'tea' of orders: never delivered: requests of 127.0.0.1 for group {group} are refused"
        f" by access control: {why}"
    )


@pytest.mark.parametrize(
    ("group", "keys", "why"),
    [
        ("billing", {}, "No accessKey is configured"),
        ("billing", WRONG, "Check signature failed for accessKey=billing1"),
        ("others", KEYS, "No default permission for group:others (key of billing1)"),
    ],
    ids=["no key", "wrong secret", "forbidden group"],
)
def test_refused_consumer_is_named(
    mq: fakemq.Cluster, group: str, keys: dict[str, str], why: str
) -> None:
    joined(mq, group, **keys)
    (event, *_) = mq.journal.find(AccessRefused, node="broker-a-0")
    assert group in event.groups
    assert "orders" in event.topics
    assert mq.diagnosis("orders", group) == [said(group, why)]
    with pytest.raises(AssertionError) as failed:
        mq.assert_consumed("orders", group)
    assert said(group, why) in str(failed.value)
    with pytest.raises(WaitTimeout) as waited:
        mq.run_until(lambda: False, at_most="1s")
    assert said(group, why) in str(waited.value)
    assert "no group has asked" not in str(waited.value)


def test_refusal_is_forgotten_when_a_member_of_the_group_joins(mq: fakemq.Cluster) -> None:
    joined(mq, "billing", **WRONG)
    joined(mq, "billing", **KEYS)
    mq.assert_consumed("orders", "billing")
    assert mq.diagnosis("orders", "billing") == []


def test_refused_producer_is_named(mq: fakemq.Cluster) -> None:
    with pytest.raises((MQBrokerError, MQClientError)):
        mq.producer(access_key=KEYS["access_key"], secret_key=KEYS["secret_key"]).send(
            "orders", b"coffee"
        )
    with pytest.raises(AssertionError) as failed:
        mq.assert_sent("orders", 2)
    assert "access control refused a request of 127.0.0.1 for topic orders at" in str(failed.value)


def test_names_that_a_peer_invents_are_kept_to_a_bound() -> None:
    refusals = Refusals()
    for number in range(3_000):
        for groups in ((), (f"group-{number}",)):
            event = AccessRefused(
                node="broker-a-0",
                peer="10.0.0.1:1",
                host="10.0.0.1",
                groups=groups,
                topics=(f"topic-{number}",),
                why="No accessKey is configured",
            )
            refusals.add(Entry(seq=number + 1, at_ms=0, cause=0, event=event))
    assert len(refusals.of_topics(lambda topic: True)) == 1_000
    assert refusals.of_group("group-1999") is None
    assert refusals.of_group("group-2000") is not None
    assert refusals.groups("topic-1999") == []
    assert refusals.groups("topic-2999") == ["group-2999"]


def test_refused_group_is_named_when_another_has_consumed_everything() -> None:
    admin = {"accessKey": "adminadmin", "secretKey": "12345678", "admin": True}
    keys = {"access_key": "adminadmin", "secret_key": "12345678"}
    line = "requests of 127.0.0.1 for group bad are refused by access control: No accessKey is"
    with fakemq.Cluster(acl={"accounts": [admin]}, clock="frozen") as mq:
        mq.seed("orders", ["tea"])
        joined(mq, "ok", **keys)
        joined(mq, "bad")
        for found in (mq.diagnosis(), mq.diagnosis("orders"), mq.diagnosis("orders", "bad")):
            assert len(found) == 1
            assert line in found[0]
        assert mq.diagnosis("orders", "ok") == []
        joined(mq, "bad", **keys)
        assert mq.diagnosis() == []
