"""Records what a real 4.9.7 broker does with delays and retries: `python -m
conformance.capture_delays FILE`.

Requests with their answers, then the whole commit log and the deliver times in the queues of the
schedule topic. The broker has three short levels, so that every level is seen in seconds.
"""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from conformance.capture.requests import properties
from conformance.targets.java_cluster import JavaBroker, JavaCluster
from conformance.wire.raw import RawConnection, frame, json_header

README = """\
# What a real 4.9.7 broker did, with messageDelayLevel={levels}; written by
# `python -m conformance.capture.delays`, do not edit.
# `port` is the broker's. `>` a request, `<` its answer, `wait` milliseconds of the recording.
# `log` is the commit log; `due` the level and how long after being stored each message is due.
"""
LEVELS = "1s 2s 3s"
TOPIC = "Delays"
GROUP = "GDelays"
SEND, SEND_BACK, ALL_DELAY_OFFSET = 310, 36, 45
ALL_LEVELS_MS = 4_500
"""Longer than the longest level and the second after a start."""


class Recording:
    """A broker, a connection, and the lines so far."""

    def __init__(self, broker: JavaBroker, connection: RawConnection) -> None:
        self.lines = [f"port {broker.port}"]
        self._broker = broker
        self._connection = connection

    def ask(
        self, code: int, fields: Mapping[str, str], body: bytes = b"", *, version: int = 407
    ) -> int:
        """Ask and write down; return the physical offset in the answer to a send, else 0."""
        request = frame(code, fields, body, version=version)
        answer = self._connection.call(request)
        self.lines += [f"> {request.hex()}", f"< {answer.hex()}"]
        sent = json_header(answer).get("extFields")
        return int(sent["msgId"][16:], 16) if isinstance(sent, dict) and "msgId" in sent else 0

    def send(
        self, text: str, *, topic: str = TOPIC, queue: int = 0, sys_flag: int = 0, tries: int = 0
    ) -> int:
        values = ["GProducer", topic, "TBW102", "4", str(queue), str(sys_flag), "1700000000000"]
        fields = dict(zip("abcdefg", values, strict=True))
        fields |= {"h": "7", "i": text, "j": str(tries), "k": "false", "m": "false"}
        return self.ask(SEND, fields, b"body")

    def send_back(self, offset: int, level: int = 0, *, version: int = 407, **more: str) -> None:
        fields = {"offset": str(offset), "group": GROUP, "delayLevel": str(level)}
        self.ask(SEND_BACK, fields | more, version=version)

    def wait(self, ms: int) -> None:
        time.sleep(ms / 1000)
        self.lines.append(f"wait {ms}")

    def log(self) -> bytes:
        path = self._broker.store / "commitlog" / ("0" * 20)
        data = path.read_bytes()
        return data[: sum(map(len, records(data)))]

    def last_in(self, topic: str) -> int:
        """Return the physical offset of the topic's last record."""
        found = at = 0
        for record in records(self.log()):
            if bytes([len(topic)]) + topic.encode() in record:
                found = at
            at += len(record)
        return found

    def due(self) -> Iterator[str]:
        """By level, how long after its storing each message is due."""
        log = self.log()
        for level in (1, 2, 3):
            folder = self._broker.store / "consumequeue" / "SCHEDULE_TOPIC_XXXX" / str(level - 1)
            for at, size, due_ms in struct.iter_unpack(">qiq", (folder / ("0" * 20)).read_bytes()):
                if size:
                    (stored_ms,) = struct.unpack_from(">q", log, at + 56)
                    yield f"due {level} {due_ms - stored_ms}"


def records(log: bytes) -> Iterator[bytes]:
    at = 0
    while size := int.from_bytes(log[at : at + 4], signed=True):
        if size < 0:
            return
        yield log[at : at + size]
        at += size


def script(run: Recording) -> None:
    """All kinds of delayed, sent back and dead messages; each level is seen to its end."""
    plain = {"UNIQ_KEY": "7F000001000018B4AAC27E5E1C2B0000", "WAIT": "true", "TAGS": "red"}
    run.send(properties(**plain, DELAY="2"), queue=3)
    run.send(properties(**plain, DELAY="99"), queue=1)
    run.send(properties(**plain, DELAY="0"))
    run.send(properties(**plain, DELAY="-1"))
    run.send(properties(DELAY="1"))
    many = {f"key{number}": str(number) for number in range(11)}
    run.send(properties(**plain, **many, DELAY="1"), sys_flag=1)
    run.send(properties(**plain, DELAY="1"), sys_flag=8)  # a committed transaction's
    run.send(properties(**plain, DELAY="1"), sys_flag=4)  # a prepared one: waits for nothing
    sent = run.send(properties(**plain, KEYS="k"), queue=2)
    run.send_back(sent)
    run.send_back(sent, 1)
    run.send_back(sent, -1)
    run.send_back(sent, maxReconsumeTimes="0")
    run.send_back(sent, 2, maxReconsumeTimes="0", version=120)
    run.send_back(sent + 1)
    run.send_back(sent, 1, group="GUnit", unitMode="true")
    # What a client does that cannot send back; the dead one keeps its level.
    own = properties(**plain, DELAY="19", ORIGIN_MESSAGE_ID="X", RETRY_TOPIC=TOPIC)
    run.send(own, topic=f"%RETRY%{GROUP}", tries=3)
    run.send(own, topic=f"%RETRY%{GROUP}", tries=16)
    run.wait(ALL_LEVELS_MS)
    run.ask(ALL_DELAY_OFFSET, {})
    run.send_back(run.last_in(f"%RETRY%{GROUP}"))
    run.wait(ALL_LEVELS_MS)
    run.send_back(run.last_in(f"%RETRY%{GROUP}"), maxReconsumeTimes="2")
    run.wait(ALL_LEVELS_MS)
    run.ask(ALL_DELAY_OFFSET, {})


def main() -> None:
    cluster = JavaCluster(topics={TOPIC: 4}, config={"messageDelayLevel": LEVELS})
    with cluster, RawConnection(cluster.broker("broker-a").addr) as connection:
        run = Recording(cluster.broker("broker-a"), connection)
        script(run)
        lines = [*run.lines, *run.due(), f"log {run.log().hex()}"]
    text = README.format(levels=LEVELS) + "\n".join(lines) + "\n"
    Path(sys.argv[1]).write_text(text)
    print(f"{len(lines)} lines, {len(text)} characters")


if __name__ == "__main__":
    main()
