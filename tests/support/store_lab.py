"""A store on a frozen clock, with files small enough to roll over."""

from __future__ import annotations

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.config.model import BrokerConfig
from fakemq.journal.journal import Journal
from fakemq.protocol.properties import decode_properties
from fakemq.store.inner_message import inner_message
from fakemq.store.memory_files import GIB, MemoryFiles
from fakemq.store.puts import PutMessageResult
from fakemq.store.store import MessageStore
from tests.support.time import START_MS


class Puts:
    """Puts messages into its ``store``."""

    store: MessageStore

    def put(
        self,
        body: bytes = b"hello",
        topic: str = "orders",
        queue_id: int = 0,
        properties: str = "",
        sys_flag: int = 0,
    ) -> PutMessageResult:
        return self.store.put_message(
            inner_message(
                topic,
                queue_id,
                body,
                properties=decode_properties(properties),
                properties_string=properties,
                born_timestamp_ms=START_MS - 5,
                sys_flag=sys_flag,
            )
        )


class StoreLab(Puts):
    """A store and everything around it."""

    def __init__(
        self,
        *,
        log_bytes: int = 4096,
        queue_units: int = 300_000,
        limit_bytes: int = GIB,
        ram_bytes: int = GIB,
        **config: int | str | bool,
    ) -> None:
        self.clock = Clock(frozen=True, start_at_ms=START_MS)
        self.journal = Journal(self.clock)
        self.config = BrokerConfig(
            mapped_file_size_commit_log=log_bytes,
            mapped_file_size_consume_queue=queue_units * 20,
            **{"max_hash_slot_num": 97, **config},
        )
        node_clock = NodeClock(self.clock, "broker-a-0")
        self.files = MemoryFiles(node_clock, limit_bytes)
        self.store = MessageStore(
            self.config, self.files, node_clock, self.journal, "broker-a-0", ram_bytes
        )

    def advance(self, ms: int) -> None:
        self.clock.advance(ms / 1000)
