"""A store in a directory on a frozen clock, which can be stopped, killed and started again."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from pathlib import Path

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.config.log_folders import log_paths
from fakemq.config.model import BrokerConfig
from fakemq.events import StoreRepaired
from fakemq.events.store import StoreRecovered
from fakemq.journal.journal import Journal
from fakemq.protocol.message import MessageExt
from fakemq.store.directory_files import DirectoryFiles
from fakemq.store.disk import Disk
from fakemq.store.puts import PutMessageResult
from fakemq.store.store import MessageStore
from tests.support.store_lab import Puts
from tests.support.time import START_MS

NODE = "broker-a-0"


class DiskLab(Puts):
    """A store on a directory, and everything around it; ``files`` and ``disk`` are its parts."""

    def __init__(
        self,
        root: Path,
        *,
        log_bytes: int = 4096,
        queue_units: int = 50,
        seed: int = 1,
        at_ms: int = START_MS,
        **config: int | str | bool,
    ) -> None:
        self.root = root
        self.clock = Clock(frozen=True, start_at_ms=at_ms)
        self.journal = Journal(self.clock)
        self.config = BrokerConfig(
            store_path_root_dir=str(root),
            mapped_file_size_commit_log=log_bytes,
            mapped_file_size_consume_queue=queue_units * 20,
            **{"max_hash_slot_num": 97, "max_index_num": 400, **config},
        )
        self.node_clock = NodeClock(self.clock, NODE)
        self.files = DirectoryFiles(str(root), self.node_clock, log_paths(self.config))
        self.store = MessageStore(self.config, self.files, self.node_clock, self.journal, NODE, 1)
        self._soon: deque[Callable[[], None]] = deque()
        self.clock.settle = self.settle
        self.disk = Disk(
            self.store,
            self.files,
            self.node_clock,
            self.journal,
            NODE,
            self._soon.append,
            random.Random(seed),
        )

    def __enter__(self) -> DiskLab:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> StoreRecovered:
        """Start, and give what the journal says of it."""
        self.disk.start()
        return self.journal.find(StoreRecovered)[-1]

    def stop(self) -> None:
        self.disk.stop()
        self.node_clock.cancel_all()

    def kill(self, *, lose_unsynced: bool = False) -> None:
        self.disk.kill(lose_unsynced=lose_unsynced)
        self.node_clock.cancel_all()

    def settle(self) -> None:
        while self._soon:
            self._soon.popleft()()

    def turn(self) -> None:
        """Do what is for the next turn, and nothing that is posted meanwhile."""
        for _ in range(len(self._soon)):
            self._soon.popleft()()

    def advance(self, ms: int) -> None:
        self.settle()
        self.clock.advance_ms(ms)
        self.settle()

    def put(
        self,
        body: bytes = b"hello",
        topic: str = "orders",
        queue_id: int = 0,
        properties: str = "KEYS\x01k\x02",
        sys_flag: int = 0,
    ) -> PutMessageResult:
        return super().put(body, topic, queue_id, properties, sys_flag)

    def messages(self, topic: str = "orders", queue_id: int = 0) -> list[MessageExt]:
        return list(self.store.messages_in_queue(topic, queue_id))

    def bodies(self, topic: str = "orders", queue_id: int = 0) -> list[bytes]:
        return [message.body for message in self.messages(topic, queue_id)]

    def repairs(self) -> list[StoreRepaired]:
        return self.journal.find(StoreRepaired)

    def path(self, name: str) -> Path:
        return self.root / name
