"""A client program in the simulator: a program inside the cluster, and what it draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.client.options import ClientConfig
from fakemq.errors import FakemqError
from fakemq.inside.program import InsideProgram

if TYPE_CHECKING:
    import random

    from fakemq.client.tasks import Task
    from fakemq.core.cluster import ClusterCore


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


def why(error: FakemqError) -> str:
    """Return the text of an error for the journal."""
    return f"{type(error).__name__}: {error}"
