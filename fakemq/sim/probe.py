"""A client that asks whether a quiet cluster serves: it sends to each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.messages import Message
from fakemq.client.producing.producer import ProducerCore
from fakemq.client.producing.settings import ProducerSettings
from fakemq.client.tasks import Sleep, Task
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.sim.client import SimulatedClient, why
from fakemq.sim.events import Probed

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from fakemq.core.cluster import ClusterCore

NAME = "probe"
TOPIC = "orders"
PROBES = 3
PAUSE_MS = 10_000


def probe_key(broker_name: str, number: int) -> str:
    """Return the key of a message to a group; they are counted from 0."""
    return f"{NAME}-{broker_name}-{number}"


class Probe(SimulatedClient):
    """Sends `PROBES` messages to each of some broker names, once each: nothing is tried again."""

    def __init__(self, core: ClusterCore, broker_names: Sequence[str], draw: random.Random) -> None:
        super().__init__(core, NAME, draw)
        self._broker_names = broker_names
        settings = ProducerSettings(group=f"group-of-{NAME}", retry_times_when_send_failed=0)
        self._producer = ProducerCore(self.services, settings)

    def tasks(self) -> list[Task[None]]:
        return [self._probing()]

    def _probing(self) -> Task[None]:
        yield from self._producer.start()
        for number in range(PROBES):
            for name in self._broker_names:
                key = probe_key(name, number)
                status = yield from self._send(key, name)
                self.journal.add(Probed(node=self.name, key=key, broker=name, status=status))
            yield Sleep(PAUSE_MS)

    def _send(self, key: str, broker_name: str) -> Task[str]:
        queue = MessageQueue(topic=TOPIC, broker_name=broker_name, queue_id=0)
        try:
            result = yield from self._producer.send(
                Message(TOPIC, key.encode(), keys=key), queue=queue
            )
        except (MQBrokerError, MQClientError, RemotingError) as error:
            return why(error)
        return result.status.name
