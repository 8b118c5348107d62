"""The calls of mqadmin 5.5.0 about lite topics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from conformance.drivers.drivers import EVENT_TIMEOUT_S
from conformance.mqadmin.script import Part, Step
from conformance.mqadmin.state import CLUSTER, State, addresses, wait_routed
from conformance.targets.java_cluster import wait_until
from conformance.targets.java_jars import NEWEST
from conformance.wire.raw import call, create_topic, frame, json_header
from conformance.wire.requests import group_config
from fakemq.client import Client, Message
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5

PARENT, GROUP, MEMBER = "MSessions", "GAgents", "member"
_LITE_QUEUE = f"%LMQ%${PARENT}$"
_TIMES = {
    r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(,\d+)?": "<time>",
    r"\b\d+ ?(ms|s)\b": "<since>",
    r"\b1[0-9]{12}\b": "<ms>",
}
_STEPS = (
    Step(f"getBrokerLiteInfo -c {CLUSTER} -d", unordered=True, hides=_TIMES),
    Step("getBrokerLiteInfo -b {broker-a}", hides=_TIMES),
    Step(f"getParentTopicInfo -p {PARENT}", unordered=True, hides=_TIMES),
    Step("getParentTopicInfo -p MNowhere"),
    Step(f"getLiteTopicInfo -p {PARENT} -l a -s", unordered=True, hides=_TIMES),
    Step(f"getLiteTopicInfo -p {PARENT} -l none", unordered=True, hides=_TIMES),
    Step(f"getLiteClientInfo -p {PARENT} -g {GROUP} -c {MEMBER} -s", unordered=True, hides=_TIMES),
    Step(f"getLiteClientInfo -p {PARENT} -g {GROUP} -c other", unordered=True, hides=_TIMES),
    Step(f"getLiteGroupInfo -p {PARENT} -g {GROUP} -k 5", unordered=True, hides=_TIMES),
    Step(f"getLiteGroupInfo -p {PARENT} -g {GROUP} -l a", unordered=True, hides=_TIMES),
    Step(f"getLiteGroupInfo -p {PARENT} -g GNowhere", unordered=True),
    Step(f"triggerLiteDispatch -p {PARENT} -g {GROUP}", unordered=True),
    Step(f"triggerLiteDispatch -p {PARENT} -g {GROUP} -c {MEMBER} -b broker-a", unordered=True),
    Step(f"triggerLiteDispatch -p {PARENT} -g GNowhere", unordered=True),
)


@contextmanager
def lite_topics(namesrv_addr: str) -> Iterator[State]:
    """Five messages in two lite topics of broker-a; a member of a group has consumed one."""
    with Client(namesrv_addr) as client:
        addrs = addresses(client, namesrv_addr)
        addr = addrs["broker-a"]
        create_topic(addr, PARENT, 1, attributes="+message.type=LITE,+lite.topic.expiration=30")
        wait_routed(client, PARENT, 1)
        config = group_config(GROUP, attributes={"+lite.bind.topic": PARENT})
        for broker in ("broker-a", "broker-b"):
            _ask(addrs[broker], RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, config)
        for number in range(5):
            lite = {"__LITE_TOPIC": "ab"[number % 2]}
            client.send(Message(PARENT, f"lite {number}".encode(), properties=lite))
        entry = {
            "action": "PARTIAL_ADD",
            "clientId": MEMBER,
            "group": GROUP,
            "liteTopicSet": ["a", "b", "c"],
            "topic": PARENT,
        }
        wait_until(lambda: _end(addr, "a") == 3 and _end(addr, "b") == 2, EVENT_TIMEOUT_S)
        _ask(addr, RequestCode5.LITE_SUBSCRIPTION_CTL, {}, {"subscriptionSet": [entry]})
        committed = {
            "consumerGroup": GROUP,
            "topic": f"{_LITE_QUEUE}a",
            "queueId": "0",
            "commitOffset": "1",
        }
        _ask(addr, RequestCode.UPDATE_CONSUMER_OFFSET, committed)
        yield State(addrs, {}, {}, {})


def _ask(addr: str, code: int, fields: dict[str, str], body: object = None) -> dict[str, object]:
    data = b"" if body is None else json.dumps(body).encode()
    answer = json_header(call(addr, frame(code, fields, data)))
    assert answer["code"] == 0, answer
    return answer


def _end(addr: str, lite: str) -> int:
    fields = {"topic": f"{_LITE_QUEUE}{lite}", "queueId": "0"}
    said = _ask(addr, RequestCode.GET_MAX_OFFSET, fields).get("extFields", {})
    assert isinstance(said, dict)
    return int(said["offset"])


LITE = Part(
    "lite",
    {"enableLmq": "true", "enableMultiDispatch": "true"},
    lite_topics,
    _STEPS,
    reference=NEWEST,
)
