"""LITE_SUBSCRIPTION_CTL: what is refused, and what counts at a broker."""

from __future__ import annotations

import json

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.route import BrokerData, QueueData, TopicRouteData
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.lites import (
    GROUP,
    bind,
    control,
    lite_broker,
    pop_lite,
    queue_of,
    send_lite,
    subscribe,
    subscription,
)
from tests.support.peer import Peer


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    return lite_broker(lab)


@pytest.mark.parametrize(
    ("body", "code", "remark"),
    [
        (b"", 604, "Request body is null."),
        (b"{}", 604, "LiteSubscriptionCtlRequestBody is empty."),
        (b"{", 1, "com.alibaba.fastjson2.JSONException"),
    ],
)
def test_request_without_entries_is_refused(
    peer: Peer, body: bytes, code: int, remark: str
) -> None:
    answer = peer.ask(RequestCode5.LITE_SUBSCRIPTION_CTL, body=body)
    assert answer.code == code
    assert (answer.remark or "").startswith(remark)


def test_entry_without_a_client_is_passed_over(broker: Broker, peer: Peer) -> None:
    assert control(peer, "PARTIAL_ADD", "a", client_id=" ").code == 0
    assert broker5(broker).lite.subscriptions.count == 0


@pytest.mark.parametrize("action", ["ADD", None])
def test_entry_without_an_action_is_an_error(peer: Peer, action: str | None) -> None:
    answer = control(peer, action)  # type: ignore[arg-type]
    assert answer.code == 1
    assert (answer.remark or "").startswith("java.lang.NullPointerException")


def test_group_that_may_not_consume_is_refused(broker: Broker, peer: Peer) -> None:
    broker.groups.disable_consume(GROUP)
    for action in ("PARTIAL_ADD", "COMPLETE_ADD"):
        answer = control(peer, action, "a")
        assert answer.code == 604
        assert answer.remark == (
            "java.lang.IllegalStateException: Consumer group is not allowed to consume."
        )
    assert control(peer, "PARTIAL_REMOVE", "a").code == 0


def test_quota_of_a_broker_is_looked_at_before_lite_topics_are_added(
    broker: Broker, peer: Peer
) -> None:
    broker5(broker).config.max_lite_subscription_count = 2
    assert control(peer, "PARTIAL_ADD", "a").code == 0
    assert control(peer, "PARTIAL_ADD", "b", "c").code == 0
    answer = control(peer, "PARTIAL_ADD", "d")
    assert answer.code == 2018
    assert answer.remark == (
        "org.apache.rocketmq.broker.lite.LiteQuotaException: lite subscription quota exceeded 2"
    )


def test_quota_of_light_queues_is_one_of_sends(broker: Broker, peer: Peer) -> None:
    config = broker5(broker).config
    config.enable_lmq_quota, config.max_lmq_consume_queue_num = True, 1
    assert [send_lite(peer, lite).code for lite in ("a", "b", "a")] == [0, 2017, 0]


@pytest.mark.parametrize(
    ("option", "offsets"),
    [
        (None, [0, 1, 2]),
        ({"type": "POLICY", "value": 1}, [0, 1, 2]),
        ({"type": "POLICY", "value": 2}, []),
        ({"type": "OFFSET", "value": 1}, [1, 2]),
        ({"type": "TAIL_N", "value": 1}, [0, 1, 2]),
        ({"type": "TIMESTAMP", "value": 1}, [0, 1, 2]),
    ],
)
def test_subscription_begins_where_its_option_says(
    peer: Peer, option: dict[str, object] | None, offsets: list[int]
) -> None:
    for _ in range(3):
        send_lite(peer, "a")
    subscribe(peer, "a", offsetOption=option)
    assert [one.offset for one in pop_lite(peer)] == offsets


def test_tail_counts_from_what_the_group_has_consumed(broker: Broker, peer: Peer) -> None:
    for _ in range(3):
        send_lite(peer, "a")
    broker.offsets.commit(GROUP, queue_of("a"), 0, 3)
    subscribe(peer, "a", offsetOption={"type": "TAIL_N", "value": 2})
    assert [one.offset for one in pop_lite(peer)] == [1, 2]


def test_unsubscription_resets_the_offset_if_the_group_wants_that(
    broker: Broker, peer: Peer
) -> None:
    bind(broker, reset_offset_unsubscribe="true")
    subscribe(peer, "a")
    send_lite(peer, "a")
    broker.offsets.commit(GROUP, queue_of("a"), 0, 1)
    control(peer, "PARTIAL_REMOVE", "a")
    assert broker.offsets.query(GROUP, queue_of("a"), 0) == 0


def test_several_entries_are_taken_in_their_order(broker: Broker, peer: Peer) -> None:
    entries = [
        {
            "action": action,
            "clientId": "c",
            "group": GROUP,
            "topic": "sessions",
            "liteTopicSet": [lite],
        }
        for action, lite in (("PARTIAL_ADD", "a"), ("PARTIAL_ADD", "b"), ("PARTIAL_REMOVE", "a"))
    ]
    body = json.dumps({"subscriptionSet": entries}).encode()
    assert peer.ask(RequestCode5.LITE_SUBSCRIPTION_CTL, body=body).code == 0
    found = broker5(broker).lite.subscriptions.find("c")
    assert found is not None
    assert list(found.queues) == [queue_of("b")]


def _route(broker_name: str) -> RemotingCommand:
    data = TopicRouteData(
        queue_datas=[QueueData(broker_name=broker_name, write_queue_nums=1, perm=6)],
        broker_datas=[BrokerData(broker_name=broker_name, broker_addrs={0: "10.0.0.9:10911"})],
    )
    return RemotingCommand(0, body=data.encode())


def test_known_route_is_used_while_a_name_server_is_silent(lab: BrokerLab) -> None:
    server = lab.name_server("10.0.0.1:9876")
    asks = RequestCode.GET_ROUTEINFO_BY_TOPIC
    server.answer = lambda one: _route("elsewhere") if one.code == asks else RemotingCommand(0)
    broker = lite_broker(lab, namesrv_addrs=("10.0.0.1:9876",))
    peer = lab.peer(broker.addr)
    subscribe(peer, "a")
    assert broker5(broker).lite.subscriptions.count == 0
    server.answer = lambda request: None
    answer = peer.send(
        RequestCode5.LITE_SUBSCRIPTION_CTL, body=subscription("PARTIAL_ADD", "b"), timeout_ms=60_000
    )
    assert answer.response is not None
    assert answer.response.code == 0
    assert broker5(broker).lite.subscriptions.count == 0


def test_topics_of_requests_are_asked_for_within_a_limit(lab: BrokerLab) -> None:
    server = lab.name_server("10.0.0.1:9876")
    server.answer = lambda request: None
    broker = lite_broker(lab, namesrv_addrs=("10.0.0.1:9876",))
    peer = lab.peer(broker.addr)
    entry = {"action": "PARTIAL_ADD", "clientId": "c1", "group": GROUP, "liteTopicSet": ["a"]}
    entries = [entry | {"topic": f"t{number}"} for number in range(1_000)]
    body = json.dumps({"subscriptionSet": entries}).encode()
    answer = peer.ask(RequestCode5.LITE_SUBSCRIPTION_CTL, body=body)
    assert answer.code == 2
    asked = [one for one in server.codes() if one == RequestCode.GET_ROUTEINFO_BY_TOPIC]
    assert len(asked) == 100
