"""POP_LITE_MESSAGE, with acknowledgements and invisible times: by real bytes on a frozen clock."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.events import Acknowledged, InvisibleTimeChanged, Popped
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import BrokerLab
from tests.support.lites import (
    GROUP,
    INVISIBLE_MS,
    ack_lite,
    ask_pop,
    bind,
    bodies,
    hide_lite,
    lite_broker,
    long_pop,
    make_parent,
    pop_lite,
    popped,
    queue_of,
    send_lite,
    subscribe,
)
from tests.support.peer import Peer


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    return lite_broker(lab)


def test_pop_returns_messages_of_several_lite_topics(broker: Broker, peer: Peer) -> None:
    subscribe(peer, "a", "b")
    for lite, body in (("a", b"1"), ("b", b"2"), ("a", b"3")):
        send_lite(peer, lite, body)
    answer = ask_pop(peer)
    assert (answer.code, answer.remark) == (0, "FOUND")
    assert bodies(popped(answer)) == [b"1", b"3", b"2"]
    assert answer.ext_fields == {
        "popTime": str(broker.clock.now_ms()),
        "invisibleTime": str(INVISIBLE_MS),
        "reviveQid": "999",
        "orderCountInfo": "0;0;0",
    }


def test_pop_without_a_subscription_finds_nothing(peer: Peer) -> None:
    send_lite(peer, "a")
    answer = ask_pop(peer)
    assert (answer.code, answer.remark) == (210, "NO_MESSAGE_IN_QUEUE")


def test_rest_waits_until_all_of_a_pop_is_acknowledged(peer: Peer, broker: Broker) -> None:
    subscribe(peer, "a")
    for body in (b"1", b"2", b"3"):
        send_lite(peer, "a", body)
    first, second = pop_lite(peer, max_msg_num=2)
    ack_lite(peer, second)
    assert broker.offsets.query(GROUP, queue_of("a"), 0) == 0
    assert pop_lite(peer) == []
    ack_lite(peer, first)
    assert bodies(pop_lite(peer)) == [b"3"]


def test_message_comes_again_after_its_time_and_is_counted(lab: BrokerLab, peer: Peer) -> None:
    subscribe(peer, "a")
    send_lite(peer, "a", b"1")
    pop_lite(peer)
    held = long_pop(peer)
    lab.pass_time(INVISIBLE_MS)
    assert held.response is not None
    assert held.response.ext_fields["orderCountInfo"] == "0 qo0%0 1"


def test_same_attempt_gets_the_same_messages(peer: Peer) -> None:
    subscribe(peer, "a")
    send_lite(peer, "a", b"1")
    pop_lite(peer, attempt_id="one")
    subscribe(peer, "b")  # brings no event of a
    assert pop_lite(peer, attempt_id="one") == []
    peer.ask(RequestCode5.TRIGGER_LITE_DISPATCH, ext_fields={"group": GROUP})
    assert bodies(pop_lite(peer, attempt_id="one")) == [b"1"]


def test_hidden_message_is_visible_at_another_time(lab: BrokerLab, peer: Peer) -> None:
    subscribe(peer, "a")
    send_lite(peer, "a", b"1")
    (message,) = pop_lite(peer)
    answer = hide_lite(peer, message, 1_000)
    assert (answer.code, answer.ext_fields["invisibleTime"]) == (0, "1000")
    lab.pass_time(1_000)
    assert bodies(pop_lite(peer)) == [b"1"]
    assert [one.has_effect for one in lab.journal.find(InvisibleTimeChanged)] == [True]


def test_suspended_message_does_not_count_as_an_attempt(lab: BrokerLab, peer: Peer) -> None:
    subscribe(peer, "a")
    send_lite(peer, "a", b"1")
    pop_lite(peer)
    lab.pass_time(INVISIBLE_MS)
    answer = ask_pop(peer)
    assert answer.ext_fields["orderCountInfo"] == "0 qo0%0 1"
    hide_lite(peer, popped(answer)[0], 1_000, suspend=True)
    lab.pass_time(1_000)
    assert ask_pop(peer).ext_fields["orderCountInfo"] == "0 qo0%0 1"


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"consumer_group": "others"}, 29, "group type or bind topic not match."),
        ({"offset": 9}, 208, "ack offset illegal."),
        ({"offset": 1}, 13, "ack offset illegal."),
        ({"extra_info": "0 1 1 1 0 broker-a 0 0"}, 29, "ack queue illegal."),
    ],
)
def test_acknowledgement_is_refused(
    peer: Peer, fields: dict[str, str | int], code: int, remark: str
) -> None:
    subscribe(peer, "a")
    send_lite(peer, "a")
    (message,) = pop_lite(peer)
    answer = ack_lite(peer, message, **fields)
    assert (answer.code, answer.remark) == (code, remark)


def test_acknowledgement_has_an_effect_once(lab: BrokerLab, peer: Peer) -> None:
    subscribe(peer, "a")
    send_lite(peer, "a")
    (message,) = pop_lite(peer)
    assert [ack_lite(peer, message).code for _ in range(2)] == [0, 0]
    assert [one.has_effect for one in lab.journal.find(Acknowledged)] == [True, False]
    assert [one.topic for one in lab.journal.find(Popped)] == [queue_of("a")]


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"max_msg_num": 33}, 29, "pop message's num is greater than 32"),
        ({"topic": "nowhere"}, 17, "topic [nowhere] not exist"),
        ({"topic": "usual"}, 29, "the topic [usual] message type not match"),
        ({"topic": "other"}, 29, "subscription bind topic not match, agents"),
        ({"consumer_group": "off"}, 16, "subscription group no permission, off"),
    ],
)
def test_pop_is_refused(
    peer: Peer, broker: Broker, fields: dict[str, str | int], code: int, remark: str
) -> None:
    broker.create_topic("usual", 1)
    make_parent(broker, "other")
    bind(broker, "off")
    broker.groups.disable_consume("off")
    answer = ask_pop(peer, **fields)
    assert answer.code == code
    assert remark in (answer.remark or "")
    assert answer.ext_fields["popTime"] == "0"


def test_pop_of_nothing_takes_no_event(peer: Peer) -> None:
    subscribe(peer, "a")
    send_lite(peer, "a", b"1")
    assert pop_lite(peer, max_msg_num=0) == []
    assert bodies(pop_lite(peer)) == [b"1"]


def test_delayed_message_is_in_its_lite_topic_when_it_is_due(lab: BrokerLab, peer: Peer) -> None:
    from tests.support.broker_lab import send_header

    subscribe(peer, "a")
    text = "UNIQ_KEY\x017F0000010000000000000000000000\x02__LITE_TOPIC\x01a\x02DELAY\x011"
    peer.ask(RequestCode.SEND_MESSAGE_V2, send_header("sessions", properties=text), b"1")
    assert pop_lite(peer) == []
    lab.pass_time(1_000)
    assert bodies(pop_lite(peer)) == [b"1"]
