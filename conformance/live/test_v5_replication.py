"""A Java slave of our master of 5.5.0, and our slave of a Java master; then the slave takes over.

While both run, everything of the slave is its master's: log, queues, messages and tables. After the
master's death its slave continues: what was popped and not acknowledged comes again, timers
and delayed messages come, once each, and the transaction that is open can be committed.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conformance.live.groups import CROWDED
from conformance.targets.java_cluster import JavaBroker, wait_until
from conformance.targets.java_jars import NEWEST
from conformance.targets.master_slave_pairs import QUICK_REPORT, FakeBroker, Pair, pair
from conformance.targets.replicas import Node, assert_same_stores
from conformance.wire.pops import handles, pop_fields
from conformance.wire.raw import RawConnection, call, create_topic, frame, json_header, split
from conformance.wire.requests import (
    group_config,
    producer_heartbeat,
    properties,
    pull_fields,
    send_back_fields,
    send_v2_fields,
    texts,
)
from fakemq.protocol import fastjson
from fakemq.protocol.layout.timer_codecs import TIMER_CHECKPOINT
from fakemq.protocol.message import decode_records
from fakemq.protocol.sysflag import MessageSysFlag

# A slave fetches all tables 61 s after its start, and what is popped then becomes visible later.
pytestmark = [pytest.mark.slow, CROWDED]

WAYS = {"java-slave": ("fake", "java"), "fake-slave": ("java", "fake")}
CONFIG = {
    **QUICK_REPORT,
    "brokerRole": "SYNC_MASTER",
    "inSyncReplicas": "2",
    "slaveTimeout": "20000",
    "slaveReadEnable": "true",
    "mappedFileSizeCommitLog": str(256 << 10),
    "mappedFileSizeConsumeQueue": "4000",
    "mappedFileSizeTimerLog": str(1 << 20),
    "messageDelayLevel": "1s 85s",
    "transactionCheckInterval": "3600000",
}
TOPIC, ORDERED, GROUP, PRODUCER = "Replicated", "Ordered", "GReplicated", "PReplicated"
SEND, POP, ACK, END_TRANSACTION, HEART_BEAT = 310, 200_050, 200_051, 37, 34
UPDATE_GROUP, SET_MODE, FORBID = 200, 401, 353
COMMIT = 8
OUT_S = 85
"""How long what is popped is out, and how long timers wait: the slave takes over before."""
IN_STEP_S = 60.0
SYNC_S = 120.0
AGAIN_S = 90.0
QUIET_S = 6.0
"""After everything has come, for what should not come."""
TABLES = {"topics": 21, "offsets": 43, "delays": 45, "groups": 201, "modes": 402, "timers": 61}
_CHECKPOINT = 60


class Half(NamedTuple):
    """A half message that is not ended yet."""

    msg_id: str
    transaction_id: str
    queue_offset: int


# -- what happens at the master ---------------------------------------------------------------


def make_tables(addr: str) -> None:
    """Topics with attributes, a group with a retry policy, a mode, and what is forbidden."""
    create_topic(addr, TOPIC, 2, attributes="+message.type=DELAY")
    create_topic(addr, ORDERED, 1, attributes="+message.type=FIFO")
    policy = {"initial": 1_000, "max": 60_000, "multiplier": 3}
    group = group_config(GROUP) | {
        "retryMaxTimes": 3,
        "groupRetryPolicy": {"type": "EXPONENTIAL", "exponentialRetryPolicy": policy},
    }
    ok(addr, UPDATE_GROUP, body=json.dumps(group).encode())
    mode = {"topic": TOPIC, "consumerGroup": GROUP, "mode": "POP", "popShareQueueNum": 1}
    ok(addr, SET_MODE, body=json.dumps(mode).encode())
    ok(addr, FORBID, {"group": "GForbidden", "topic": TOPIC, "readable": "false"})


def ok(
    addr: str, code: int, fields: dict[str, str] | None = None, body: bytes = b""
) -> dict[str, Any]:
    """Ask, and return the header of an answer that is a success."""
    header: dict[str, Any] = json_header(call(addr, frame(code, fields or {}, body)))
    assert header["code"] == 0, (code, header)
    return header


def send(addr: str, body: bytes, topic: str = TOPIC, **pairs: str) -> dict[str, Any]:
    return ok(addr, SEND, texts(send_v2_fields(topic, i=properties(**pairs))), body)


def send_half(addr: str) -> Half:
    unique_id = "AC110001000018B4AAC27E5E1C2D0009"
    text = properties(TRAN_MSG="true", PGROUP=PRODUCER, UNIQ_KEY=unique_id)
    fields = send_v2_fields(TOPIC, a=PRODUCER, f=MessageSysFlag.TRANSACTION_PREPARED_TYPE, i=text)
    said = ok(addr, SEND, texts(fields), b"committed")["extFields"]
    return Half(said["msgId"], unique_id, int(said["queueOffset"]))


def commit(addr: str, half: Half) -> None:
    place = int(half.msg_id[16:], 16)
    fields = {
        "producerGroup": PRODUCER,
        "tranStateTableOffset": half.queue_offset,
        "commitLogOffset": place,
        "commitOrRollback": COMMIT,
        "fromTransactionCheck": False,
        "msgId": half.transaction_id,
        "transactionId": half.transaction_id,
    }
    with RawConnection(addr) as connection:
        beat = json.dumps(producer_heartbeat("127.0.0.1@commits", PRODUCER)).encode()
        assert json_header(connection.call(frame(HEART_BEAT, {}, beat)))["code"] == 0
        header = json_header(connection.call(frame(END_TRANSACTION, texts(fields))))
    assert header["code"] == 0, header


def pop(addr: str, topic: str = TOPIC, **more: object) -> list[tuple[bytes, dict[str, object]]]:
    """Pop; return each body with the fields that acknowledge it."""
    fields = pop_fields(topic, consumerGroup=GROUP, invisibleTime=OUT_S * 1_000) | more
    answer = call(addr, frame(POP, texts(fields)))
    header, (_, _, records) = json_header(answer), split(answer)
    if header["code"] != 0:
        return []
    said = header["extFields"]
    assert isinstance(said, dict)
    acks = [one.fields(topic, consumerGroup=GROUP) for one in handles(said, records)]
    bodies = [one.body for one in decode_records(records)]
    return list(zip(bodies, acks, strict=True))


def pop_all(addr: str, count: int, topic: str, **more: object) -> list[dict[str, object]]:
    """Pop until there are ``count`` messages: a Java broker fills its queues a moment later."""
    found: list[tuple[bytes, dict[str, object]]] = []

    def has_all() -> bool:
        found.extend(pop(addr, topic, maxMsgNums=count - len(found), **more))
        return len(found) == count

    wait_until(has_all, IN_STEP_S)
    return [fields for _, fields in sorted(found, key=lambda one: one[0])]


def load(addr: str) -> Half:
    """Bring everything under way."""
    send(addr, b"delayed", DELAY="2")
    send(addr, b"timed", TIMER_DELAY_SEC=str(OUT_S))
    send(addr, b"timed-later", TIMER_DELAY_SEC="7200")
    for body in (b"1-acknowledged", b"2-popped"):
        send(addr, body)
    acks = pop_all(addr, 2, TOPIC)
    ok(addr, ACK, texts(acks[0]))
    for number in range(3):
        send(addr, b"ordered-%d" % number, ORDERED)
    first, *_ = pop_all(addr, 3, ORDERED, order=True, queueId=0)
    ok(addr, ACK, texts(first))
    return send_half(addr)


# -- what is the same -------------------------------------------------------------------------


def tables(addr: str) -> dict[str, Any]:
    """Return what a broker answers to its slave, but for what no slave takes over."""
    found: dict[str, Any] = {}
    for name, code in TABLES.items():
        found[name] = fastjson.loads(split(call(addr, frame(code, {})))[2])
    del found["groups"]["forbiddenTable"]
    del found["offsets"]["pullOffsetTable"]
    for topics in found["offsets"]["groupTopicMap"].values():
        topics.sort()
    return found


def progress(addr: str) -> tuple[int, int]:
    """Return up to where timers are delivered, and have units at the master."""
    body = split(call(addr, frame(_CHECKPOINT, {})))[2]
    last_read_ms, _, _, master_offset, *_ = TIMER_CHECKPOINT.unpack(body)
    return last_read_ms, master_offset


def assert_same_tables(master: str, slave: str) -> None:
    with suppress(TimeoutError):
        wait_until(lambda: tables(slave) == tables(master), SYNC_S)
    theirs = tables(slave)
    for name, table in tables(master).items():
        assert theirs[name] == table, name
    # Of Java's masters, records of POP have units, too.
    wait_until(lambda: progress(slave)[1] == progress(master)[1] >= 2, IN_STEP_S)
    behind_ms = progress(master)[0] - progress(slave)[0]
    assert 0 <= behind_ms < 10_000


def node(nodes: Pair, broker: object) -> Node:
    if isinstance(broker, JavaBroker):
        return Node(nodes.namesrv_addr, broker.addr, broker.store)
    assert isinstance(broker, FakeBroker)
    return Node(nodes.namesrv_addr, broker.addr, Path(broker.config["storePathRootDir"]))


# -- what a slave answers ---------------------------------------------------------------------


def slave_answers(addr: str) -> list[str]:
    """Return what a slave answers to requests that change something, or read; without numbers."""
    handle = "0 1700000000000 60000 0 0 broker-a 0 0"
    at_zero = {"consumerGroup": "GSlave", "topic": TOPIC, "queueId": "0", "offset": "0"}
    poll = {"consumerGroup": "GSlave", "topic": TOPIC, "queueId": "0", "pollTime": "0"}
    asked: list[tuple[int, Mapping[str, object], bytes]] = [
        (SEND, send_v2_fields(TOPIC), b"body"),
        (36, send_back_fields("GSlave", 0), b""),
        (30, {"topic": TOPIC, "queueId": 0}, b""),
        (14, {"topic": TOPIC, "queueId": 0, "consumerGroup": GROUP}, b""),
        (11, pull_fields(TOPIC, consumerGroup="GSlave"), b""),
        (POP, pop_fields(TOPIC, consumerGroup="GSlave"), b""),
        (POP, pop_fields(ORDERED, consumerGroup="GSlave", order=True, queueId=0), b""),
        (ACK, at_zero | {"extraInfo": handle}, b""),
        (200_053, at_zero | {"extraInfo": handle, "invisibleTime": "60000"}, b""),
        (200_052, at_zero | {"maxMsgNums": "3"}, b""),
        (200_054, poll | {"bornTime": "0"}, b""),
        (200_055, poll, b""),
        (370, {"topic": TOPIC, "recallHandle": "x"}, b""),
    ]
    return [f"{code}: {answer(addr, code, fields, body)}" for code, fields, body in asked]


def answer(addr: str, code: int, fields: Mapping[str, object], body: bytes) -> str:
    header: dict[str, Any] = json_header(call(addr, frame(code, texts(fields), body)))
    remark = re.sub(r"[0-9][0-9.:]+", "N", str(header.get("remark")))
    names = sorted(header.get("extFields") or {})
    return f"{header['code']} {remark!r} {names}"


# -- the run ----------------------------------------------------------------------------------


def take_over(nodes: Pair) -> None:
    """Let the master die, and start its slave as the master, on the same store."""
    _, master, slave = nodes
    master.kill()
    slave.stop()
    slave.config |= {"brokerRole": "ASYNC_MASTER", "brokerId": "0"}
    slave.start()


def what_comes(addr: str, half: Half) -> list[bytes]:
    """Commit the transaction, and return all that a consumer gets then."""
    commit(addr, half)
    came: list[bytes] = []
    ordered: list[bytes] = []

    def has_all() -> bool:
        came.extend(body for body, _ in pop(addr, invisibleTime=600_000))
        for body, fields in pop(addr, ORDERED, order=True, queueId=0, invisibleTime=600_000):
            ordered.append(body)
            ok(addr, ACK, texts(fields))
        return len(came) >= 4 and len(ordered) >= 2

    wait_until(has_all, AGAIN_S)
    quiet_until = time.monotonic() + QUIET_S
    wait_until(lambda: bool(has_all()) and time.monotonic() > quiet_until, AGAIN_S)
    return sorted(came) + ordered


def run(way: str, home: Path) -> tuple[list[str], list[bytes]]:
    """Return what the slave answered, and what came when it was the master."""
    master_kind, slave_kind = WAYS[way]
    home.mkdir()
    with pair(master_kind, slave_kind, home, CONFIG, NEWEST) as nodes:
        _, master, slave = nodes
        make_tables(master.addr)
        slave.start()
        half = load(master.addr)
        assert_same_stores(node(nodes, master), node(nodes, slave))
        assert_same_tables(master.addr, slave.addr)
        answers = slave_answers(slave.addr)
        take_over(nodes)
        return answers, what_comes(slave.addr, half)


def test_slave_has_all_of_its_master_and_takes_over(java: None, tmp_path: Path) -> None:
    def run_one(way: str) -> tuple[list[str], list[bytes]]:
        try:
            return run(way, tmp_path / way)
        except BaseException as error:
            error.add_note(f"way: {way}")
            raise

    with ThreadPoolExecutor(len(WAYS)) as pool:
        runs = list(pool.map(run_one, WAYS))
    (javas, _), (ours, _) = runs
    assert ours == javas
    for _, came in runs:
        assert came == [
            *(b"2-popped", b"committed", b"delayed", b"timed"),
            *(b"ordered-1", b"ordered-2"),
        ]
