"""A broker on a directory that does all that changes files, and what must be there after a kill."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from fakemq.clock.clock import Clock
from fakemq.config.spec import cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.errors import StoreError
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.topic import DeleteTopicRequestHeader
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import send_header
from tests.support.peer import Peer
from tests.support.pops import Popped, ack_header, pop_header
from tests.support.promises import Promises
from tests.support.recorded_disk import RecordedDisk, State
from tests.support.time import START_MS
from tests.support.transactions import COMMIT, PRODUCERS, ROLLBACK, Half, end_header

TOPIC, QUEUES, EXTRA = "orders", 2, "extra"
REFERENCES = ("4.9.7", "5.5.0")
HOUR_MS = 3_600_000
ALL_DELAYS_MS = 30_000
STORE = "broker-a-0"
_LOGS = ("log-a", "log-b")
_SIZES = {
    "mappedFileSizeCommitLog": 8_192,
    "mappedFileSizeConsumeQueue": 200,
    "mappedFileSizeConsumeQueueExt": 400,
    "maxHashSlotNum": 20,
    "maxIndexNum": 40,
    "enableConsumeQueueExt": "true",
    "messageDelayLevel": "1s 2s 4s",
    "fileReservedTime": 1,
    "deleteCommitLogFilesInterval": 0,
    "flushDiskType": "SYNC_FLUSH",
}


class Place(NamedTuple):
    """Where a message is."""

    queue_id: int
    offset: int
    phy_offset: int


class Promised(Promises[Place]):
    """What the store must have; a note of the disk is a function that changes it."""

    may_expire = False
    """Whether what is stored may be deleted by its age."""

    def forget_all(self) -> None:
        """Promise nothing of what was sent so far; what comes may be deleted by its age."""
        self.may_expire = True
        self.acknowledged.clear()
        self.later.clear()

    def let_expire(self) -> None:
        self.may_expire = True


def start(root: Path, reference: str, at_ms: int = START_MS) -> ClusterCore:
    """Start a cluster of one master on the stores below a folder; raise StoreError."""
    config: dict[str, Any] = dict(_SIZES)
    config["storePathRootDir"] = str(root / STORE)
    config["storePathCommitLog"] = ",".join(str(root / name) for name in _LOGS)
    if reference != "4.9.7":
        config |= {"mappedFileSizeTimerLog": 52 * 4, "timerRollWindowSlot": 0}
    spec = cluster_spec(
        reference=reference, clock="frozen", topics={TOPIC: QUEUES}, config=config, seed=1
    )
    core = ClusterCore(replace(spec, start_at_ms=at_ms), ["127.0.0.1:1"], [10911])
    try:
        core.start()
    except BaseException:
        core.broker("broker-a").clock.cancel_all()
        raise
    broker = core.broker("broker-a")
    core.network.listen(broker.addr, broker.accept)
    return core


class MixedLife:
    """A life under SYNC_FLUSH; ``disk`` gets notes of what is promised."""

    def __init__(self, root: Path, reference: str) -> None:
        self.reference = reference
        self._root = root
        self._count = 0
        self._clock: Clock | None = None
        self.disk = RecordedDisk(root, self._now_ms)

    def _now_ms(self) -> int:
        return START_MS if self._clock is None else self._clock.now_ms()

    def run(self) -> None:
        """Start, send, kill, start again, and so on, to a clean stop."""
        with self.disk:
            self._core = core = start(self._root, self.reference)
            self._clock = core.clock
            broker = core.broker("broker-a")
            self._connect()
            for size_bytes in (1, 700, 3_000, 20, 3_000, 10):
                self._send(size_bytes)
            self._further()
            core.advance(15_000)
            self._further()
            broker.kill()
            core.start_broker(broker)
            self._connect()
            self._send(50)
            core.advance(1_000)
            broker.kill()
            self._spoil_end()
            core.start_broker(broker)
            self._connect()
            self._extra_topic()
            for _ in range(6):
                self._send(2_000)
            core.advance(2 * HOUR_MS)
            self._connect()
            self._note(Promised.let_expire)
            self._ask(RequestCode.DELETE_EXPIRED_COMMITLOG)
            core.advance(15_000)
            broker.stop()
            core.network.settle()
            core.start_broker(broker)
            self._connect()
            self._send(30)
            self._note(Promised.forget_all)
            core.reset()
            self._send(40)
            self._further()
            core.advance(2_000)
            core.stop()

    def _connect(self) -> None:
        core = self._core
        core.network.settle()
        addr = core.broker("broker-a").addr
        self._peer = Peer(core.network, core.clock, core.journal, addr)

    def _note(self, note: Callable[[Promised], object]) -> None:
        self.disk.note(note)

    def _acknowledged(self, place: Place, body: bytes) -> None:
        self._note(lambda promised: promised.acknowledged.update({place: body}))

    def _body(self, size_bytes: int) -> bytes:
        self._count += 1
        body = b"%d:" % self._count + bytes([self._count % 250 + 1]) * size_bytes
        self._note(lambda promised: promised.sent.add(body))
        return body

    def _ask(self, code: int, header: Any = None, body: bytes = b"") -> dict[str, str]:
        response = self._peer.ask(code, header, body)
        assert response.code == ResponseCode.SUCCESS, response
        return response.ext_fields

    def _send(self, size_bytes: int, **more: str) -> None:
        """Send a message; one with a property of ``more`` comes to its queue later."""
        body, sys_flag = self._body(size_bytes), 0
        if "TRAN_MSG" in more:
            sys_flag = MessageSysFlag.TRANSACTION_PREPARED_TYPE
        fields = self._ask(*self._request(body, sys_flag, more))
        if not more:
            queue_id, offset = int(fields["queueId"]), int(fields["queueOffset"])
            self._acknowledged(Place(queue_id, offset, int(fields["msgId"][16:], 16)), body)
        elif "TRAN_MSG" not in more:
            self._note(lambda promised: promised.later.add(body))
        else:
            half = Half(int(fields["queueOffset"]), int(fields["msgId"][16:], 16))
            how = COMMIT if more["KEYS"] == "commit" else ROLLBACK
            self._peer.ask(RequestCode.END_TRANSACTION, end_header(half, how))
            if how == COMMIT:
                self._note(lambda promised: promised.later.add(body))

    def _request(self, body: bytes, sys_flag: int, more: dict[str, str]) -> tuple[int, Any, bytes]:
        key = f"{self._count:032}"
        properties = {"UNIQ_KEY": key, "KEYS": f"k{key}", "TAGS": key[-1:], **more}
        header = send_header(
            TOPIC,
            queue_id=self._count % QUEUES,
            properties=encode_properties_as_java(properties),
            producer_group=PRODUCERS,
            sys_flag=sys_flag,
        )
        return RequestCode.SEND_MESSAGE_V2, header, body

    def _further(self) -> None:
        """Send all other kinds of messages."""
        self._send(30, DELAY="2")
        self._send(30, TRAN_MSG="true", PGROUP=PRODUCERS, KEYS="commit")
        self._send(30, TRAN_MSG="true", PGROUP=PRODUCERS, KEYS="rollback")
        bodies = [self._body(100) for _ in range(3)]
        batch = encode_batch(BatchMember(body, b"") for body in bodies)
        header = send_header(TOPIC, queue_id=0, properties="", batch=True)
        fields = self._ask(RequestCode.SEND_BATCH_MESSAGE, header, batch)
        for number, (body, msg_id) in enumerate(
            zip(bodies, fields["msgId"].split(","), strict=True)
        ):
            offset = int(fields["queueOffset"]) + number
            self._acknowledged(Place(0, offset, int(msg_id[16:], 16)), body)
        if self.reference != "4.9.7":
            for delay_ms in (3_000, 5_000, 3_000, 5_000, 9_000):
                self._send(10, TIMER_DELAY_MS=str(delay_ms))
            response = self._peer.ask(RequestCode5.POP_MESSAGE, pop_header(max_msg_nums=2))
            if response.code == ResponseCode.SUCCESS:
                popped = Popped(response)
                ack = ack_header(popped, popped.messages[0])
                self._ask(RequestCode5.ACK_MESSAGE, ack)

    def _extra_topic(self) -> None:
        self._core.broker("broker-a").create_topic(EXTRA, 2)
        self._ask(RequestCode.SEND_MESSAGE_V2, send_header(EXTRA, properties=""), b"extra")
        header = DeleteTopicRequestHeader(topic=EXTRA)
        self._ask(RequestCode.DELETE_TOPIC_IN_BROKER, header)
        self._core.advance(1_000)

    def _spoil_end(self) -> None:
        """Write behind the last record what is none, as a machine does that fails."""
        path = max(
            (path for name in _LOGS for path in (self._root / name).iterdir()),
            key=lambda path: path.name,
        )
        end = len(path.read_bytes().rstrip(b"\0")) + 8
        number = os.open(path, os.O_RDWR)
        os.pwrite(number, b"\7" * 300, end)
        os.close(number)


def findings(state: State, reference: str) -> list[str]:
    """Start a broker on what a kill left, twice; return what is wrong."""
    try:
        core = start(state.folder, reference, state.at_ms)
    except StoreError as error:
        return [f"{state}: the start is refused: {error}"]
    promised = Promised()
    for note in state.notes:
        note(promised)
    found = _lost(core, promised)
    core.advance(ALL_DELAYS_MS)
    bodies = set(_found(core).values())
    if not promised.may_expire:
        found += promised.missing(bodies)
    found += promised.invented(bodies)
    core.stop()
    try:
        again = start(state.folder, reference, core.clock.now_ms())
    except StoreError as error:
        return [f"{state}: {line}" for line in (*found, f"the second start: {error}")]
    found += _lost(again, promised)
    again.stop()
    return [f"{state}: {line}" for line in found]


def _found(core: ClusterCore) -> dict[Place, bytes]:
    store = core.broker("broker-a").store
    return {
        Place(queue_id, message.queue_offset, message.commit_log_offset): message.body
        for queue_id in range(QUEUES)
        for message in store.messages_in_queue(TOPIC, queue_id)
    }


def _lost(core: ClusterCore, promised: Promised) -> list[str]:
    begin = core.broker("broker-a").store.log.min_offset
    if promised.may_expire:
        promised.withdraw(lambda place: place.phy_offset < begin)
    return promised.lost(_found(core))
