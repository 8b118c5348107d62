"""A client that does nothing wrong, and must not notice an attack beside it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from fakemq.client.blocking import Client
from fakemq.client.messages import Message
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.queue import MessageQueue

TOPIC, GROUP = "Honest", "GHonest"
QUEUES = 2
PAUSE_S = 0.01
TIMEOUT_MS = 30_000
"""Long: on a machine with much to do every process waits."""
COMMIT_EVERY = 10


class Honest:
    """Sends, pulls, compares and commits on a thread of its own, until it is stopped.

    ``findings`` has what failed, ``sent`` what was acknowledged: queue → bodies in their order.
    """

    def __init__(self, namesrv_addr: str) -> None:
        self.findings: list[str] = []
        self.sent: dict[int, list[bytes]] = {number: [] for number in range(QUEUES)}
        self.committed: dict[int, int] = {}
        self.requests = 0
        self._addr = namesrv_addr
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="honest")

    def __enter__(self) -> Honest:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _client(self) -> Client:
        return Client(
            self._addr, consumer_group=GROUP, api_timeout_ms=TIMEOUT_MS, send_timeout_ms=TIMEOUT_MS
        )

    def _run(self) -> None:
        try:
            with self._client() as client:
                client.subscribe(TOPIC)
                client.heartbeat()
                number = 0
                while not self._over.wait(PAUSE_S):
                    number += 1
                    self._send(client, number)
                    if number % COMMIT_EVERY == 0:
                        self._consume(client)
                        client.heartbeat()
        except (FakemqError, AssertionError, OSError) as error:
            self.findings.append(f"the honest client failed: {type(error).__name__}: {error}")

    def _send(self, client: Client, number: int) -> None:
        body = b"honest %d" % number
        result = client.send(Message(TOPIC, body))
        bodies = self.sent[result.queue.queue_id]
        assert result.queue_offset == len(bodies), (result, len(bodies))
        bodies.append(body)
        self.requests += 1

    def _consume(self, client: Client) -> None:
        for queue in client.subscribe_queues(TOPIC):
            number = queue.queue_id
            start = self.committed.get(number, 0)
            pulled = _pull_all(client, queue, start, len(self.sent[number]))
            assert pulled == self.sent[number][start:], (number, start, pulled[:3])
            self.committed[number] = start + len(pulled)
            client.update_offset(queue, self.committed[number])
            assert client.query_offset(queue) == self.committed[number]
            self.requests += 3

    def losses(self, namesrv_addr: str) -> Iterator[str]:
        """Yield what was acknowledged and is no more, after a restart at this address."""
        self._addr = namesrv_addr
        with self._client() as client:
            for queue in client.subscribe_queues(TOPIC):
                number = queue.queue_id
                sent = self.sent[number]
                there = _pull_all(client, queue, 0, len(sent))
                if there != sent:
                    yield f"of {len(sent)} honest messages in queue {number}, {len(there)} are left"
                committed = client.query_offset(queue) if number in self.committed else None
                if committed != self.committed.get(number):
                    yield f"queue {number}: {committed} is committed, not {self.committed[number]}"


def _pull_all(client: Client, queue: MessageQueue, start: int, end: int) -> list[bytes]:
    bodies: list[bytes] = []
    while start + len(bodies) < end:
        result = client.pull(queue, start + len(bodies), timeout_ms=TIMEOUT_MS)
        if not result.messages:
            break
        bodies += [message.body for message in result.messages]
    return bodies
