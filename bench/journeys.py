"""How many calls, files and file changes one request takes: ``python -m bench.journeys``.

``--calls JOURNEY`` lists the calls of one journey instead; without a name, those of a send.

Each journey is done several times on a real cluster with one raw TCP client, and its shortest run
counts. A call is one call of a Python function of ours (``fakemq``, ``protocol``). A file change is
a call whose function lies in another file than the function called before it. The last two columns
leave out the files that read clocks and write the journal.

The script uses public names only, so that it measures older trees as well: run it there by
``PYTHONPATH=/the/older/tree python bench/journeys.py``.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from itertools import chain, pairwise
from types import CodeType, FrameType
from typing import Any, NamedTuple

from fakemq import Cluster

RUNS = 5
"""Of each journey; the first ones fill caches."""
QUIET_S = 0.1
"""How long a cluster without work has to write its last bytes after an answer."""

_OURS = ("/fakemq/", "/protocol/")
_READS = ("clock.py", "machine_time.py", "node_clock.py", "axis.py", "journal.py")
"""Files that are read for the time or written for the journal, in old and new trees."""

SEND_MESSAGE_V2, PULL_MESSAGE = 310, 11

Calls = list[list[CodeType]]
"""The functions that each thread called, in its order: how threads take turns depends on the load
of the machine."""


def _is_ours(path: str) -> bool:
    """Whether a file is the product's; the folder of the project may have any of these names."""
    installed = path.partition("/site-packages/")[2]
    if installed:
        return installed.startswith("fakemq/")
    return any(part in path for part in _OURS) and "/bench/" not in path


class Count(NamedTuple):
    """What one journey took; ``core_calls`` and ``core_files`` leave out clocks and journal."""

    calls: int
    files: int
    changes: int
    core_calls: int
    core_files: int

    @classmethod
    def of(cls, calls: Calls) -> Count:
        """Return what the calls of one journey add up to."""
        by_thread = [[code.co_filename for code in one] for one in calls]
        files = [*chain.from_iterable(by_thread)]
        core = [name for name in files if os.path.basename(name) not in _READS]
        changes = sum(one != other for names in by_thread for one, other in pairwise(names))
        return cls(len(files), len(set(files)), changes, len(core), len(set(core)))


class Recorder:
    """Notes every call of our code on all threads, while it is on."""

    def __init__(self) -> None:
        self._on = False
        self._calls: dict[int, list[CodeType]] = {}
        """Thread → its calls."""

    def install(self) -> None:
        """Watch this thread, and each thread that is started from now on."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def remove(self) -> None:
        """Watch no thread that is started from now on, nor this one."""
        threading.setprofile(None)
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if self._on and event == "call" and _is_ours(frame.f_code.co_filename):
            self._calls.setdefault(threading.get_ident(), []).append(frame.f_code)

    def calls(self, journey: Callable[[], object]) -> Calls:
        """Do a journey and return the functions that were called."""
        time.sleep(QUIET_S)  # the last journey's bytes are written
        self._calls = {}
        self._on = True
        try:
            journey()
            time.sleep(QUIET_S)
        finally:
            self._on = False
        return [*self._calls.values()]


class Peer:
    """One raw connection to a broker."""

    def __init__(self, addr: str) -> None:
        host, _, port = addr.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._opaque = 0

    def ask(self, code: int, fields: dict[str, str], body: bytes = b"") -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self.send(code, fields, body)
        return self.answer()

    def send(self, code: int, fields: dict[str, str], body: bytes = b"") -> None:
        self._opaque += 1
        header = json.dumps(
            {
                "code": code,
                "language": "JAVA",
                "version": 399,
                "opaque": self._opaque,
                "flag": 0,
                "extFields": fields,
                "serializeTypeCurrentRPC": "JSON",
            }
        ).encode()
        head = struct.pack(">ii", 4 + len(header) + len(body), len(header))
        self._socket.sendall(head + header + body)

    def answer(self) -> dict[str, Any]:
        (size_bytes,) = struct.unpack(">i", self._read(4))
        frame = self._read(size_bytes)
        (header_bytes,) = struct.unpack_from(">i", frame)
        answer: dict[str, Any] = json.loads(frame[4 : 4 + (header_bytes & 0xFFFFFF)])
        return answer

    def _read(self, size_bytes: int) -> bytes:
        data = b""
        while len(data) < size_bytes:
            got = self._socket.recv(size_bytes - len(data))
            if not got:
                raise ConnectionError("the broker closed the connection")
            data += got
        return data

    def close(self) -> None:
        self._socket.close()


def send_fields(number: int) -> dict[str, str]:
    """The header fields of a 4.9.7 producer's SEND_MESSAGE_V2."""
    return {
        "a": "producers",
        "b": "orders",
        "c": "TBW102",
        "d": "4",
        "e": "0",
        "f": "0",
        "g": str(1_700_000_000_000 + number),
        "h": "0",
        "i": f"UNIQ_KEY\x01FD0000000000000000000000000000023{number:016X}\x02WAIT\x01true\x02",
        "j": "0",
        "k": "false",
        "m": "false",
        "n": "broker-a",
    }


def pull_fields(offset: int) -> dict[str, str]:
    """The header fields of a consumer's PULL_MESSAGE that waits for a message."""
    return {
        "consumerGroup": "billing",
        "topic": "orders",
        "queueId": "0",
        "queueOffset": str(offset),
        "maxMsgNums": "32",
        "sysFlag": "6",
        "commitOffset": "0",
        "suspendTimeoutMillis": "15000",
        "subscription": "*",
        "subVersion": "0",
        "expressionType": "TAG",
    }


class Journeys:
    """The journeys, on clusters that are started for them."""

    def __init__(self) -> None:
        self._recorder = Recorder()
        self._number = 0

    def run(self) -> dict[str, Calls]:
        """Return the calls of each journey by its name."""
        self._recorder.install()
        try:
            return self._of_one_broker() | self._of_a_pair() | self._of_faults()
        finally:
            self._recorder.remove()

    def _of_one_broker(self) -> dict[str, Calls]:
        with Cluster(clock="frozen", topics={"orders": 1}) as mq:
            addr = mq.broker("broker-a").addr
            sender, puller = Peer(addr), Peer(addr)
            found = {"send": self._best(lambda: self._send(sender))}

            def woken() -> None:
                self._send(sender)
                assert puller.answer()["code"] == 0

            runs = []
            for _ in range(RUNS):
                puller.send(PULL_MESSAGE, pull_fields(self._number))
                time.sleep(QUIET_S)
                runs.append(self._recorder.calls(woken))
            found["held pull woken"] = min(runs, key=Count.of)
            found["clock.advance"] = self._recorder.calls(lambda: mq.clock.advance("11s"))
            sender.close()
            puller.close()
        return found

    def _of_a_pair(self) -> dict[str, Calls]:
        config = {"brokerRole": "SYNC_MASTER"}
        with Cluster(clock="frozen", topics={"orders": 1}, slaves=1, config=config) as mq:
            sender = Peer(mq.brokers[0].addr)
            found = {"SYNC_MASTER send": self._best(lambda: self._send(sender))}
            sender.close()
        return found

    def _of_faults(self) -> dict[str, Calls]:
        with Cluster(clock="frozen", topics={"orders": 1}) as mq:

            def placed() -> None:
                mq.faults.error("SEND_MESSAGE_V2", code="SYSTEM_ERROR", topic="elsewhere")

            first = self._recorder.calls(placed)
            return {"faults.error first": first, "faults.error placed": self._best(placed)}

    def _send(self, peer: Peer) -> None:
        answer = peer.ask(SEND_MESSAGE_V2, send_fields(self._number), b"hello")
        assert answer["code"] == 0, answer
        self._number += 1

    def _best(self, journey: Callable[[], object]) -> Calls:
        return min((self._recorder.calls(journey) for _ in range(RUNS)), key=Count.of)


def main() -> None:
    found = Journeys().run()
    if sys.argv[1:2] == ["--calls"]:
        for code in chain.from_iterable(found[" ".join(sys.argv[2:]) or "send"]):
            print(f"{code.co_filename.rpartition('/fakemq/')[2]}:{code.co_qualname}")
        return
    print(f"{'journey':<20} {'calls':>6} {'files':>6} {'changes':>8}  core calls  core files")
    for name, codes in found.items():
        calls, files, changes, core_calls, core_files = Count.of(codes)
        print(f"{name:<20} {calls:>6} {files:>6} {changes:>8} {core_calls:>11} {core_files:>11}")


if __name__ == "__main__":
    main()
