"""Replies to request messages: pushed, stored, answered; as a real broker was seen to do."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import HandlerFailed
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.message import MessageExt
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.topics import SCHEDULE_TOPIC
from tests.support.broker_lab import BrokerLab, send_header, v1
from tests.support.clients import beat
from tests.support.peer import Answer, Peer
from tests.support.time import START_MS

REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC"
TO_ASKER = "REPLY_TO_CLIENT\x01asker@1\x02CORRELATION_ID\x01c1\x02TTL\x013000\x02WAIT\x01true"
MARKS = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    return lab.broker()


@pytest.fixture
def asker(lab: BrokerLab, broker: Broker) -> Peer:
    """A producer that waits for a reply, as one behind a socket."""
    peer = lab.outside_peer(broker, "asker")
    beat(peer, "asker@1", producers=["askers"])
    return peer


def reply(peer: Peer, properties: str = TO_ASKER, **fields: str | int) -> Answer:
    header = send_header(REPLY_TOPIC, properties=properties, **fields)
    return peer.send(RequestCode.SEND_REPLY_MESSAGE_V2, header, b"the reply", timeout_ms=10**9)


def response(answer: Answer) -> RemotingCommand:
    assert answer.response is not None
    return answer.response


def stored(broker: Broker, topic: str = REPLY_TOPIC, queue_id: int = 0) -> list[MessageExt]:
    return list(broker.store.messages_in_queue(topic, queue_id))


def test_reply_is_pushed_then_stored_then_answered(broker: Broker, peer: Peer, asker: Peer) -> None:
    answer = reply(peer, flag=7, sys_flag=MessageSysFlag.COMPRESSED)
    assert not answer.over
    assert stored(broker) == []
    push = asker.answer()
    assert push.code == RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT
    assert push.body == b"the reply"
    assert not push.is_oneway
    assert push.ext_fields == {
        "producerGroup": "producers",
        "topic": REPLY_TOPIC,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "queueId": "0",
        "sysFlag": "1",
        "bornTimestamp": str(START_MS - 5),
        "flag": "7",
        # In the order of Java's hash map.
        "properties": f"PUSH_REPLY_TIME\x01{START_MS}\x02REPLY_TO_CLIENT\x01asker@1"
        "\x02TTL\x013000\x02WAIT\x01true\x02CORRELATION_ID\x01c1",
        "reconsumeTimes": "0",
        "unitMode": "false",
        "bornHost": "127.0.0.1:1",
        "storeHost": "127.0.0.1:10911",
        "storeTimestamp": str(START_MS),
    }
    (message,) = stored(broker)
    assert message.body == b"the reply"
    assert message.properties_string == TO_ASKER, "as it was sent, nothing added or taken"
    assert (message.flag, message.sys_flag) == (7, 0), "what is compressed is not said so"
    assert (response(answer).code, response(answer).remark) == (ResponseCode.SUCCESS, None)
    assert response(answer).ext_fields == MARKS | {
        "msgId": message.offset_msg_id,
        "queueId": "0",
        "queueOffset": "0",
    }


@pytest.mark.parametrize("form", list(SerializeType))
def test_push_is_json_for_every_client(
    lab: BrokerLab, broker: Broker, peer: Peer, form: SerializeType
) -> None:
    asker = lab.outside_peer(broker, "asker")
    beat(asker, "asker@1", producers=["askers"])
    header = send_header(REPLY_TOPIC, properties=TO_ASKER)
    command = RemotingCommand(
        RequestCode.SEND_REPLY_MESSAGE_V2, ext_fields=header.encode(), serialize_type=form
    )
    answer = peer.send_command(command)
    assert asker.answer(serialize_type=form).serialize_type is SerializeType.JSON
    assert response(answer).code == ResponseCode.SUCCESS
    assert response(answer).serialize_type is form


def test_long_header_is_code_324(broker: Broker, peer: Peer, asker: Peer) -> None:
    header = v1(send_header(REPLY_TOPIC, properties=TO_ASKER))
    answer = peer.send(RequestCode.SEND_REPLY_MESSAGE, header, b"x")
    assert asker.answer().ext_fields["topic"] == REPLY_TOPIC
    assert response(answer).code == ResponseCode.SUCCESS
    assert len(stored(broker)) == 1


@pytest.mark.parametrize(
    ("properties", "remark"),
    [
        ("TAGS\x01t", "reply message properties[REPLY_TO_CLIENT] is null"),
        ("", "reply message properties[REPLY_TO_CLIENT] is null"),
        (
            "REPLY_TO_CLIENT\x01absent",
            "push reply message fail, channel of <absent> not found.",
        ),
    ],
)
def test_reply_without_a_receiver_is_stored(
    broker: Broker, peer: Peer, asker: Peer, properties: str, remark: str
) -> None:
    answer = response(reply(peer, properties))
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, remark)
    (message,) = stored(broker)
    assert answer.ext_fields["msgId"] == message.offset_msg_id
    assert asker.requests == []


def test_refusal_of_the_client_is_answered(broker: Broker, peer: Peer, asker: Peer) -> None:
    answer = reply(peer)
    asker.answer(1, remark="no")
    assert (response(answer).code, response(answer).remark) == (
        ResponseCode.SYSTEM_ERROR,
        "push reply message to asker@1fail.",
    )
    assert len(stored(broker)) == 1


@pytest.mark.parametrize("lost", [False, True])
def test_silent_or_closed_client_has_10_s(
    lab: BrokerLab, broker: Broker, peer: Peer, asker: Peer, lost: bool
) -> None:
    answer = reply(peer)
    if lost:
        asker.close()
    lab.outside_time_passes(9_999)
    assert not answer.over
    assert stored(broker) == [], "it is stored when the push is over"
    lab.outside_time_passes(1)
    assert response(answer).remark == "push reply message to asker@1fail."
    assert len(stored(broker)) == 1


def test_client_that_leaves_any_group_gets_no_replies(
    broker: Broker, peer: Peer, asker: Peer
) -> None:
    beat(asker, "asker@1", producers=["others"])
    fields = {"clientID": "asker@1", "producerGroup": "others"}
    asker.ask(RequestCode.UNREGISTER_CLIENT, ext_fields=fields)
    assert "channel of <asker@1> not found" in (response(reply(peer)).remark or "")


def test_replies_need_not_be_stored(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(store_reply_message_enable=False, listen_port=10931))
    peer, asker = lab.peer(broker.addr), lab.outside_peer(broker)
    beat(asker, "asker@1", producers=["askers"])
    answer = reply(peer)
    asker.answer()
    # Java's client could not decode an answer without the fields.
    assert response(answer).ext_fields == MARKS | {
        "msgId": "0",
        "queueId": "0",
        "queueOffset": "0",
    }
    assert response(reply(peer, "")).ext_fields == MARKS
    assert stored(broker) == []


def test_refusal_of_the_store_is_no_failure(broker: Broker, peer: Peer, asker: Peer) -> None:
    answer = reply(peer, TO_ASKER + "\x02long\x01" + "y" * 32_768)
    asker.answer()
    assert response(answer).code == ResponseCode.SUCCESS
    assert response(answer).ext_fields["msgId"] == "0"
    assert stored(broker) == []


def test_reply_may_have_any_topic_and_queue(broker: Broker, peer: Peer, asker: Peer) -> None:
    broker.create_topic("answers", 3)
    for queue_id in (2, -1):
        header = send_header("answers", properties="", queue_id=queue_id)
        answer = peer.ask(RequestCode.SEND_REPLY_MESSAGE_V2, header, b"x")
        assert answer.ext_fields["queueId"] in ("0", "1", "2")
    assert sum(len(stored(broker, "answers", queue_id)) for queue_id in range(3)) == 2


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        (
            {"topic": "SCHEDULE_TOPIC_XXXX"},
            ResponseCode.NO_PERMISSION,
            "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden.",
        ),
        ({"topic": ""}, ResponseCode.SYSTEM_ERROR, "The specified topic is blank."),
        (
            {"queue_id": 5},
            ResponseCode.SYSTEM_ERROR,
            (
                "request queueId[5] is illegal, TopicConfig [topicName=DefaultCluster_REPLY_TOPIC,"
                " readQueueNums=1, writeQueueNums=1, perm=RW-, topicFilterType=SINGLE_TAG,"
                " topicSysFlag=0, order=false] Producer: memory:1"
            ),
        ),
    ],
)
def test_reply_is_checked_like_a_send(
    broker: Broker,
    peer: Peer,
    asker: Peer,
    fields: dict[str, str | int],
    code: ResponseCode,
    remark: str,
) -> None:
    header = send_header(**({"topic": REPLY_TOPIC, "properties": TO_ASKER} | fields))  # type: ignore[arg-type]
    answer = peer.ask(RequestCode.SEND_REPLY_MESSAGE_V2, header)
    assert (answer.code, answer.remark, answer.ext_fields) == (code, remark, MARKS)
    assert asker.requests == []


def test_missing_fields_are_refused(broker: Broker, peer: Peer, asker: Peer) -> None:
    header = send_header(REPLY_TOPIC, properties=TO_ASKER)
    del header.__dict__["producer_group"]
    answer = peer.send(RequestCode.SEND_REPLY_MESSAGE_V2, header)
    assert "producerGroup" not in asker.answer().ext_fields
    assert response(answer).code == ResponseCode.SUCCESS
    for code in (RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2):
        assert peer.ask(code).remark == "The specified topic is blank."
    assert broker.journal.find(HandlerFailed) == []


@pytest.mark.parametrize("silent", [False, True])
def test_invalid_delay_fails_the_reply_after_the_push(
    lab: BrokerLab, broker: Broker, peer: Peer, asker: Peer, silent: bool
) -> None:
    answer = reply(peer, TO_ASKER + "\x02DELAY\x01soon")
    if silent:
        lab.outside_time_passes(10_000)
    else:
        asker.answer()
    assert response(answer).code == ResponseCode.SYSTEM_ERROR
    assert (response(answer).remark or "").startswith(
        'java.lang.NumberFormatException: For input string: "soon", '
    )
    assert stored(broker) == []
    assert not asker.session.closed
    assert broker.journal.find(HandlerFailed) == []


def test_delayed_reply_is_stored_with_the_time_of_its_push(
    broker: Broker, peer: Peer, asker: Peer
) -> None:
    answer = reply(peer, TO_ASKER + "\x02DELAY\x013")
    asker.answer()
    assert response(answer).ext_fields["queueId"] == "0"
    (message,) = stored(broker, SCHEDULE_TOPIC, 2)
    assert message.properties["PUSH_REPLY_TIME"] == str(START_MS)


def test_replies_are_counted_by_topic_and_not_by_queue(
    broker: Broker, peer: Peer, asker: Peer
) -> None:
    reply(peer, TO_ASKER + "\x02DELAY\x013")
    asker.answer()
    assert broker.stats.snapshots("TOPIC_PUT_NUMS", SCHEDULE_TOPIC) is not None
    assert broker.stats.snapshots("QUEUE_PUT_NUMS", f"{SCHEDULE_TOPIC}@2") is None
    assert broker.stats.snapshots("QUEUE_PUT_NUMS", f"{SCHEDULE_TOPIC}@0") is None
