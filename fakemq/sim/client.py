"""A client program in the simulator: a program inside the cluster, and what it draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.client.options import ClientConfig
from fakemq.client.tasks import Sleep, Task
from fakemq.errors import FakemqError
from fakemq.inside.program import InsideProgram
from fakemq.sim.events import SendFailed

if TYPE_CHECKING:
    import random

    from fakemq.core.cluster import ClusterCore
    from fakemq.sim.plan import ProducerPlan

RESEND_MS = 2_000
ATTEMPTS = 30


class SimulatedClient(InsideProgram):
    """One client program; ``draw`` decides what it does."""

    def __init__(self, core: ClusterCore, name: str, draw: random.Random) -> None:
        self.random = draw
        super().__init__(core, name, ClientConfig(client_id=name, seed=draw.getrandbits(32)))

    def start(self) -> None:
        """Enter the cluster, and begin the client's own `tasks`."""
        super().start()
        for task in self.tasks():
            self.run(task)

    def tasks(self) -> list[Task[None]]:
        """Return the tasks that run in parallel as long as the client lives."""
        return []

    def run(self, task: Task[None]) -> None:
        """Run one more task; it begins at once."""
        self.services.tasks.start(task, f"of {self.name}")


class Sender(SimulatedClient):
    """Sends one message after the other, until ``until_ms`` of elapsed time."""

    def __init__(
        self, core: ClusterCore, plan: ProducerPlan, draw: random.Random, until_ms: int
    ) -> None:
        super().__init__(core, plan.name, draw)
        self.plan = plan
        self._until_ms = until_ms
        self._count = 0

    def _sending(self) -> Task[None]:
        plan = self.plan
        while True:
            yield Sleep(self.random.randint(1, 2 * plan.pause_ms))
            if self.clock.elapsed_ms() >= self._until_ms:
                return
            # Sometimes a burst of messages in one moment, as real programs send.
            for _ in range(1 if self.random.random() < 0.8 else plan.burst):
                self._count += 1
                yield from self.send_one(f"{self.name}-{self._count}")

    def send_one(self, key: str) -> Task[bool]:
        """Send the message with the key ``key``. Return True if it is known to be stored."""
        raise NotImplementedError

    def failed(self, key: str, error: str) -> None:
        """Write to the journal that a message was not sent."""
        self.journal.add(SendFailed(node=self.name, topic=self.plan.topic, key=key, error=error))


def why(error: FakemqError) -> str:
    """Return the text of an error for the journal."""
    return f"{type(error).__name__}: {error}"
