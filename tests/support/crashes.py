"""A broker on a directory, a client that counts what is acknowledged, and power failures."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from fakemq.broker.broker import Broker
from fakemq.config.spec import cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.events import LogAppended
from fakemq.events.store import StoreRecovered, UnsyncedLost
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.message import MessageExt, decode_records
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.sysflag import MessageSysFlag
from tests.support.broker_lab import send_header
from tests.support.clients import pull
from tests.support.peer import Answer, Peer
from tests.support.pops import Popped, ack, pop
from tests.support.promises import Promises
from tests.support.transactions import COMMIT, PRODUCERS, ROLLBACK, Half, end_header

TOPICS = {"orders": 4, "billing": 2}
LOG_BYTES = 24_576
CONFIG = {
    "mappedFileSizeCommitLog": LOG_BYTES,
    "mappedFileSizeConsumeQueue": 400,
    "maxHashSlotNum": 50,
    "maxIndexNum": 100,
    "messageDelayLevel": "1s 2s 4s",
}
CONFIG_5_5_0 = {**CONFIG, "mappedFileSizeTimerLog": 1_000, "timerRollWindowSlot": 200}
LONGER_THAN_ALL_MS = 60_000

Queue = tuple[str, int]


class Message(NamedTuple):
    """What a producer sent."""

    topic: str
    body: bytes
    properties: dict[str, str]


class Open(NamedTuple):
    """A half message that is not decided."""

    key: str
    half: Half


class Loss(NamedTuple):
    """What one power failure took, as the broker and as the client count it."""

    log_bytes: int
    pages: int
    lost_pages: int
    acknowledged: int
    lost: int


class Crashes:
    """One broker and its client, through several lives.

    ``promises`` has key and place in the log of every send that was answered with success and is
    not known to be lost, ``committed`` the half messages whose commits were; ``queues`` is
    what consumers are to find, by the log. Of ``excused`` a record that was delivered is lost: the
    broker may know that it has delivered a delayed message, and nothing else of it.
    """

    def __init__(
        self,
        root: Path,
        seed: int,
        flush: Literal["ASYNC_FLUSH", "SYNC_FLUSH"],
        reference: Literal["4.9.7", "5.5.0"] = "4.9.7",
    ) -> None:
        spec = cluster_spec(
            reference=reference,
            store=str(root),
            clock="frozen",
            start_at="2023-11-14T22:13:20",
            flush=flush,
            topics=TOPICS,
            config=CONFIG if reference == "4.9.7" else CONFIG_5_5_0,
            seed=seed,
        )
        self.random = random.Random(f"{seed} {flush}")
        self.core = ClusterCore(spec, ["127.0.0.1:1"], [10911])
        self.core.start()
        self.broker: Broker = self.core.broker("broker-a")
        self.core.network.listen(self.broker.addr, self.broker.accept)
        self.sent: dict[str, Message] = {}
        self.promises = Promises[tuple[str, int]]()
        self.committed: set[str] = set()
        self.excused: set[str] = set()
        self.queues: dict[Queue, list[tuple[int, str]]] = {}
        self._open: list[Open] = []
        self._deeds = [self.send, self.send, self.send, self.batch]
        self._deeds += [self.delayed, self.half, self.decide]
        if reference == "5.5.0":
            self._deeds += [self.timed, self.timed, self.pop]
        self.reconnect()

    def reconnect(self) -> None:
        """Connect the client; the broker ends what was idle for two minutes."""
        core = self.core
        self.peer = Peer(core.network, core.clock, core.journal, self.broker.addr)

    def close(self) -> None:
        self.core.stop()

    # -- what a producer does -----------------------------------------------------------------

    def live(self) -> None:
        """Some sends, with time passing at random between them, up to anywhere."""
        for _ in range(self.random.randint(1, 30)):
            self.random.choice(self._deeds)()
            if self.random.random() < 0.4:
                self.core.advance(self.random.choice([1, 20, 300, 900, 2_500, 11_000, 61_000]))
            if self.random.random() < 0.05:
                self.broker.clock.skew_ms = self.random.choice([0, 3_600_000, -3_600_000])

    def send(self) -> None:
        topic, queue_id = self._queue()
        self._send(topic, queue_id, {})

    def delayed(self) -> None:
        topic, queue_id = self._queue()
        self._send(topic, queue_id, {"DELAY": str(self.random.randint(1, 3))})

    def timed(self) -> None:
        topic, queue_id = self._queue()
        self._send(topic, queue_id, {"TIMER_DELAY_SEC": str(self.random.randint(1, 600))})

    def pop(self) -> None:
        """Pop some messages, and acknowledge some of them."""
        answer = pop(self.peer, max_msg_nums=4, invisible_time=20_000)
        if answer.code == ResponseCode.SUCCESS:
            popped = Popped(answer)
            for message in popped.messages[: self.random.randint(0, 4)]:
                ack(self.peer, popped, message)

    def _send(self, topic: str, queue_id: int, more: dict[str, str], sys_flag: int = 0) -> Answer:
        key, message = self._message(topic, more)
        header = send_header(
            topic,
            queue_id=queue_id,
            properties=encode_properties_as_java(message.properties),
            producer_group=PRODUCERS,
            sys_flag=sys_flag,
        )
        answer = self.peer.send(RequestCode.SEND_MESSAGE_V2, header, message.body)
        self._count(answer, [key])
        return answer

    def batch(self) -> None:
        topic, queue_id = self._queue()
        members = [self._message(topic, {}, 700) for _ in range(self.random.randint(1, 6))]
        body = encode_batch(
            BatchMember(message.body, encode_properties_as_java(message.properties).encode())
            for _, message in members
        )
        header = send_header(topic, queue_id=queue_id, properties="", batch=True)
        answer = self.peer.send(RequestCode.SEND_BATCH_MESSAGE, header, body)
        self._count(answer, [key for key, _ in members])

    def half(self) -> None:
        topic, queue_id = self._queue()
        more = {"TRAN_MSG": "true", "PGROUP": PRODUCERS}
        prepared = MessageSysFlag.TRANSACTION_PREPARED_TYPE
        response = self._send(topic, queue_id, more, prepared).response
        if response is not None and response.code == ResponseCode.SUCCESS:
            found = response.ext_fields
            half = Half(int(found["queueOffset"]), int(found["msgId"][16:], 16))
            self._open.append(Open(next(reversed(self.sent)), half))

    def decide(self) -> None:
        if not self._open:
            return
        key, half = self._open.pop(self.random.randrange(len(self._open)))
        how = self.random.choice([COMMIT, ROLLBACK])
        answer = self.peer.send(RequestCode.END_TRANSACTION, end_header(half, how))
        if how == COMMIT and answer.response is not None:
            assert answer.response.code == ResponseCode.SUCCESS
            self.committed.add(key)

    def _queue(self) -> Queue:
        topic = self.random.choice(list(TOPICS))
        return topic, self.random.randrange(TOPICS[topic])

    def _message(
        self, topic: str, more: dict[str, str], most_bytes: int = 5_000
    ) -> tuple[str, Message]:
        key = f"{len(self.sent):032}"
        size_bytes = self.random.choice([0, 1, 100, self.random.randrange(most_bytes)])
        body = b"%d " % len(self.sent) + self.random.randbytes(size_bytes)
        properties = {"UNIQ_KEY": key, "KEYS": f"k{key} all", "TAGS": key[-2:], **more}
        self.sent[key] = Message(topic, body, properties)
        return key, self.sent[key]

    def _count(self, answer: Answer, keys: list[str]) -> None:
        """Believe what was answered: success, and where the log has each message."""
        if answer.response is None or answer.response.code != ResponseCode.SUCCESS:
            return
        ids = answer.response.ext_fields["msgId"].split(",")
        for key, msg_id in zip(keys, ids, strict=True):
            self.promises.acknowledged[key, int(msg_id[16:], 16)] = self.sent[key].body

    # -- what happens to the broker -----------------------------------------------------------

    def block_disk(self) -> None:
        """From now on nothing is flushed, so that no send is answered where that is waited for."""
        disk = self.broker.store.disk
        assert disk is not None
        disk.flush.stalled = True

    def lose_power(self) -> Loss:
        """Kill the broker without what was not flushed, start it again, and compare."""
        before, store = self._count_acknowledged(), self.broker.store
        appended, end = self.core.journal.find(LogAppended), store.max_phy_offset
        self.broker.kill(lose_unsynced=True)
        self.core.network.settle()
        (lost,) = self.core.journal.find(UnsyncedLost)
        assert lost.log_offset + lost.log_bytes == end
        self.core.journal.clear()
        self.core.start_broker(self.broker)
        self.core.network.settle()
        self.reconnect()
        (recovered,) = self.core.journal.find(StoreRecovered)
        assert not recovered.clean
        # What was safe is there; of the rest as much as came to the disk without a hole.
        assert lost.log_offset <= recovered.max_phy_offset <= end
        self._forget(appended, recovered.max_phy_offset)
        counted = self._count_acknowledged()
        return Loss(lost.log_bytes, lost.pages, lost.lost_pages, before, before - counted)

    def _count_acknowledged(self) -> int:
        return len(self.promises) + len(self.committed)

    def _forget(self, appended: list[LogAppended], log_end: int) -> None:
        """Expect nothing any more of what the log has no record of."""
        self.expect(appended)
        for queue, entries in self.queues.items():
            self.queues[queue] = [entry for entry in entries if entry[0] < log_end]
            self.excused.update(key for phy_offset, key in entries if phy_offset >= log_end)
        self.committed -= self.excused
        self.promises.withdraw(lambda place: place[1] >= log_end)
        look, found = self.broker.store.look_message_by_offset, {}
        for key, phy_offset in self.promises.acknowledged:
            if (record := look(phy_offset)) is not None:
                found[key, phy_offset] = record.body
        assert self.promises.lost(found) == []
        self._open = [one for one in self._open if one.half.commit_log_offset < log_end]

    def expect(self, appended: list[LogAppended]) -> None:
        """Consumers are to find these, if they are not the broker's own."""
        for event in appended:
            if event.topic in TOPICS:
                entries = self.queues.setdefault((event.topic, event.queue_id), [])
                assert len(entries) == event.queue_offset
                entries.append((event.phy_offset, event.msg_id))

    # -- what a consumer finds ----------------------------------------------------------------

    def consume(self) -> Counter[str]:
        """Pull every queue from its beginning; return how often each message came.

        Everything is byte for byte what was sent, in its queue, at offsets without a gap.
        """
        found: Counter[str] = Counter()
        for topic, queues in TOPICS.items():
            for queue_id in range(queues):
                messages = list(self._pull(topic, queue_id))
                assert [message.queue_offset for message in messages] == list(range(len(messages)))
                keys = [message.properties["UNIQ_KEY"] for message in messages]
                expected = self.queues.get((topic, queue_id), [])
                assert keys == [key for _, key in expected]
                for key, message in zip(keys, messages, strict=True):
                    self._compare(message, self.sent[key])
                found.update(keys)
        return found

    def _compare(self, message: MessageExt, sent: Message) -> None:
        assert (message.topic, message.body) == (sent.topic, sent.body)
        for name in ("KEYS", "TAGS"):
            assert message.properties[name] == sent.properties[name]

    def _pull(self, topic: str, queue_id: int) -> Iterator[MessageExt]:
        offset = 0
        while True:
            response = pull(self.peer, offset, topic=topic, queue_id=queue_id)
            if response.code != ResponseCode.SUCCESS:
                assert response.code == ResponseCode.PULL_NOT_FOUND, response
                return
            yield from decode_records(response.body)
            offset = int(response.ext_fields["nextBeginOffset"])

    def pass_all_delays(self) -> None:
        """Until everything is where it is to be, which is expected then."""
        self.core.advance(LONGER_THAN_ALL_MS)
        self.expect(self.core.journal.find(LogAppended))
        self.core.journal.clear()
