"""A broker of 5.5.0 on a directory, whose timer messages are counted over all of its lives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fakemq.broker.broker import Broker
from fakemq.config.spec import cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.events import Event, StoreRepaired, Warned
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import send_header
from tests.support.peer import Peer

DAY_MS = 86_400_000
FILES = ("timerlog", "timerwheel", "config/timercheck")
LIVES: dict[str, object] = {
    "mappedFileSizeCommitLog": 1 << 18,
    "mappedFileSizeConsumeQueue": 4_000,
    "maxHashSlotNum": 50,
    "maxIndexNum": 400,
    "mappedFileSizeTimerLog": 1_000,
    "fileReservedTime": 10_000,
    "timerRollWindowSlot": 600,
    "recallMessageEnable": True,
}


class TimedStore:
    """One broker under SYNC_FLUSH; ``acknowledged`` has the keys of its timer messages."""

    def __init__(self, root: Path, seed: int = 1) -> None:
        spec = cluster_spec(
            reference="5.5.0",
            store=str(root),
            clock="frozen",
            start_at="2023-11-14T22:13:20",
            flush="SYNC_FLUSH",
            topics={"orders": 1},
            config=LIVES,
            seed=seed,
        )
        self.root = root / "broker-a-0"
        self.core = ClusterCore(spec, ["127.0.0.1:1"], [10911])
        self.core.stop_logging()
        self.core.start()
        self.broker: Broker = self.core.broker("broker-a")
        self.core.network.listen(self.broker.addr, self.broker.accept)
        self.acknowledged: dict[str, str | None] = {}
        """The key of each message, with its recall handle."""
        self.recalled: set[str] = set()
        self.kills = 0
        self.connect()

    def connect(self) -> None:
        """Connect a producer; a broker ends connections that were idle for two minutes."""
        core = self.core
        self.peer = Peer(core.network, core.clock, core.journal, self.broker.addr)

    def send(self, delay_s: int) -> str:
        """Send a message that is due then; return its key."""
        key = f"{len(self.acknowledged):032}"
        properties = encode_properties_as_java({"UNIQ_KEY": key, "TIMER_DELAY_SEC": str(delay_s)})
        header = send_header("orders", properties=properties)
        answer = self.peer.send(RequestCode.SEND_MESSAGE_V2, header, key.encode())
        response = answer.response
        if response is not None and response.code == ResponseCode.SUCCESS:
            self.acknowledged[key] = response.ext_fields.get("recallHandle")
        return key

    def plain(self) -> None:
        """Send a message without a time."""
        self.peer.send(RequestCode.SEND_MESSAGE_V2, send_header("orders"), b"plain")

    def recall(self, key: str) -> None:
        fields = {"topic": "orders", "producerGroup": "p", "recallHandle": self.acknowledged[key]}
        answer = self.peer.ask(
            RequestCode5.RECALL_MESSAGE,
            ext_fields={name: value for name, value in fields.items() if value},
        )
        if answer.code == ResponseCode.SUCCESS:
            self.recalled.add(key)

    def end(self, how: str) -> None:
        """End the broker: ``stop``, ``kill`` or ``crash``."""
        self.kills += how != "stop"
        if how == "stop":
            self.broker.stop()
        else:
            self.broker.kill(lose_unsynced=how == "crash")
        self.core.network.settle()

    def start(self) -> None:
        """Start it again; the journal is that of this life."""
        self.core.journal.clear()
        self.core.start_broker(self.broker)
        self.core.network.settle()
        self.connect()

    def said(self) -> list[str]:
        """Return what the last start found wrong with timers."""
        journal = self.core.journal
        found: list[Event] = [*journal.find(StoreRepaired), *journal.find(Warned)]
        return [str(one) for one in found if "timer" in str(one).rpartition(self.root.name)[2]]

    def skew(self, ms: int) -> None:
        self.broker.clock.skew_ms = ms

    def advance(self, ms: int) -> None:
        self.core.advance(ms)

    def path(self, name: str) -> Path:
        """Return one of `FILES`; of the timer log its first file."""
        path = self.root / name
        return min(path.iterdir(), default=path / "none") if path.is_dir() else path

    def delivered(self) -> Counter[str]:
        """Return how often each message came."""
        return Counter(
            message.body.decode()
            for message in self.broker.store.messages_in_queue("orders", 0)
            if message.body != b"plain"
        )

    def close(self) -> None:
        self.core.stop()
