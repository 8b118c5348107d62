"""The cluster a test holds: `Cluster` for synchronous tests, `AsyncCluster` for asynchronous ones.

Both drive one cluster on a thread of its own, so they work under any event loop or none; what
they give back are immutable snapshots, and handles that ask again each time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

from fakemq.clock.durations import Duration, span_ms
from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.config.options import ClusterOptions
from fakemq.config.spec import cluster_spec
from fakemq.core import inspection
from fakemq.errors import ConfigError, FakemqError, WaitTimeout
from fakemq.handles.clock import AsyncClockHandle, ClockHandle
from fakemq.handles.handles import (
    AsyncBrokerHandle,
    BrokerHandle,
    JournalView,
    NameServerHandle,
    Wait,
    in_thread,
    waited,
)
from fakemq.handles.messages import Contents, Life
from fakemq.serving.thread import ClusterThread

if TYPE_CHECKING:
    from fakemq.config.spec import ClusterSpec
    from fakemq.core.snapshots import Snapshot
    from fakemq.handles.faults import Fault, Faults

T = TypeVar("T")

WAIT_TIMEOUT = "5s"
PATIENCE_MS = 50
"""How long outside peers, if there are any, get to react to each step of ``run_until``."""


class ClusterBase(Contents):
    """What synchronous and asynchronous tests share: all that is done at once.

    Options are those of the command line by the same names; ports default to free ones.

    ``masters``, ``slaves`` (per master) and ``namesrvs`` count nodes; ``topics`` are created at
    once, name → queues; ``config`` holds RocketMQ's own broker keys; ``clock`` is ``"real"`` or
    ``"frozen"``, starting at ``start_at``; ``seed`` fixes every random choice.
    Raises ConfigError for what makes no sense, NotYetSupported for what is not there yet.
    """

    def __init__(self, **options: Unpack[ClusterOptions]) -> None:
        self._take(cluster_spec(**options, free_ports=True))

    def _take(self, spec: ClusterSpec) -> None:
        self._spec = spec
        self._life = Life()
        self.journal = JournalView(self._thread)

    def _start(self) -> None:
        if self._life.thread is None:
            self._life.thread = thread = ClusterThread(self._spec)
            try:
                if self._spec.control is not None:
                    thread.wait(thread.server.open_control())
                if (path := self._spec.ready_file) is not None:
                    from fakemq.serving.ready import (  # few want it here
                        ready_info,
                        write_ready_file,
                    )

                    write_ready_file(path, ready_info(self._core, self.control_url))
            except BaseException:
                self._stop()
                raise

    def _stop(self) -> None:
        thread, self._life.thread = self._life.thread, None
        for wait in list(self._life.waits):
            wait.news.set()
        if thread is not None:
            thread.stop()

    def reset(self) -> None:
        """Back to the start state: topics, groups, messages, offsets, faults, journal, clock.

        Brokers that are down or paused run again. Listeners and live connections stay; a consumer
        that is still attached sees an empty topic, from offset 0.
        """
        thread = self._thread()
        thread.wait(thread.server.reset())

    def snapshot(self) -> Snapshot:
        """All that the brokers hold now: messages, topics, groups, offsets and settings."""
        from fakemq.core.snapshots import Snapshot  # few tests do this

        core = self._core
        return self._thread().call(lambda: Snapshot.of(core))

    def restore(self, snapshot: Snapshot) -> None:
        """Have the brokers hold again what they held then; the clock and the journal go on.

        Brokers that are down or paused run again. Live connections stay; a consumer that is still
        attached goes on where its group had committed by then. ValueError for a snapshot of other
        brokers, and for what is none.
        """
        from fakemq.core.snapshots import Snapshot  # few tests do this

        if not isinstance(snapshot, Snapshot):
            raise ConfigError(f"restore({snapshot!r}): expected what snapshot() gave")
        thread = self._thread()
        thread.wait(thread.server.restore(snapshot))

    @property
    def running(self) -> bool:
        return self._life.thread is not None

    # -- nodes --------------------------------------------------------------------------------

    @property
    def namesrv_addr(self) -> str:
        """What clients are given as name server address: ``host:port``, joined by ``;``."""
        return ";".join(self._core.namesrv_addrs)

    @property
    def control_url(self) -> str | None:
        """Where the control port is, as in ``http://127.0.0.1:8080``; None without one."""
        return self._thread().server.control_url

    @property
    def seed_value(self) -> int:
        """The seed of this run; pass it as ``seed=`` to make the same choices again."""
        return self._core.randomness.seed

    @property
    def faults(self) -> Faults:
        """Where faults are placed."""
        from fakemq.handles.faults import Faults  # many tests place none

        return Faults(self._thread)

    @property
    def name_servers(self) -> list[NameServerHandle]:
        """Every name server, in the order of their ports."""
        return [NameServerHandle(self._thread, one) for one in self._core.name_servers]

    def name_server(self, which: str | int = 0) -> NameServerHandle:
        """A name server by number, by name (``namesrv-0``) or by address."""
        return NameServerHandle(self._thread, self._core.name_servers_called(which)[0])

    def partition(self, source: str, target: str, *, one_way: bool = False) -> Fault:
        """Let nothing through between two ends until `heal`; as ``faults.partition``."""
        return self.faults.partition(source, target, one_way=one_way)

    def heal(self) -> None:
        """End every partition."""
        self.faults.heal()

    # -- waiting ------------------------------------------------------------------------------

    def _wait_for(self, predicate: Callable[[], T], timeout_ms: int, wait: Wait) -> T:
        with self._news(wait):
            value = self._watch(predicate, timeout_ms, wait)
        if value:
            return value
        why = [f"still {value!r} after {timeout_ms} ms of real time", self.stillness()]
        raise self._timed_out("; ".join(filter(None, why)))

    def _run_until(
        self, predicate: Callable[[], T], at_most_ms: int, outside_peers: bool, wait: Wait
    ) -> T:
        thread, core = self._thread(), self._core
        until_ms = thread.call(core.clock.elapsed_ms) + at_most_ms

        def step() -> bool:
            left_ms = until_ms - core.clock.elapsed_ms()
            if left_ms > 0:
                core.step(left_ms, outside_peers=outside_peers)
            return left_ms > 0

        with self._news(wait):
            moved = True
            while moved:
                patience_ms = PATIENCE_MS if core.network.links.reach_outside() else 0
                if value := self._watch(predicate, patience_ms, wait):
                    return value
                moved = thread.call(step)
        raise self._timed_out(f"not after {at_most_ms} ms of the cluster's time")

    @contextmanager
    def _news(self, wait: Wait) -> Iterator[None]:
        """Wake who waits whenever the journal grows, and when the cluster is stopped.

        FakemqError if it is stopped meanwhile, whatever came of it.
        """
        life, thread, journal = self._life, self._thread(), self._core.journal
        life.waits.add(wait)
        unlisten = thread.call(lambda: journal.listen(lambda entry: wait.news.set()))
        try:
            yield
        except (FakemqError, RuntimeError):
            if life.thread is thread:
                raise
            raise FakemqError("the cluster was stopped while it was waited for") from None
        finally:
            life.waits.discard(wait)
            if life.thread is thread:
                thread.call(unlisten)

    def _watch(self, predicate: Callable[[], T], patience_ms: int, wait: Wait) -> T:
        """What ``predicate`` gives as soon as it is true, or when real time is up."""
        thread = self._thread()
        until_ms = real_elapsed_ms() + patience_ms
        while True:
            wait.news.clear()
            if wait.given_up:
                raise WaitTimeout("nobody waits any more")
            if self._life.thread is not thread:
                raise FakemqError("the cluster has been stopped")
            value = predicate()
            if inspect.iscoroutine(value):
                value.close()
                raise TypeError(
                    f"{predicate!r} gives something to await; the predicate is a plain function"
                )
            left_ms = until_ms - real_elapsed_ms()
            if value or left_ms <= 0:
                return value
            wait.news.wait(left_ms / 1000)

    def _timed_out(self, why: str) -> WaitTimeout:
        tail = inspection.text(self.journal.tail())
        return WaitTimeout(f"{why}; the journal ends with\n{tail}")

    def stillness(self) -> str:
        """Why the clock does nothing by itself, and what it would do next; "" if it does."""
        core = self._core
        return self._thread().call(lambda: inspection.stillness(core))

    def __repr__(self) -> str:
        if not self.running:
            return "<fakemq cluster, not running>"
        brokers = ", ".join(
            f"{broker.name} {broker.addr}" for broker in self._core.brokers.values()
        )
        return f"<fakemq cluster, name server {self.namesrv_addr}, {brokers}>"


class Cluster(ClusterBase):
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
        return ClockHandle(self._thread)

    @property
    def brokers(self) -> list[BrokerHandle]:
        """Every broker, in the order of their ports."""
        return [BrokerHandle(self._thread, broker) for broker in self._core.brokers.values()]

    def broker(self, name: str) -> BrokerHandle:
        """The broker ``broker-a-0``; a bare ``broker-a`` means its master."""
        return BrokerHandle(self._thread, self._core.broker(name))

    def wait_for(self, predicate: Callable[[], T], timeout: Duration = WAIT_TIMEOUT) -> T:
        """Wait in real time until ``predicate`` gives something true; gives that.

        It is asked again whenever the journal grows. Raises WaitTimeout, with the journal's tail,
        and FakemqError at once when the cluster is stopped.
        """
        return self._wait_for(predicate, span_ms(timeout, name="timeout"), Wait())

    def run_until(
        self, predicate: Callable[[], T], *, at_most: Duration, outside_peers: bool = False
    ) -> T:
        """Move time from deadline to deadline until ``predicate`` gives something true.

        After each step outside peers, if any is or just was connected, get some real time to
        react; their own liveness ages only with ``outside_peers``. Raises WaitTimeout, with the
        journal's tail, when ``at_most`` of the cluster's time has passed.
        """
        at_most_ms = span_ms(at_most, name="at_most")
        return self._run_until(predicate, at_most_ms, outside_peers, Wait())


class AsyncCluster(ClusterBase):
    """A `Cluster` for asynchronous tests: the same names; what waits or moves time is awaited."""

    @classmethod
    def of(cls, cluster: ClusterBase) -> Self:
        """An awaitable face of a cluster: what is done to one of them is done to both."""
        face = cls.__new__(cls)
        face.__dict__.update(cluster.__dict__)
        return face

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
        return AsyncClockHandle(self._thread)

    @property
    def brokers(self) -> list[AsyncBrokerHandle]:
        return [AsyncBrokerHandle(self._thread, broker) for broker in self._core.brokers.values()]

    def broker(self, name: str) -> AsyncBrokerHandle:
        return AsyncBrokerHandle(self._thread, self._core.broker(name))

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
