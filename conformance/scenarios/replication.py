"""Slaves, played over their own protocol, and the statuses of sends beside them."""

from __future__ import annotations

import json
import socket
import struct

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.popping import FIVE
from conformance.wire.peer import Answer
from conformance.wire.requests import (
    GROUP,
    group_config,
    offset_fields,
    properties,
    send_v2_fields,
    topic_fields,
)
from fakemq.protocol import fastjson
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5

SYNC_MASTER = {"brokerRole": "SYNC_MASTER"}
BEYOND = 1 << 60
"""More than any log has."""
QUIET_S = 1.0
"""How long a master has to do what it does about a report."""
_INT64 = struct.Struct(">q")
_HEADER = struct.Struct(">qi")


@scenario(
    "replication: a slave that says first that it has more than its master", config=SYNC_MASTER
)
def first_report_beyond_the_end(run: Run) -> None:
    topic = run.topic("SBeyond")
    run.note("no slave is there")
    _send(run, topic, "is it safe?")
    host, _, port = run.addrs["broker-a ha"].rpartition(":")
    with socket.create_connection((host, int(port)), QUIET_S) as slave:
        run.note(f"a slave reports {BEYOND}")
        slave.sendall(_INT64.pack(BEYOND))
        run.note(f"its master {_reaction(slave)}")
        _send(run, topic, "is it now?")


def _reaction(slave: socket.socket) -> str:
    """Return what an idle master does."""
    try:
        data = slave.recv(1 << 16)
    except TimeoutError:
        return "says nothing"
    return f"sends {data.hex()}" if data else "hangs up"


def _send(run: Run, topic: str, body: str) -> None:
    fields = send_v2_fields(topic, i=properties(WAIT="true"))
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, body, peer="producer")


@scenario(
    "replication: how many slaves a send waits for",
    config={**SYNC_MASTER, "inSyncReplicas": "2", "slaveTimeout": "1000"},
    releases=FIVE,
)
def in_sync_replicas(run: Run) -> None:
    topic = run.topic("SInSync")
    run.note("no slave is there")
    code, fields = RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic, i=properties(WAIT="true"))
    pending = run.send("broker-a", code, fields, "without a slave", peer="producer")
    run.answer_within(pending, 3_000)
    host, _, port = run.addrs["broker-a ha"].rpartition(":")
    with socket.create_connection((host, int(port)), 10.0) as slave:
        run.note("a slave that has nothing")
        slave.sendall(_INT64.pack(0))
        end = _follow(slave, 0)
        run.note("it is sent the log from its begin, and reports it")
        slave.sendall(_INT64.pack(end))
        text = properties(WAIT="true", UNIQ_KEY="AC110001000018B4AAC27E5E1C2D0001")
        fields = send_v2_fields(topic, i=text)
        pending = run.send("broker-a", code, fields, "with a slave", peer="producer")
        grown = _follow(slave, end)
        run.note(f"the log grows by {grown - end} bytes")
        slave.sendall(_INT64.pack(grown))
        pending.answer()
        run.note("it reports no more")
        _send(run, topic, "with a silent slave")
        run.note("no caller waits for this one")
        fields = send_v2_fields(topic, i=properties(WAIT="false"))
        run.ask("broker-a", code, fields, "at once", peer="producer")


def _follow(slave: socket.socket, begin: int) -> int:
    """Read transfers until a message is there; return where the log ends then.

    Each transfer has to begin where the one before ended.
    """
    data, at = b"", begin
    while at == begin:
        data += slave.recv(1 << 16)
        while len(data) >= _HEADER.size:
            offset, size_bytes = _HEADER.unpack_from(data)
            assert offset == at, (offset, at)
            if len(data) < _HEADER.size + size_bytes:
                break
            data, at = data[_HEADER.size + size_bytes :], at + size_bytes
    assert not data
    return at


@scenario(
    "replication: the tables that a slave asks for",
    config={"splitMetadataSize": "5"},
    releases=FIVE,
)
def slave_tables(run: Run) -> None:
    topics, groups = RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
    fields = topic_fields("STables", attributes="+message.type=FIFO")
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
    policy = {"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 1000, "max": 9000}}
    group = group_config(GROUP) | {"groupRetryPolicy": policy}
    code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
    run.ask("broker-a", code, {}, json.dumps(group).encode())
    mode = {"topic": "STables", "consumerGroup": GROUP, "mode": "POP", "popShareQueueNum": 1}
    run.ask("broker-a", RequestCode5.SET_MESSAGE_REQUEST_MODE, {}, json.dumps(mode).encode())
    commit = offset_fields("STables", commitOffset=3)
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, commit)
    forbidden = {"group": GROUP, "topic": "STables", "readable": False}
    run.ask("broker-a", RequestCode5.UPDATE_AND_GET_GROUP_FORBIDDEN, forbidden)

    run.note("all at once")
    run.ask("broker-a", topics)
    run.ask("broker-a", groups)
    run.note("in pages")
    version = ""
    for begin in (0, 5, 15, 100):
        version = _page(run, topics, "topicSeq", "maxTopicNum", begin, 2000, version)
    _page(run, topics, "topicSeq", "maxTopicNum", 5, 2, version)
    version = ""
    for begin in (0, 5):
        version = _page(run, groups, "groupSeq", "maxGroupNum", begin, 2000, version)
    run.note("of a table that has changed: its first page")
    _page(run, topics, "topicSeq", "maxTopicNum", 5, 2, '{"counter":99}')
    _page(run, topics, "topicSeq", "maxTopicNum", 5, 2, "")
    run.note("the others")
    for other in (
        *(RequestCode.GET_ALL_CONSUMER_OFFSET, RequestCode.GET_ALL_DELAY_OFFSET),
        *(RequestCode5.GET_ALL_MESSAGE_REQUEST_MODE, RequestCode5.GET_TIMER_METRICS),
        RequestCode5.GET_BROKER_HA_STATUS,
    ):
        run.ask("broker-a", other)


def _page(
    run: Run, code: RequestCode, seq: str, most: str, begin: int, size: int, version: str
) -> str:
    """Ask for a page; return the version that it has."""
    fields = {seq: begin, most: size, "dataVersion": version}
    answer: Answer = run.ask("broker-a", code, fields, hidden=("dataVersion",))
    found: str = fastjson.dumps(fastjson.loads(answer.body)["dataVersion"])
    return found
