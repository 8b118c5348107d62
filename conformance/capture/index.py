"""Records a broker with tiny index files: ``python -m conformance.capture.index FILE``.

A few messages with odd keys fill several files of 3 entries in 5 hash slots. Kept are the commit
log, the index files as the stopped broker leaves them, and what queries of all kinds found.

Lines are ``log HEX``, ``index NAME HEX`` and ``query JSON``: key, maxNum, begin and end (relative
to the first message's store time), the index's last time and offset, physical offsets found.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from conformance.capture.requests import properties, send_fields
from conformance.targets.java_cluster import JavaCluster
from conformance.wire.raw import RawConnection, frame, json_header, split

TOPIC = "t"
COMMIT, ROLLBACK = 8, 12
SENDS = (
    *(("Aa", 0), ("BB", COMMIT), ("a b c d e f", ROLLBACK), ("", 0), ("x  y", 0), ("k", 0)),
    *(("BEHMU\\^ z", 0), ("k", 0), ("k k", 0), ("k", 0), ("ü", 0)),
)
"""KEYS and sysFlag; every third message has a unique key as well."""
PAUSES_S = (0.0, 0.6, 1.1)
ASKED = ("Aa", "BB", "a", "f", "x", "y", "k", "BEHMU\\^", "z", "ü", "U0", "U3", "U9", "")
ALL = 1 << 62


def spans(last_ms: int) -> tuple[tuple[int, int], ...]:
    """Begin and end of queries, from the store time of the first message on."""
    return (
        *((-ALL, ALL), (0, last_ms), (1000, 2000), (1500, ALL), (-ALL, 1700)),
        *((last_ms, last_ms), (last_ms + 1, last_ms + 5)),
    )


def send_all(connection: RawConnection) -> None:
    for index, (keys, sys_flag) in enumerate(SENDS):
        pairs = {"KEYS": keys} if keys else {}
        if index % 3 == 0:
            pairs["UNIQ_KEY"] = f"U{index}"
        fields = send_fields(properties(**pairs), sys_flag=sys_flag, topic=TOPIC)
        answer = json_header(connection.call(frame(10, fields, b"x")))
        if answer["code"] != 0:
            raise ValueError(f"the broker refuses a message: {answer}")
        time.sleep(PAUSES_S[index % 3])


def records(body: bytes) -> Iterator[tuple[int, int]]:
    """Physical offset and store time of each."""
    at = 0
    while at < len(body):
        (size,) = struct.unpack_from(">i", body, at)
        (offset,) = struct.unpack_from(">q", body, at + 28)
        (stored_ms,) = struct.unpack_from(">q", body, at + 56)
        yield offset, stored_ms
        at += size


def query(
    connection: RawConnection, key: str, max_num: int, begin_ms: int, end_ms: int
) -> tuple[dict[str, str], list[tuple[int, int]]]:
    fields = {
        "topic": TOPIC,
        "key": key,
        "maxNum": str(max_num),
        "beginTimestamp": str(begin_ms),
        "endTimestamp": str(end_ms),
    }
    whole = connection.call(frame(12, fields))
    ext_fields = json_header(whole)["extFields"]
    assert isinstance(ext_fields, dict)
    return ext_fields, list(records(split(whole)[2]))


def queries(connection: RawConnection) -> Iterator[str]:
    every = [one for key in ASKED for one in query(connection, key, 64, 0, ALL)[1]]
    first_ms = min(stored_ms for _, stored_ms in every)
    last_ms = max(stored_ms for _, stored_ms in every) - first_ms
    for key, max_num, (begin_ms, end_ms) in product(ASKED, (1, 64), spans(last_ms)):
        times = (max(0, first_ms + begin_ms), first_ms + end_ms)
        fields, found = query(connection, key, max_num, *times)
        said = [int(fields[f"indexLastUpdate{what}"]) for what in ("Timestamp", "Phyoffset")]
        offsets = [offset for offset, _ in found]
        yield f"query {json.dumps([key, max_num, *times, *said, offsets], separators=(',', ':'))}"


def main() -> None:
    small = {"maxHashSlotNum": "5", "maxIndexNum": "4"}
    with JavaCluster(masters=1, config=small, topics={TOPIC: 1}) as cluster:
        broker = cluster.broker("broker-a")
        with RawConnection(broker.addr) as connection:
            send_all(connection)
            time.sleep(0.5)
            found = list(queries(connection))
        broker.stop()
        log = next((broker.store / "commitlog").iterdir()).read_bytes().rstrip(b"\0")
        lines = [f"log {log.hex()}"]
        for path in sorted((broker.store / "index").iterdir()):
            lines.append(f"index {path.name} {path.read_bytes().hex()}")
    Path(sys.argv[1]).write_text("\n".join(lines + found) + "\n", "utf-8")


if __name__ == "__main__":
    main()
