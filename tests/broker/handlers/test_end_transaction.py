"""END_TRANSACTION: commit, rollback, and requests that are refused or not answered."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import HandlerFailed, RequestHandled, TransactionEnded
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.topics import TRANS_OP_HALF_TOPIC
from fakemq.store.puts import put_ended
from fakemq.store.results import PutMessageStatus
from fakemq.store.store import MessageStore
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import TOPIC, send
from tests.support.form import pure_only
from tests.support.peer import Peer
from tests.support.transactions import (
    PRODUCERS,
    ROLLBACK,
    UNKNOWN,
    Half,
    end,
    end_header,
    send_half,
    stored,
)

NOTHING_SAID = "not set any response code"


def ops(broker: Broker) -> list[bytes]:
    return [op.body for op in stored(broker, TRANS_OP_HALF_TOPIC)]


def test_commit_stores_the_message_and_an_op(broker: Broker, peer: Peer) -> None:
    half = send_half(peer, "A", more="TAGS=t,KEYS=k", flag=7, reconsume_times=2)
    assert stored(broker) == []
    response = end(peer, half)
    assert (response.code, response.remark, response.ext_fields) == (0, None, {})
    (message,) = stored(broker)
    assert (message.body, message.tags, message.keys) == (b"body", "t", "k")
    assert (message.sys_flag, message.prepared_transaction_offset) == (8, half.commit_log_offset)
    assert (message.flag, message.reconsume_times) == (7, 2)
    assert message.properties["REAL_TOPIC"] == TOPIC, "said before it was cleared"
    assert message.properties["TRAN_MSG"] == "true"
    assert ops(broker) == [b"0"]
    (ended,) = broker.journal.find(TransactionEnded)
    assert (ended.how, ended.topic, ended.half_offset) == ("commit", TOPIC, 0)
    assert (ended.from_check, ended.msg_id) == (False, "A")


def test_rollback_stores_an_op(broker: Broker, peer: Peer) -> None:
    response = end(peer, send_half(peer), ROLLBACK, from_transaction_check=True)
    assert (response.code, response.remark) == (0, NOTHING_SAID)
    assert (stored(broker), ops(broker)) == ([], [b"0"])
    (ended,) = broker.journal.find(TransactionEnded)
    assert (ended.how, ended.from_check) == ("rollback", True)


@pytest.mark.parametrize("from_check", [False, True])
def test_unknown_state_gets_no_answer(broker: Broker, peer: Peer, from_check: bool) -> None:
    header = end_header(send_half(peer), UNKNOWN, from_transaction_check=from_check)
    answer = peer.send(RequestCode.END_TRANSACTION, header)
    assert not answer.over
    assert [one.response_code for one in broker.journal.find(RequestHandled)] == [0, None]
    assert (stored(broker), ops(broker)) == ([], [])


def test_producers_send_the_end_one_way(broker: Broker, peer: Peer) -> None:
    peer.oneway(RequestCode.END_TRANSACTION, end_header(send_half(peer)))
    assert len(stored(broker)) == 1


@pytest.mark.parametrize(
    "field", ["tranStateTableOffset", "commitLogOffset", "commitOrRollback", "producerGroup"]
)
def test_missing_fields_are_refused(broker: Broker, peer: Peer, field: str) -> None:
    fields = end_header(send_half(peer)).encode()
    del fields[field]
    response = peer.ask(RequestCode.END_TRANSACTION, ext_fields=fields)
    assert response.code == ResponseCode.SYSTEM_ERROR
    if field == "producerGroup":
        assert response.remark == "The producer group wrong"
    else:
        assert (response.remark or "").startswith("java.lang.NullPointerException")
    assert not broker.journal.find(HandlerFailed)
    assert peer.ask(RequestCode.END_TRANSACTION).code == ResponseCode.SYSTEM_ERROR


def test_offset_without_a_half_message_is_refused(broker: Broker, peer: Peer) -> None:
    send(peer)
    response = end(peer, Half(0, 0))
    assert (response.remark or "").startswith("java.lang.NullPointerException")
    for properties in (f"PGROUP\x01{PRODUCERS}", f"PGROUP\x01{PRODUCERS}\x02REAL_QID\x010"):
        header = send_header(TOPIC, properties=properties)
        sent = peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"x").ext_fields
        place = Half(int(sent["queueOffset"]), int(sent["msgId"][16:], 16))
        response = end(peer, place)
        assert response.code == ResponseCode.SYSTEM_ERROR
        assert (response.remark or "").startswith("java.lang.N")
        assert ops(broker) == []
    assert end(peer, place, ROLLBACK).code == 0, "a rollback looks at no topic"
    assert not broker.journal.find(HandlerFailed)


def test_slave_refuses(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(broker_role="SLAVE", broker_id=1))
    response = end(lab.peer(broker.addr), Half(0, 0))
    assert (response.code, response.remark) == (ResponseCode.SLAVE_NOT_AVAILABLE, NOTHING_SAID)


@pure_only
@pytest.mark.parametrize(
    ("status", "code", "remark"),
    [
        (PutMessageStatus.CREATE_MAPEDFILE_FAILED, 1, "Create mapped file failed."),
        (
            PutMessageStatus.MESSAGE_ILLEGAL,
            13,
            (
                "The message is illegal, maybe msg body or properties length not matched."
                " msg body length limit 4194304B, msg properties length limit 32KB."
            ),
        ),
        (PutMessageStatus.SERVICE_NOT_AVAILABLE, 14, "Service not available now."),
        (
            PutMessageStatus.OS_PAGECACHE_BUSY,
            1,
            "OS page cache busy, please try another machine",
        ),
        (PutMessageStatus.UNKNOWN_ERROR, 1, "UNKNOWN_ERROR"),
        (PutMessageStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED, 1, "UNKNOWN_ERROR DEFAULT"),
    ],
)
def test_refusal_of_the_store_is_answered(
    broker: Broker,
    peer: Peer,
    monkeypatch: pytest.MonkeyPatch,
    status: PutMessageStatus,
    code: int,
    remark: str,
) -> None:
    half = send_half(peer)
    with monkeypatch.context() as patch:
        patch.setattr(MessageStore, "put_message", lambda store, message: put_ended(status))
        response = end(peer, half)
    assert (response.code, response.remark) == (code, remark)
    assert ops(broker) == [], "it is not through"


def test_full_store_is_answered_with_its_reason(lab: BrokerLab) -> None:
    broker = lab.broker(memory_limit_bytes=1000)
    peer = lab.peer(broker.addr)
    response = end(peer, send_half(peer, body=b"x" * 500))
    assert response.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert (response.remark or "").startswith("Service not available now. Here the memory limit")


def test_wrong_kind_of_end_is_an_exception_and_answered_in_json(peer: Peer) -> None:
    response = peer.ask(
        RequestCode.END_TRANSACTION,
        ext_fields={"commitOrRollback": "4"},
        serialize_type=SerializeType.ROCKETMQ,
    )
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        (
            "org.apache.rocketmq.remoting.exception.RemotingCommandException:"
            " commitOrRollback field wrong, org.apache.rocketmq.common.protocol.header"
            ".EndTransactionRequestHeader.checkFields(EndTransactionRequestHeader.java:60)"
        ),
    )
    assert response.serialize_type is SerializeType.JSON
