"""Producers of transactional messages, as a broker meets them."""

from __future__ import annotations

from typing import Any, NamedTuple

from fakemq.broker.broker import Broker
from fakemq.broker.sending.transactions import CID_SYS_RMQ_TRANS
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.header import Header
from fakemq.protocol.headers.transaction import (
    CheckTransactionStateRequestHeader,
    EndTransactionRequestHeader,
)
from fakemq.protocol.message import MessageExt, decode_record
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.topics import (
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)
from fakemq.store.inner_message import inner_message
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import TOPIC, beat
from tests.support.peer import Peer

PRODUCERS = "accounts"
COMMIT = MessageSysFlag.TRANSACTION_COMMIT_TYPE
ROLLBACK = MessageSysFlag.TRANSACTION_ROLLBACK_TYPE
UNKNOWN = MessageSysFlag.TRANSACTION_NOT_TYPE


class Half(NamedTuple):
    """Where a half message is."""

    offset: int
    commit_log_offset: int


def send_half(
    peer: Peer, key: str = "K", *, body: bytes = b"body", more: str = "", **fields: str | int
) -> Half:
    """Send a half message for `TOPIC`; ``more`` are properties, ``name=value`` with commas."""
    pairs = [f"UNIQ_KEY={key}", "WAIT=true", "TRAN_MSG=true", f"PGROUP={PRODUCERS}"]
    pairs += more.split(",") if more else []
    properties = "\x02".join(pair.replace("=", "\x01") for pair in pairs)
    values: dict[str, str | int | bool] = {
        "properties": properties,
        "producer_group": PRODUCERS,
        "sys_flag": MessageSysFlag.TRANSACTION_PREPARED_TYPE,
        "born_timestamp": peer.clock.now_ms(),
    }
    header = send_header(TOPIC, **(values | fields))
    response = peer.ask(RequestCode.SEND_MESSAGE_V2, header, body)
    assert response.code == 0, response
    found = response.ext_fields
    return Half(int(found["queueOffset"]), int(found["msgId"][16:], 16))


def end_header(half: Half, how: int = COMMIT, **fields: str | int | bool) -> Header:
    values: dict[str, Any] = {
        "producer_group": PRODUCERS,
        "tran_state_table_offset": half.offset,
        "commit_log_offset": half.commit_log_offset,
        "commit_or_rollback": how,
        "msg_id": "K",
    }
    return EndTransactionRequestHeader(**(values | fields))


def end(peer: Peer, half: Half, how: int = COMMIT, **fields: str | int | bool) -> RemotingCommand:
    """End a transaction and wait for the answer, which real producers do not."""
    return peer.ask(RequestCode.END_TRANSACTION, end_header(half, how, **fields))


class Check(NamedTuple):
    """What a broker asks."""

    half: Half
    header: CheckTransactionStateRequestHeader
    message: MessageExt


def asked(peer: Peer) -> list[Check]:
    """What the broker has asked this producer since the last look."""
    requests, peer.requests = peer.requests, []
    found = []
    for request in requests:
        assert request.code == RequestCode.CHECK_TRANSACTION_STATE
        assert request.is_oneway
        header = CheckTransactionStateRequestHeader.decode(request.ext_fields)
        half = Half(header.tran_state_table_offset, header.commit_log_offset)
        found.append(Check(half, header, decode_record(request.body)))
    return found


def pass_check(lab: BrokerLab) -> None:
    """Let time pass until the next look at half messages, or until the present one wakes."""
    timers = [one for one in lab.clock.timers() if one.kind.startswith("txn_check")]
    lab.pass_time(min(map(lab.clock.due_in_ms, timers)))


def stored(broker: Broker, topic: str = TOPIC) -> list[MessageExt]:
    """The messages of a topic's first queue."""
    return list(broker.store.messages_in_queue(topic, 0))


def halves(broker: Broker) -> list[MessageExt]:
    return stored(broker, TRANS_HALF_TOPIC)


def discarded(broker: Broker) -> list[MessageExt]:
    return stored(broker, TRANS_CHECK_MAX_TIME_TOPIC)


def producer(lab: BrokerLab, broker: Broker, client_id: str = "one") -> Peer:
    """A producer of the group, which has said so."""
    peer = lab.peer(broker.addr, client_id)
    beat(peer, client_id, producers=[PRODUCERS])
    return peer


def progress(broker: Broker) -> tuple[int, int]:
    """How far checks have come with half messages and ops."""
    half, op = (
        broker.offsets.query(CID_SYS_RMQ_TRANS, topic, 0)
        for topic in (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC)
    )
    return half, op


def put(broker: Broker, topic: str, body: bytes, tags: str = "d") -> None:
    broker.put(
        inner_message(
            topic, 0, body, properties={"TAGS": tags}, properties_string=f"TAGS\x01{tags}"
        )
    )
