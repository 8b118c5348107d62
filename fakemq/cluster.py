"""The cluster that a test starts: `Cluster` for synchronous tests, `AsyncCluster` for asynchronous
ones.

Both run one cluster on a thread of its own, so they work under any event loop or none. They return
immutable values, and handles that ask the cluster again at each use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

from fakemq.clock.durations import Duration, span_ms
from fakemq.config.options import ClusterOptions
from fakemq.config.spec import cluster_spec
from fakemq.handles.brokers import AsyncBrokerHandle, BrokerHandle
from fakemq.handles.clock import AsyncClockHandle, ClockHandle
from fakemq.handles.cluster import WAIT_TIMEOUT, ClusterBase
from fakemq.handles.running import Life, Wait, in_thread, waited
from fakemq.serving.thread import ClusterThread

if TYPE_CHECKING:
    from fakemq.config.spec import ClusterSpec

T = TypeVar("T")


class _StartableCluster(ClusterBase):
    """Options are those of the command line by the same names; ports default to free ones.

    ``masters``, ``slaves`` (per master) and ``namesrvs`` count nodes; ``topics`` are created at
    once, name → queues; ``config`` holds RocketMQ's own broker keys; ``clock`` is ``"real"`` or
    ``"frozen"``, starting at ``start_at``; ``seed`` fixes every random choice.
    Raises ConfigError for contradicting options, NotYetSupported for what is not implemented.
    """

    def __init__(self, **options: Unpack[ClusterOptions]) -> None:
        self._take(cluster_spec(**options, free_ports=True), Life())

    def _take(self, spec: ClusterSpec, life: Life) -> None:
        super().__init__(life)
        self._spec = spec

    def _start(self) -> None:
        life, spec = self._life, self._spec
        if life.thread is not None:
            return
        life.thread = thread = ClusterThread(spec)
        try:
            if spec.control is not None:
                from fakemq.control.port import open_control  # few tests pay for it

                life.control_url = thread.wait(open_control(spec.control, thread.server))
            if spec.ready_file is not None:
                from fakemq.serving.ready import ready_info, write_ready_file  # few tests want it

                write_ready_file(spec.ready_file, ready_info(self._core, life.control_url))
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        thread = self._life.end()
        if thread is not None:
            thread.stop()


class Cluster(_StartableCluster):
    """A RocketMQ cluster for synchronous tests: ``with fakemq.Cluster(masters=2) as mq:``."""

    def start(self) -> Self:
        """Start all nodes; on return everything listens and is registered."""
        self._start()
        return self

    def stop(self) -> None:
        """Stop all nodes cleanly; again does nothing."""
        self._stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def clock(self) -> ClockHandle:
        return ClockHandle(self._running)

    @property
    def brokers(self) -> list[BrokerHandle]:
        """Every broker, in the order of their ports."""
        return [BrokerHandle(self._running, broker) for broker in self._core.brokers.values()]

    def broker(self, name: str) -> BrokerHandle:
        """The broker ``broker-a-0``; a bare ``broker-a`` means its master."""
        return BrokerHandle(self._running, self._core.broker(name))

    def wait_for(self, predicate: Callable[[], T], timeout: Duration = WAIT_TIMEOUT) -> T:
        """Wait in real time until ``predicate`` returns something true; return that.

        It is called again whenever the journal grows. Raises WaitTimeout, with the journal's tail,
        and FakemqError at once when the cluster is stopped.
        """
        return self._wait_for(predicate, span_ms(timeout, name="timeout"), Wait())

    def run_until(
        self, predicate: Callable[[], T], *, at_most: Duration, outside_peers: bool = False
    ) -> T:
        """Move time from deadline to deadline until ``predicate`` returns something true.

        After each step outside peers, if any is or just was connected, get some real time to
        react; their own liveness ages only with ``outside_peers``. Raises WaitTimeout, with the
        journal's tail, when ``at_most`` of the cluster's time has passed.
        """
        at_most_ms = span_ms(at_most, name="at_most")
        return self._run_until(predicate, at_most_ms, outside_peers, Wait())


class AsyncCluster(_StartableCluster):
    """A `Cluster` for asynchronous tests: the same names; what waits or moves time is awaited."""

    @classmethod
    def of(cls, cluster: _StartableCluster) -> Self:
        """An `AsyncCluster` of the same cluster: a change through one is a change to both."""
        view = cls.__new__(cls)
        view._take(cluster._spec, cluster._life)
        return view

    async def start(self) -> Self:
        await in_thread(self._start)
        return self

    async def stop(self) -> None:
        await in_thread(self._stop)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def clock(self) -> AsyncClockHandle:
        return AsyncClockHandle(self._running)

    @property
    def brokers(self) -> list[AsyncBrokerHandle]:
        return [AsyncBrokerHandle(self._running, broker) for broker in self._core.brokers.values()]

    def broker(self, name: str) -> AsyncBrokerHandle:
        return AsyncBrokerHandle(self._running, self._core.broker(name))

    async def wait_for(self, predicate: Callable[[], T], timeout: Duration = WAIT_TIMEOUT) -> T:
        """As `Cluster.wait_for`; the predicate is a plain function, called on another thread."""
        timeout_ms = span_ms(timeout, name="timeout")
        return await waited(partial(self._wait_for, predicate, timeout_ms))

    async def run_until(
        self, predicate: Callable[[], T], *, at_most: Duration, outside_peers: bool = False
    ) -> T:
        """As `Cluster.run_until`; the predicate is a plain function, called on another thread."""
        at_most_ms = span_ms(at_most, name="at_most")
        return await waited(partial(self._run_until, predicate, at_most_ms, outside_peers))
