"""Fills a broker with many messages, as fast as a few lines of Python can."""

from __future__ import annotations

from bench.benchmark import BODY_BYTES
from bench.requests import send_fields
from conformance.wire.raw import RawConnection, frame, json_header
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.codes import RequestCode

BATCH = 2000
AT_ONCE = 64
TIMEOUT_S = 60.0
_BODY = b"x" * BODY_BYTES


def fill_with_batches(
    broker_addr: str,
    topic: str,
    queues: int,
    count: int,
    body: bytes = _BODY,
    batch: int = BATCH,
) -> None:
    """Send ``count`` messages like a Java producer's, in large batches, to queues in turn."""
    with RawConnection(broker_addr, TIMEOUT_S) as connection:
        for number, begin in enumerate(range(0, count, batch)):
            members = (_member(index, body) for index in range(begin, min(begin + batch, count)))
            fields = _fields(topic, number % queues) | {"i": "", "m": "true"}
            whole = encode_batch(members)
            connection.send(frame(RequestCode.SEND_BATCH_MESSAGE, fields, whole))
            _check(connection)


def fill_one_by_one(broker_addr: str, topic: str, queues: int, count: int) -> None:
    """Send ``count`` messages in single requests, 64 of them open at any time."""
    with RawConnection(broker_addr, TIMEOUT_S) as connection:
        for begin in range(0, count, AT_ONCE):
            numbers = range(begin, min(begin + AT_ONCE, count))
            connection.send(
                b"".join(
                    frame(
                        RequestCode.SEND_MESSAGE_V2,
                        _fields(topic, number % queues) | {"i": send_fields(number)["i"]},
                        _BODY,
                    )
                    for number in numbers
                )
            )
            for _ in numbers:
                _check(connection)


def _fields(topic: str, queue: int) -> dict[str, str]:
    return send_fields(0) | {"b": topic, "e": str(queue)}


def _member(number: int, body: bytes) -> BatchMember:
    properties = f"UNIQ_KEY\x01FD0000000000000000000000000000024{number:015X}\x02"
    return BatchMember(flag=0, body=body, properties=properties.encode())


def _check(connection: RawConnection) -> None:
    header = json_header(connection.receive())
    if header["code"] != 0:
        raise RuntimeError(f"a send was refused: {header}")
