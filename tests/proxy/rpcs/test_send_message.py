"""SendMessage: what is stored, what is answered, and what is refused in which order."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.dispatch.faults import Answer
from fakemq.faults.plan import Scope
from fakemq.faults.points import BEFORE_REPLY
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.java import consistent_hash
from fakemq.protocol.message import decode_records
from fakemq.store.results import GetMessageStatus
from tests.support.proxy_lab import ProxyLab, message

TRANSACTION = m.MessageType.TRANSACTION
START_S = 1_767_225_600


def stored(lab: ProxyLab, topic: str, queues: int = 4) -> list[Any]:
    """The messages of a topic."""
    found = []
    for queue in range(queues):
        result = lab.broker.store.get_message("t", topic, queue, 0, 32)
        if result.status is GetMessageStatus.FOUND:
            found += decode_records(result.body)
    return found


def test_message_is_stored_with_its_properties(lab: ProxyLab) -> None:
    asked = lab.client().send(
        message(
            tag="t",
            keys=["a", "b"],
            user={"colour": "red"},
            trace_context="tc",
            born_timestamp=m.Timestamp(seconds=START_S, nanos=5_000_000),
            delivery_attempt=3,
        )
    )
    (entry,) = asked.answer.entries
    assert (asked.code, entry.status.code, entry.message_id) == (20000, 20000, "m1")
    assert (entry.transaction_id, entry.offset, entry.recall_handle) == ("m1", 0, "")
    (one,) = stored(lab, "normal")
    assert one.body == b"x"
    assert one.born_timestamp_ms == START_S * 1000 + 5
    assert one.properties | {"MSG_REGION": "", "TRACE_ON": ""} == {
        "colour": "red",
        "TAGS": "t",
        "KEYS": "a b",
        "UNIQ_KEY": "m1",
        "RECONSUME_TIME": "3",
        "PGROUP": "normal",
        "TRACE_CONTEXT": "tc",
        "__BORNHOST": "10.0.0.9:4002",
        "BORN_TIMESTAMP": str(START_S * 1000 + 5),
        "CLUSTER": "DefaultCluster",
        "MSG_REGION": "",
        "TRACE_ON": "",
    }


def test_sends_go_to_the_queues_in_turn(lab: ProxyLab) -> None:
    client = lab.client()
    for number in range(8):
        client.send(message(id=f"m{number}"))
    assert [one.queue_id for one in stored(lab, "normal")] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_messages_of_a_group_go_to_one_queue(lab: ProxyLab) -> None:
    client = lab.client()
    for _ in range(3):
        assert client.send(message("fifo", message_group="g")).code == 20000
    # Java's String.hashCode of "g" is 103.
    assert {one.queue_id for one in stored(lab, "fifo")} == {consistent_hash(103, 4)}


@pytest.mark.parametrize(
    ("key", "buckets", "bucket"),
    [(0, 1, 0), (103, 4, 1), (-1, 4, 2), (97, 8, 0), (2**31 - 1, 1000, 231), (-(2**31), 16, 2)],
)
def test_consistent_hash_is_that_of_guava(key: int, buckets: int, bucket: int) -> None:
    assert consistent_hash(key, buckets) == bucket


def test_several_messages_are_one_batch(lab: ProxyLab) -> None:
    asked = lab.client().send(message(id="m1"), message(id="m2"))
    (entry,) = asked.answer.entries
    assert (entry.message_id, entry.transaction_id) == ("m1,m2", "m1")
    assert [one.properties["UNIQ_KEY"] for one in stored(lab, "normal")] == ["m1", "m2"]


def test_delayed_messages_are_no_batch(lab: ProxyLab) -> None:
    later = m.Timestamp(seconds=START_S + 60)
    sent = [message("delay", id=one, delivery_timestamp=later) for one in ("m1", "m2")]
    asked = lab.client().send(*sent)
    assert (asked.code, asked.message) == (
        50001,
        (
            "Delayed messages are not supported for batching. UnsupportedOperationException."
            " org.apache.rocketmq.common.message.MessageBatch"
            ".generateFromList(MessageBatch.java:49)"
        ),
    )


def test_message_that_claims_to_be_several_is_illegal(lab: ProxyLab) -> None:
    asked = lab.client().send(message(user={"INNER_NUM": "1"}))
    assert asked.code == 50001
    assert asked.message == (
        "the message is illegal, maybe msg body or properties length not matched."
        " msg body length limit 4194304B, msg properties length limit 32KB."
    )


def test_compressed_body_is_stored_as_it_is(lab: ProxyLab) -> None:
    lab.client().send(message(body_encoding=m.Encoding.GZIP))
    (one,) = stored(lab, "normal")
    assert (one.body, one.sys_flag & 1) == (b"x", 1)


def test_timer_message_has_a_recall_handle(lab: ProxyLab) -> None:
    later = m.Timestamp(seconds=START_S + 60)
    (entry,) = lab.client().send(message("delay", delivery_timestamp=later)).answer.entries
    assert entry.recall_handle
    assert not stored(lab, "delay")
    lab.core.advance(61_000)
    assert len(stored(lab, "delay")) == 1


def test_time_in_the_past_stores_at_once(lab: ProxyLab) -> None:
    before = m.Timestamp(seconds=START_S - 60)
    (entry,) = lab.client().send(message("delay", delivery_timestamp=before)).answer.entries
    assert entry.recall_handle == ""
    assert len(stored(lab, "delay")) == 1


def test_priority_is_the_queue(lab: ProxyLab) -> None:
    lab.client().send(message("prio", priority=2))
    assert [one.queue_id for one in stored(lab, "prio")] == [2]


def test_half_message_is_not_in_its_topic(lab: ProxyLab) -> None:
    asked = lab.client().send(message("tx", message_type=TRANSACTION))
    assert asked.answer.entries[0].transaction_id == "m1"
    assert not stored(lab, "tx")


_TYPE = (
    "org.apache.rocketmq.proxy.common.ProxyException: TopicMessageType validate failed,"
    " the expected type is {}, but actual type is {}"
)
_ILLEGAL = (
    "Timestamp is not valid. See proto definition for valid values. Seconds ({}) must be in range"
    " [-62,135,596,800, +253,402,300,799]. Nanos ({}) must be in range [0, +999,999,999].."
    " IllegalArgumentException. com.google.protobuf.util.Timestamps.checkValid(Timestamps.java:177)"
)


@pytest.mark.parametrize(
    ("sent", "code", "text"),
    [
        ([], 40016, "no message to send"),
        ([message(""), message()], 40002, "The specified topic is blank"),
        ([message(), message("fifo")], 40016, "topic in message is not same"),
        ([message(body=b"")], 41302, "message body cannot be empty"),
        (
            [message(body=b"x" * 4_194_305)],
            41301,
            "message body cannot exceed the max 4194304",
        ),
        (
            [message(user={str(number): "" for number in range(129)})],
            43101,
            "too many user properties, max is 128",
        ),
        ([message(user={"KEYS": "1"})], 40007, "property is used by system: KEYS"),
        (
            [message(user={"a\x01": "1"})],
            40007,
            "the key of property cannot contain control character",
        ),
        (
            [message(user={"a": "1\x7f"})],
            40007,
            "the value of property cannot contain control character",
        ),
        ([message(tag=" ")], 40004, "tag cannot be the char sequence of whitespace"),
        ([message(tag="a|b")], 40004, "tag cannot contain '|'"),
        ([message(tag="a\x02")], 40004, "tag cannot contain control character"),
        ([message(keys=["k", " "])], 40005, "key cannot be the char sequence of whitespace"),
        ([message(keys=["a\x02"])], 40005, "key cannot contain control character"),
        (
            [message(user={"a": "x" * 16_384})],
            43101,
            "the total size of user property is too large, max is 16384",
        ),
        ([message(id="")], 40009, "message id cannot be empty"),
        ([message(id=" ")], 40009, "message id cannot be empty"),
        (
            [
                message(
                    "tx",
                    message_type=TRANSACTION,
                    orphaned_transaction_recovery_duration=m.Duration(seconds=3601),
                )
            ],
            40000,
            "the max transaction recovery time of message is too large, max is 3600",
        ),
        (
            [message("delay", delivery_timestamp=m.Timestamp(seconds=START_S + 90_000))],
            40012,
            "the max delay time of message is too large, max is 86400000",
        ),
        (
            [message("delay", delivery_timestamp=m.Timestamp(seconds=1 << 40))],
            50001,
            _ILLEGAL.format(1 << 40, 0),
        ),
        (
            [message("delay", delivery_timestamp=m.Timestamp(nanos=-1))],
            50001,
            _ILLEGAL.format(0, -1),
        ),
        (
            [message("prio", priority=-1)],
            50001,
            (
                "The priority must be greater than or equal to 0. IllegalArgumentException."
                " org.apache.rocketmq.common.message.Message.setPriority(Message.java:161)"
            ),
        ),
        (
            [message("fifo", message_group=" ")],
            40006,
            "message group cannot be the char sequence of whitespace",
        ),
        (
            [message("fifo", message_group="x" * 64)],
            40006,
            "message group exceed the max size 64",
        ),
        (
            [message("fifo", message_group="x\x02")],
            40006,
            "message group cannot contain control character",
        ),
        (
            [message(lite_topic="a b")],
            40020,
            "lite topic can only contain alphanumeric characters, hyphens(-), and underscores(_)",
        ),
        ([message(lite_topic="x" * 65)], 40020, "lite topic exceed the max size 64"),
        (
            [message(lite_topic=" ")],
            40020,
            "lite topic cannot be the char sequence of whitespace",
        ),
        ([message("unknown")], 40014, _TYPE.format("UNSPECIFIED", "NORMAL")),
        ([message(message_group="g")], 40014, _TYPE.format("NORMAL", "FIFO")),
        ([message(lite_topic="x")], 40014, _TYPE.format("NORMAL", "LITE")),
        ([message("prio")], 40014, _TYPE.format("PRIORITY", "NORMAL")),
        ([message(message_type=TRANSACTION)], 40014, _TYPE.format("NORMAL", "TRANSACTION")),
        (
            [message("%RETRY%g")],
            40402,
            (
                "CODE: 17  DESC: No topic route info in name server for the topic: %RETRY%g\n"
                "For more information, please visit the url,"
                " https://rocketmq.apache.org/docs/bestPractice/06FAQ"
            ),
        ),
    ],
)
def test_wrong_messages_are_refused(lab: ProxyLab, sent: list[Any], code: int, text: str) -> None:
    asked = lab.client().send(*sent)
    assert (asked.code, asked.message) == (code, text)
    assert not asked.answer.entries


def test_topic_that_cannot_be_written_is_refused(lab: ProxyLab) -> None:
    lab.create_topic("ronly", perm=4)
    asked = lab.client().send(message("ronly"))
    assert asked.code == 40300
    assert asked.message == "org.apache.rocketmq.proxy.common.ProxyException: no writable queue"


def test_mixed_topic_takes_every_type(lab: ProxyLab) -> None:
    client = lab.client()
    assert client.send(message("mixed", message_group="g")).code == 20000
    assert client.send(message("mixed", message_type=TRANSACTION)).code == 20000
    assert client.send(message("mixed", priority=1)).code == 20000


# -- brokers that do not answer as they should ------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ResponseCode.SYSTEM_BUSY, 42900),
        (ResponseCode.FLUSH_DISK_TIMEOUT, 50401),
        (ResponseCode.FLUSH_SLAVE_TIMEOUT, 50402),
        (ResponseCode.SLAVE_NOT_AVAILABLE, 50002),
        (ResponseCode.SERVICE_NOT_AVAILABLE, 50001),
    ],
)
def test_faults_of_remoting_codes_act_on_the_front(
    lab: ProxyLab, code: ResponseCode, expected: int
) -> None:
    answer = Answer(code=int(code), remark="why")
    lab.core.faults.place(BEFORE_REPLY, answer, "a code", Scope(code=RequestCode.SEND_MESSAGE_V2))
    assert lab.client().send(message()).code == expected


def test_paused_broker_is_waited_for_two_seconds(lab: ProxyLab) -> None:
    lab.broker.pause()
    asked = lab.client().send(message())
    assert not asked.answers
    lab.core.advance(2_000)
    assert asked.code == 50400
    assert asked.message == "wait response on the channel </127.0.0.1:20000> timeout, 2000(ms)"
    lab.broker.resume()
    assert len(stored(lab, "normal")) == 1  # the broker had the request in its buffers


def test_broker_that_resumes_in_time_answers(lab: ProxyLab) -> None:
    lab.broker.pause()
    asked = lab.client().send(message())
    lab.core.advance(1_000)
    lab.broker.resume()
    assert asked.code == 20000


def test_killed_broker_refuses_the_connection(lab: ProxyLab) -> None:
    lab.broker.kill()
    asked = lab.client().send(message())
    assert asked.code == 50001
    assert asked.message == (
        "connect to 127.0.0.1:20000 failed. RemotingConnectException."
        " org.apache.rocketmq.remoting.netty.NettyRemotingClient"
        ".lambda$invoke$5(NettyRemotingClient.java:817)"
    )


def test_answer_that_comes_while_the_front_is_paused_is_sent_when_it_resumes(
    lab: ProxyLab,
) -> None:
    lab.broker.pause()
    asked = lab.client().send(message())
    lab.proxy.pause()
    lab.broker.resume()
    assert not asked.answers
    lab.proxy.resume()
    assert asked.code == 20000
