"""The cluster that a test starts: `Cluster` for synchronous tests, `AsyncCluster` for asynchronous
ones.

Both run one cluster on a thread of its own, so they work under any event loop or none. They return
immutable values, and handles that ask the cluster again at each use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal, Self, TypeVar, Unpack, overload

from fakemq.awaited import must_be_awaited
from fakemq.clock.durations import Duration, span_ms
from fakemq.config.options import shows_options
from fakemq.config.spec import cluster_spec
from fakemq.handles.brokers import AsyncBrokerHandle, BrokerHandle
from fakemq.handles.clock import AsyncClockHandle, ClockHandle
from fakemq.handles.cluster import WAIT_TIMEOUT, ClusterBase
from fakemq.handles.running import PRODUCERS, ClusterLife, LongCall, in_thread, moved, waited
from fakemq.serving.limits import require_limits
from fakemq.serving.thread import ClusterThread

if TYPE_CHECKING:
    from fakemq.client.faces.async_producer import AsyncProducer
    from fakemq.client.faces.handlers import Subscribe
    from fakemq.client.faces.options import ProducerOptions, PushOptions
    from fakemq.client.faces.producer import Producer
    from fakemq.config.option_types import ClusterOptions
    from fakemq.config.spec import ClusterSpec
    from fakemq.handles.clients.async_consumers import AsyncInsideConsumer
    from fakemq.handles.clients.async_producers import AsyncInsideProducer
    from fakemq.handles.clients.async_sockets import AsyncRecordingConsumer
    from fakemq.handles.clients.consumers import InsideConsumer
    from fakemq.handles.clients.producers import InsideProducer
    from fakemq.handles.clients.recording import OnMessage
    from fakemq.handles.clients.sockets import RecordingConsumer

T = TypeVar("T")


class _StartableCluster(ClusterBase):
    """The start, stop and options that both clusters share.

    The options have the names and units of the command line's; see `ClusterOptions` for all.
    ``masters``, ``slaves`` (for each master) and ``namesrvs`` are numbers of nodes. ``topics`` maps
    the names of topics to create to their numbers of queues, or to their settings, such as
    ``{"queues": 4, "message_type": "FIFO"}`` at 5.5.0. ``config`` holds RocketMQ's own broker
    keys. ``clock`` is ``"real"`` (default) or ``"frozen"``; it begins at ``start_at``. ``seed``
    fixes every random choice. Ports are free ones by default.

    Raise ConfigError for options that contradict each other, NotYetSupported for an option that is
    not implemented yet.
    """

    def __init__(self, **options: Unpack[ClusterOptions]) -> None:
        self._take(cluster_spec(**options, free_ports=True), ClusterLife())

    def _take(self, spec: ClusterSpec, life: ClusterLife) -> None:
        super().__init__(life)
        self._spec = spec

    def _start(self) -> None:
        life, spec = self._life, self._spec
        if life.thread is not None:
            return
        require_limits(spec)
        life.thread = thread = ClusterThread(spec)
        try:
            if spec.speaks_http:
                from fakemq.control.opening import open_http  # few tests pay for it

                life.control_url = thread.wait(open_http(thread.server))
            if spec.ready_file is not None:
                from fakemq.serving.ready import ready_info, write_ready_file  # few tests want it

                info = ready_info(thread.server, life.control_url)
                write_ready_file(spec.ready_file, info)
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        if self._life.thread is not None:
            self._life.thread.require_waiting()
            self._life.thread.server.core.end_moves()  # else the clients wait for it
            self._life.close_sockets()
        thread = self._life.end()
        if thread is not None:
            thread.stop()


@shows_options
class Cluster(_StartableCluster):
    """A RocketMQ cluster for synchronous tests: ``with fakemq.Cluster(masters=2) as mq:``.

    The options have the names and units of the command line's; see `ClusterOptions` for all.
    ``masters``, ``slaves`` (for each master) and ``namesrvs`` are numbers of nodes. ``topics`` maps
    the names of topics to create to their numbers of queues, or to their settings, such as
    ``{"queues": 4, "message_type": "FIFO"}`` at 5.5.0. ``config`` holds RocketMQ's own broker
    keys. ``clock`` is ``"real"`` (default) or ``"frozen"``; it begins at ``start_at``. ``seed``
    fixes every random choice. Ports are free ones by default.

    Raise ConfigError for options that contradict each other, NotYetSupported for an option that is
    not implemented yet. Methods that need the running cluster raise RuntimeError before `start` and
    after `stop`.
    """

    def start(self) -> Self:
        """Start all nodes and return this cluster; do nothing if it runs already.

        On return all ports listen and all brokers are registered. Raise FakemqError if a node
        cannot start, for example because another process has its port.
        """
        self._start()
        return self

    def stop(self) -> None:
        """Stop all nodes cleanly; do nothing if the cluster does not run."""
        self._stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def clock(self) -> ClockHandle:
        """The cluster's clock: read it, freeze it, or move it with `ClockHandle.advance`."""
        return ClockHandle(self._running)

    @property
    def brokers(self) -> list[BrokerHandle]:
        """Every broker, in the order of their ports."""
        return [BrokerHandle(self._running, broker) for broker in self._core.brokers.values()]

    def broker(self, name: str) -> BrokerHandle:
        """Return the broker with a node name such as ``broker-a-0``.

        A brokerName without an id, such as ``broker-a``, means its master. Raise LookupError if
        there is no such broker.
        """
        return BrokerHandle(self._running, self._core.broker(name))

    def failover(self, broker_name: str) -> BrokerHandle:
        """Kill the master of a group under controllers; return the next, WaitTimeout after 30 s."""
        return self.broker(self._fail_over(broker_name, LongCall()))

    @overload
    def producer(
        self,
        *,
        group: str = PRODUCERS,
        kind: Literal["inside"] = "inside",
        **options: Unpack[ProducerOptions],
    ) -> InsideProducer: ...

    @overload
    def producer(
        self,
        *,
        group: str = PRODUCERS,
        kind: Literal["blocking"],
        **options: Unpack[ProducerOptions],
    ) -> Producer: ...

    def producer(
        self, *, group: str = PRODUCERS, kind: str = "inside", **options: Unpack[ProducerOptions]
    ) -> InsideProducer | Producer:
        """Return a `fakemq.client.Producer` of this cluster, which has started.

        There are two kinds: ``"inside"`` lives in the cluster, on its clock and without a socket;
        ``"blocking"`` has threads and sockets, in real time. Either ends with its `close`, or when
        the cluster stops; one inside also ends with a reset. The options are those of
        `fakemq.client.Producer`.
        """
        from fakemq.handles.clients import opening  # many tests have no clients

        return opening.producer(self, kind, group, options)

    @overload
    def consumer(
        self,
        *,
        group: str,
        subscribe: Subscribe,
        on_message: OnMessage | None = None,
        kind: Literal["inside"] = "inside",
        **options: Unpack[PushOptions],
    ) -> InsideConsumer: ...

    @overload
    def consumer(
        self,
        *,
        group: str,
        subscribe: Subscribe,
        on_message: OnMessage | None = None,
        kind: Literal["blocking"],
        **options: Unpack[PushOptions],
    ) -> RecordingConsumer: ...

    def consumer(
        self,
        *,
        group: str,
        subscribe: Subscribe,
        on_message: OnMessage | None = None,
        kind: str = "inside",
        **options: Unpack[PushOptions],
    ) -> InsideConsumer | RecordingConsumer:
        """Return a `fakemq.client.PushConsumer` of this cluster, which has started.

        ``subscribe`` maps topics to tags, such as ``{"orders": "*"}``, or is one topic.
        ``on_message`` is called with each message: returning acknowledges it, raising sends it
        back; without a function all are acknowledged. Both kinds, as those of `producer`, have
        ``received`` and ``failures``; see `InsideConsumer` for what functions can do inside. The
        other options are those of `fakemq.client.PushConsumer`. Topics that do not exist are
        created, because a consumer looks for them only every 30 s.
        """
        from fakemq.handles.clients import opening  # many tests have no clients

        return opening.consumer(self, kind, group, subscribe, on_message, options)

    def settle(self) -> None:
        """Let all happen that is due now; return when no client inside has anything left to do.

        Time does not move: a message with a delay stays where it is. Raise FakemqError if the
        cluster is stopped meanwhile, and within a function that a client inside calls.
        """
        moved(self._running(), self._core.settle)

    def wait_for(self, predicate: Callable[[], T], timeout: Duration = WAIT_TIMEOUT) -> T:
        """Wait in real time until ``predicate`` returns a true value, and return that value.

        ``predicate`` is called at once and again whenever the journal grows. ``timeout`` is a
        duration such as ``"5s"`` (default). Raise WaitTimeout, with the likely causes and the
        journal's last entries, when the time is over. Raise FakemqError at once if the cluster is
        stopped meanwhile.
        """
        return self._wait_for(predicate, span_ms(timeout, name="timeout"), LongCall())

    def run_until(
        self, predicate: Callable[[], T], *, at_most: Duration, outside_peers: bool = False
    ) -> T:
        """Move time from deadline to deadline until ``predicate`` returns a true value; return it.

        ``at_most`` is the longest duration, such as ``"10m"``, to move the cluster's time. While
        peers outside the process are connected, each step leaves them up to 50 ms of real time to
        react. In the second half of ``at_most`` a frozen clock leaves them up to 500 ms, 5 s more
        in all, as a busy machine may be slow. Their timeouts count the moved time only with
        ``outside_peers=True``.

        Raise WaitTimeout, with the likely causes and the journal's last entries, when ``at_most``
        has passed; FakemqError if the cluster is stopped meanwhile.
        """
        at_most_ms = span_ms(at_most, name="at_most")
        return self._run_until(predicate, at_most_ms, outside_peers, LongCall())


@shows_options
@must_be_awaited
class AsyncCluster(_StartableCluster):
    """A `Cluster` for asynchronous tests, with the same options, methods and errors.

    Example: ``async with fakemq.AsyncCluster(masters=2) as mq:``. Methods that wait or move time
    are awaited; all others are called as in `Cluster`.
    """

    @classmethod
    def of(cls, cluster: _StartableCluster) -> Self:
        """Return an `AsyncCluster` of the same cluster; both objects change the same nodes."""
        view = cls.__new__(cls)
        view._take(cluster._spec, cluster._life)
        return view

    async def start(self) -> Self:
        """Start all nodes, as `Cluster.start`."""
        await in_thread(self._start)
        return self

    async def stop(self) -> None:
        """Stop all nodes cleanly, as `Cluster.stop`."""
        await in_thread(self._stop)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def clock(self) -> AsyncClockHandle:
        """The cluster's clock, as `Cluster.clock`; methods that move time are awaited."""
        return AsyncClockHandle(self._running)

    @property
    def brokers(self) -> list[AsyncBrokerHandle]:
        """Every broker, as `Cluster.brokers`; methods that wait are awaited."""
        return [AsyncBrokerHandle(self._running, broker) for broker in self._core.brokers.values()]

    def broker(self, name: str) -> AsyncBrokerHandle:
        """Return the broker with this name, as `Cluster.broker`."""
        return AsyncBrokerHandle(self._running, self._core.broker(name))

    async def failover(self, broker_name: str) -> AsyncBrokerHandle:
        """Kill the master of a group and return the next one, as `Cluster.failover`."""
        return self.broker(await waited(partial(self._fail_over, broker_name)))

    @overload
    def producer(
        self,
        *,
        group: str = PRODUCERS,
        kind: Literal["inside"] = "inside",
        **options: Unpack[ProducerOptions],
    ) -> AsyncInsideProducer: ...

    @overload
    def producer(
        self,
        *,
        group: str = PRODUCERS,
        kind: Literal["async"],
        **options: Unpack[ProducerOptions],
    ) -> AsyncProducer: ...

    def producer(
        self, *, group: str = PRODUCERS, kind: str = "inside", **options: Unpack[ProducerOptions]
    ) -> AsyncInsideProducer | AsyncProducer:
        """Return a producer of this cluster, as `Cluster.producer`; its sends are awaited.

        It is a `fakemq.client.AsyncProducer`. The kind ``"async"`` starts in its ``async with``
        block. One inside the cluster has started, and may have such a block.
        """
        from fakemq.handles.clients import opening  # many tests have no clients

        return opening.async_producer(self, kind, group, options)

    @overload
    def consumer(
        self,
        *,
        group: str,
        subscribe: Subscribe,
        on_message: OnMessage | None = None,
        kind: Literal["inside"] = "inside",
        **options: Unpack[PushOptions],
    ) -> AsyncInsideConsumer: ...

    @overload
    def consumer(
        self,
        *,
        group: str,
        subscribe: Subscribe,
        on_message: OnMessage | None = None,
        kind: Literal["async"],
        **options: Unpack[PushOptions],
    ) -> AsyncRecordingConsumer: ...

    def consumer(
        self,
        *,
        group: str,
        subscribe: Subscribe,
        on_message: OnMessage | None = None,
        kind: str = "inside",
        **options: Unpack[PushOptions],
    ) -> AsyncInsideConsumer | AsyncRecordingConsumer:
        """Return a push consumer, as `Cluster.consumer`, of one of the kinds of `producer`."""
        from fakemq.handles.clients import opening  # many tests have no clients

        return opening.async_consumer(self, kind, group, subscribe, on_message, options)

    async def settle(self) -> None:
        """Let all happen that is due now, as `Cluster.settle`."""
        running, core = self._running(), self._core
        await waited(partial(moved, running, core.settle))

    async def wait_for(self, predicate: Callable[[], T], timeout: Duration = WAIT_TIMEOUT) -> T:
        """Wait in real time for ``predicate``, as `Cluster.wait_for`.

        ``predicate`` is a plain function; it is called on another thread.
        """
        timeout_ms = span_ms(timeout, name="timeout")
        return await waited(partial(self._wait_for, predicate, timeout_ms))

    async def run_until(
        self, predicate: Callable[[], T], *, at_most: Duration, outside_peers: bool = False
    ) -> T:
        """Move time until ``predicate`` is true, as `Cluster.run_until`.

        ``predicate`` is a plain function; it is called on another thread.
        """
        at_most_ms = span_ms(at_most, name="at_most")
        return await waited(partial(self._run_until, predicate, at_most_ms, outside_peers))
