"""The client core, answered with anything at all.

The first line names an operation; behind it are the answers to its requests, in parts as `cluster`
has them. Once there are no more answers, every request times out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from fakemq.client.admin import Admin
from fakemq.client.errors import RemotingTimeoutError
from fakemq.client.instance import ClientInstance
from fakemq.client.messages import Message
from fakemq.client.operation import Operation
from fakemq.client.options import ClientConfig
from fakemq.client.pull_operations import PullOperations
from fakemq.client.send_operations import SendOperations
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.errors import ProtocolError, RemoteProtocolError
from fakemq.protocol.header_json import decode_json_header
from tests.fuzz import golden
from tests.fuzz.target import Target, Violation, chosen, outcome
from tests.fuzz.targets.cluster import Part, pack, unpack

QUEUE = MessageQueue(topic="Golden", broker_name="broker-a", queue_id=0)
MSG_ID = "7F00000100002A9F0000000000000000"
_MOST_CALLS = 200

Made = Callable[[ClientInstance], Operation[object]]
OPERATIONS: dict[str, Made] = {
    "GET_ROUTEINFO_BY_TOPIC": lambda client: client.update_route("Golden"),
    "GET_BROKER_CLUSTER_INFO": lambda client: client.cluster_info(),
    "HEART_BEAT": lambda client: client.heartbeat(),
    "GET_CONSUMER_LIST_BY_GROUP": lambda client: client.consumer_ids("Golden", "G"),
    "SEND_MESSAGE_V2": lambda client: SendOperations(client).send(Message("Golden", b"x")),
    "PULL_MESSAGE": lambda client: PullOperations(client, "G").pull(QUEUE, 0),
    "QUERY_CONSUMER_OFFSET": lambda client: PullOperations(client, "G").query_offset(QUEUE),
    "LOCK_BATCH_MQ": lambda client: PullOperations(client, "G").lock([QUEUE]),
    "GET_MAX_OFFSET": lambda client: Admin(client).max_offset(QUEUE),
    "GET_MIN_OFFSET": lambda client: Admin(client).min_offset(QUEUE),
    "SEARCH_OFFSET_BY_TIMESTAMP": lambda client: Admin(client).search_offset(QUEUE, 0),
    "GET_EARLIEST_MSG_STORETIME": lambda client: Admin(client).earliest_store_time_ms(QUEUE),
    "VIEW_MESSAGE_BY_ID": lambda client: Admin(client).view_message(MSG_ID),
    "QUERY_MESSAGE": lambda client: Admin(client).query_message_by_unique_key("Golden", "key"),
    "GET_CONSUME_STATS": lambda client: Admin(client).consume_stats("G", "Golden"),
}


class _Standing:
    """Time that does not move."""

    def wall_ms(self) -> int:
        return 1_700_000_000_000

    def elapsed_ms(self) -> int:
        return 0


def operate(data: bytes) -> None:
    """An operation returns a result or raises one of the errors of a client."""
    _, make, rest = chosen(data, OPERATIONS)
    client = ClientInstance("127.0.0.1:9876", ClientConfig(seed=1), time=_Standing())
    answers = map(_answer, unpack(rest))
    outcome(lambda: _run(make(client), answers), FakemqError, ProtocolError)


def _run(operation: Operation[object], answers: Iterator[RemotingCommand | None]) -> None:
    try:
        call = next(operation)
        for _ in range(_MOST_CALLS):
            answer = next(answers, None)
            if call.command.is_oneway:
                call = operation.send(None)
            elif answer is None:
                call = operation.throw(RemotingTimeoutError(call.addr, call.timeout_ms))
            else:
                call = operation.send(answer)
    except StopIteration:
        return
    raise Violation(f"over {_MOST_CALLS} requests")


def _answer(data: bytes) -> RemotingCommand | None:
    part = Part.of(data)
    command = outcome(lambda: decode_json_header(part.header), RemoteProtocolError)
    if command is not None:
        command.body = part.body
    return command


# -- seeds ----------------------------------------------------------------------------------------


def _seeds() -> Iterator[bytes]:
    """Each operation with what a real broker answered to its request, behind a real route."""
    answers: dict[str, list[bytes]] = {}
    for name, way, frame in golden.frames():
        if way == "<" and frame[4] == SerializeType.JSON:
            header = golden.header_bytes(frame)
            part = b"\0" + header + b"\n" + frame[8 + len(header) :]
            answers.setdefault(re.split(r"[./]", name)[0], []).append(part)
    for name in OPERATIONS:
        start = name.encode() + b"\n"
        for answer in answers.get(name, answers["HEART_BEAT"]):
            yield start + pack([answer])
            for route in answers["GET_ROUTEINFO_BY_TOPIC"][:3]:
                yield start + pack([route, answer, answer])


def _unpack(data: bytes) -> list[bytes]:
    name, _, rest = data.partition(b"\n")
    return [name, *unpack(rest)]


def _pack(parts: list[bytes]) -> bytes:
    return b"\n".join([b"".join(parts[:1]).replace(b"\n", b""), pack(parts[1:])])


TARGETS = (
    Target(
        "client",
        operate,
        ("fakemq.client.*", "bodies.route", "bodies.queue"),
        _seeds,
        unpack=_unpack,
        pack=_pack,
    ),
)
