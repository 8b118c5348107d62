"""What a client in the thread of its caller does beside an asynchronous one."""

from __future__ import annotations

from typing import Self

from fakemq.client.carriers.callers_thread import CallerCarrier
from fakemq.client.carriers.pipeline import Pipeline
from fakemq.client.instance import ClientInstance
from fakemq.client.numbers import require_wait
from fakemq.client.parallel import Parallel


class ClientBase:
    """A client that moves on only while a call waits."""

    instance: ClientInstance
    _carrier: CallerCarrier

    def parallel(self) -> Parallel:
        """Return a `Parallel` to run several operations at once over these connections."""
        return Parallel(self._carrier)

    def poll(self, *, timeout_ms: int) -> None:
        """Wait up to ``timeout_ms`` for requests from brokers, and answer them.

        They are answered while any other call waits, too.
        """
        require_wait(timeout_ms)
        self._carrier.poll(timeout_ms)

    def channel(self, addr: str) -> Pipeline:
        """Return the connection to an address, for several requests at once.

        It is opened with the first request. If no peer answers, each response is a
        RemotingConnectError.
        """
        return Pipeline(self._carrier, addr)

    def close(self) -> None:
        """Leave all groups and close every connection.

        A client serves the process that created it: in a forked child this only drops the child's
        copies of the connections, and every other call raises MQClientError.
        """
        if self._carrier.is_usable:
            try:
                self._carrier.run(self.instance.unregister_all())
            finally:
                self._carrier.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
