"""A cluster without a loop on a frozen clock, and client programs inside it."""

from __future__ import annotations

from typing import TypeVar

from fakemq.client.messages import Message, SendResult
from fakemq.client.options import ClientConfig
from fakemq.client.send_operations import SendOperations
from fakemq.client.tasks import Task
from fakemq.config.spec import cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.inside.program import InsideProgram

T = TypeVar("T")

NAMESRV, BROKER = "127.0.0.1:9876", "127.0.0.1:10911"


class InsideLab:
    """``core``, with a topic ``orders`` of four queues, of a release of RocketMQ."""

    def __init__(self, reference: str = "4.9.7") -> None:
        spec = cluster_spec(
            namesrv_port=9876,
            broker_port=10911,
            clock="frozen",
            seed=1,
            topics={"orders": 4},
            reference=reference,
        )
        self.core = ClusterCore(spec, [NAMESRV], [10911])
        self.core.start()

    def program(self, group: str = "asker") -> InsideProgram:
        """Return a program that has started."""
        name = self.core.guests.name_for(group)
        program = InsideProgram(self.core, name, ClientConfig(client_id=name, seed=1))
        program.start()
        return program

    def run(self, program: InsideProgram, task: Task[T]) -> T:
        """Return the result of a task that needs no time."""
        return program.begin(task, "test").result()

    def send(self, program: InsideProgram, body: bytes) -> SendResult:
        """Send a message to ``orders``."""
        producer = SendOperations(program.instance, "group")
        return self.run(program, producer.send(Message("orders", body)))

    def bodies(self) -> list[bytes]:
        """Return the stored bodies, in the order of storing."""
        store = self.core.broker("broker-a").store
        found = [one for queue in range(4) for one in store.messages_in_queue("orders", queue)]
        return [one.body for one in sorted(found, key=lambda one: one.commit_log_offset)]
