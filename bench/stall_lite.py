"""Attacks with lite topics: a client subscribes to many, gathers news of many, or lets many end."""

from __future__ import annotations

import json

from bench.stall_front import end_of_time, peer, resource
from bench.stall_lab import (
    Attack,
    Lab,
    until_idle,
)
from fakemq.broker.broker import Broker
from fakemq.broker.seeding import seed
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.v5.codes import RequestCode5

PARENT, GROUP, CLIENT = "sessions", "agents", "attacker"
LITE_TOPICS = 10_000
EXPIRATION_MIN = 1
HIDDEN_MS = 600_000


def _lites(lab: Lab, prefix: str = "session") -> list[str]:
    return [f"{prefix}-{number}" for number in range(lab.many(LITE_TOPICS))]


def _broker(core: ClusterCore) -> Broker:
    return next(iter(core.brokers.values()))


def parent(lab: Lab) -> None:
    """Have a parent, and a group that may subscribe to all its lite topics."""
    given = {
        "lite.bind.topic": PARENT,
        "lite.sub.client.quota": str(LITE_TOPICS),
        "lite.sub.client.max.event.cnt": str(LITE_TOPICS),
    }

    def create(core: ClusterCore) -> None:
        broker = _broker(core)
        attributes = {"message.type": "LITE", "lite.topic.expiration": str(EXPIRATION_MIN)}
        broker.create_topic(PARENT, 1, attributes=attributes)
        broker.groups.update(SubscriptionGroupConfig(group_name=GROUP, attributes=given))

    lab.mq.inspect(create)


def _control(lab: Lab, action: str, lites: list[str]) -> None:
    entry = {"clientId": CLIENT, "group": GROUP, "topic": PARENT}
    entry |= {"action": action, "liteTopicSet": lites}  # type: ignore[dict-item]
    body = json.dumps({"subscriptionSet": [entry]}).encode()
    answer = lab.ask(RequestCode5.LITE_SUBSCRIPTION_CTL, body=body)
    assert answer.code == 0, answer.remark


def subscribe(lab: Lab) -> None:
    _control(lab, "PARTIAL_ADD", _lites(lab))


def subscribed(lab: Lab) -> None:
    """Have a client that subscribes to 10,000 lite topics."""
    parent(lab)
    subscribe(lab)


def replace(lab: Lab) -> None:
    _control(lab, "COMPLETE_ADD", _lites(lab, "other"))


def unsubscribe(lab: Lab) -> None:
    _control(lab, "PARTIAL_REMOVE", _lites(lab))


def leave_all(lab: Lab) -> None:
    _control(lab, "COMPLETE_REMOVE", [])


def with_messages(lab: Lab) -> None:
    """Have a message in each of 10,000 lite topics, to which a client subscribes."""
    subscribed(lab)

    def put(core: ClusterCore) -> None:
        broker = _broker(core)
        for lite in _lites(lab):
            seed(broker, PARENT, 0, b"x", more={"__LITE_TOPIC": lite})

    lab.mq.inspect(put)


def pop(lab: Lab) -> None:
    fields = {"clientId": CLIENT, "consumerGroup": GROUP, "topic": PARENT, "maxMsgNum": 32}
    fields |= {"invisibleTime": HIDDEN_MS, "pollTime": 0, "bornTime": 0}
    lab.ask(RequestCode5.POP_LITE_MESSAGE, fields)


def all_out(lab: Lab) -> None:
    """Have one message of each lite topic out, and news of each."""
    with_messages(lab)
    for _ in range(-(-lab.many(LITE_TOPICS) // 32)):
        pop(lab)
    trigger(lab)


def trigger(lab: Lab) -> None:
    answer = lab.ask(RequestCode5.TRIGGER_LITE_DISPATCH, {"group": GROUP, "clientId": CLIENT})
    assert answer.code == 0, answer.remark


def parent_info(lab: Lab) -> None:
    lab.ask(RequestCode5.GET_PARENT_TOPIC_INFO, {"topic": PARENT})


def group_info(lab: Lab) -> None:
    lab.ask(RequestCode5.GET_LITE_GROUP_INFO, {"group": GROUP, "topK": LITE_TOPICS})


def client_info(lab: Lab) -> None:
    fields = {"parentTopic": PARENT, "group": GROUP, "clientId": CLIENT, "maxCount": LITE_TOPICS}
    lab.ask(RequestCode5.GET_LITE_CLIENT_INFO, fields)


def delete_parent(lab: Lab) -> None:
    lab.ask(215, {"topic": PARENT})


def expire(lab: Lab) -> None:
    end_of_time("20m")(lab)


def sync(lab: Lab) -> None:
    """Subscribe by the front."""
    entry = m.SubscriptionEntry(topic=resource(PARENT))
    subscription = m.Subscription(group=resource(GROUP), subscriptions=[entry])
    settings = m.Settings(client_type=m.ClientType.LITE_PUSH_CONSUMER, subscription=subscription)
    command = m.TelemetryCommand(settings=settings)
    request = m.SyncLiteSubscriptionRequest(
        topic=resource(PARENT), group=resource(GROUP), lite_topic_set=_lites(lab)[:9_000]
    )
    with peer(lab) as one:
        stream_id = one.call("Telemetry", command)
        one.answers(stream_id, "Telemetry")
        one.answers(one.call("SyncLiteSubscription", request), "SyncLiteSubscription")
    until_idle(lab)


LITE: dict[str, tuple[Attack, Attack]] = {
    "10,000 lite topics subscribed to in one piece of 5.5.0": (parent, subscribe),
    "10,000 lite topics for 10,000 others of 5.5.0": (subscribed, replace),
    "10,000 lite topics unsubscribed from in one piece of 5.5.0": (subscribed, unsubscribe),
    "end of a client with 10,000 lite topics of 5.5.0": (subscribed, leave_all),
    "silence of a client with news of 10,000 lite topics of 5.5.0": (with_messages, expire),
    "pop of a client with news of 10,000 lite topics of 5.5.0": (with_messages, pop),
    "pop of a client with 10,000 lite topics that are out of 5.5.0": (all_out, pop),
    "trigger for a client with 10,000 lite topics of 5.5.0": (with_messages, trigger),
    "lag of a group in 10,000 lite topics of 5.5.0": (all_out, group_info),
    "a parent's 10,000 lite topics counted of 5.5.0": (with_messages, parent_info),
    "a client's 10,000 lite topics listed of 5.5.0": (subscribed, client_info),
    "delete of a parent of 10,000 lite topics of 5.5.0": (all_out, delete_parent),
    "9,000 lite topics subscribed to in one piece at the front": (parent, sync),
}
"""As `bench.stall.ATTACKS`, at a cluster with lite topics."""
