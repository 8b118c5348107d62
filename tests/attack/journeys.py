"""Hostile names on each way that leads from a name to a folder, a table or a file.

Other frames guess; these requests use what the broker answered before, as a client does: where a
half message lies, or a message that a consumer sends back.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from typing import Any

from conformance.wire import requests
from fakemq.protocol.codes import RequestCode
from tests.attack.hostile_frames import Form

TOPIC = "Hostile1"
TIMEOUT_S = 30.0


class Line:
    """A connection that asks one request after the other."""

    def __init__(self, host: str, port: int) -> None:
        self._sock = socket.create_connection((host, port), TIMEOUT_S)
        self.asked = 0

    def ask(self, code: int, fields: dict[str, Any], body: bytes = b"") -> dict[str, Any]:
        """Return the header of the answer."""
        self.asked += 1
        self._sock.sendall(Form(code, fields, body, opaque=self.asked).json_frame())
        while True:
            size = int.from_bytes(self._receive(4))
            frame = self._receive(size)
            header: dict[str, Any] = json.loads(frame[4 : 4 + int.from_bytes(frame[1:4])])
            if header["opaque"] == self.asked and header["flag"] & 1:
                return header

    def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._sock.recv(size - len(data))
            if not part:
                raise ConnectionError(f"closed after {self.asked} requests")
            data += part
        return data

    def close(self) -> None:
        self._sock.close()


def travel(host: str, port: int, names: Sequence[str], findings: list[str]) -> int:
    """Take every name along every way; return the number of requests."""
    asked = 0
    for name in names:
        line = Line(host, port)
        try:
            for step in _ways(line, name):
                del step
        except (OSError, ValueError) as error:
            findings.append(f"the ways of the name {name!r:.200}: {type(error).__name__}: {error}")
        finally:
            asked += line.asked
            line.close()
    return asked


def _ways(line: Line, name: str) -> Iterator[dict[str, Any]]:
    yield line.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, {
        "topic": name, "defaultTopic": "TBW102", "readQueueNums": "2", "writeQueueNums": "2",
        "perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
    })  # fmt: skip
    yield line.ask(RequestCode.SEND_MESSAGE_V2, _sent(name))
    yield line.ask(
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {},
        json.dumps(requests.group_config(name)).encode(),
    )  # fmt: skip
    beat = requests.heartbeat("192.0.2.9@1", name, name, producers=[name])
    yield line.ask(RequestCode.HEART_BEAT, {}, json.dumps(beat).encode())
    for level in ("1", "2"):
        yield line.ask(RequestCode.SEND_MESSAGE_V2, _sent(TOPIC, REAL_TOPIC=name, DELAY=level))
    half = line.ask(
        RequestCode.SEND_MESSAGE_V2,
        _sent(TOPIC, REAL_TOPIC=name, REAL_QID="0", TRAN_MSG="true", PGROUP=name) | {"f": "4"},
    )
    yield from _end(line, half, name)
    sent = line.ask(RequestCode.SEND_MESSAGE_V2, _sent(TOPIC, RETRY_TOPIC=name))
    if place := _place(sent):
        for level in ("0", "3", "-1"):
            yield line.ask(
                RequestCode.CONSUMER_SEND_MSG_BACK,
                requests.texts(requests.send_back_fields(
                    name, int(place), int(level), maxReconsumeTimes=16
                )),
            )  # fmt: skip
    yield line.ask(
        RequestCode.UPDATE_CONSUMER_OFFSET,
        requests.texts(requests.offset_fields(name, name, commitOffset=1)),
    )
    yield line.ask(
        RequestCode.QUERY_MESSAGE,
        {"topic": name, "key": "k", "maxNum": "10", "beginTimestamp": "0",
         "endTimestamp": str(2**62)},
    )  # fmt: skip
    yield line.ask(RequestCode.PULL_MESSAGE, requests.texts(
        requests.pull_fields(name, consumerGroup=name)
    ))  # fmt: skip
    yield line.ask(RequestCode.GET_TOPIC_STATS_INFO, {"topic": name})
    yield line.ask(RequestCode.GET_CONSUME_STATS, {"consumerGroup": name, "topic": ""})


def _sent(topic: str, **properties: str) -> dict[str, str]:
    text = requests.properties(**properties)
    return requests.texts(requests.send_v2_fields(topic, i=text))


def _place(answer: dict[str, Any]) -> str:
    """Return where the log has an acknowledged message, as the end of its id says; "" if not."""
    msg_id = (answer.get("extFields") or {}).get("msgId", "")
    return str(int(msg_id[-16:], 16)) if answer["code"] == 0 and msg_id else ""


def _end(line: Line, half: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    place = _place(half)
    if not place:
        return
    for decision in (requests.COMMIT, requests.ROLLBACK):
        yield line.ask(RequestCode.END_TRANSACTION, {
            "producerGroup": name, "tranStateTableOffset": half["extFields"]["queueOffset"],
            "commitLogOffset": place, "commitOrRollback": str(decision),
            "fromTransactionCheck": "false", "msgId": "x", "transactionId": "y",
        })  # fmt: skip
