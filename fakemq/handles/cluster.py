"""The part of a cluster's interface that synchronous and asynchronous tests share: every operation
that takes effect at once, and the two loops that wait for a predicate."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from fakemq.clock.machine_time import real_elapsed_ms, real_wait_ms
from fakemq.config.checked import flag
from fakemq.core import inspection, views
from fakemq.errors import ArgumentError, ConfigError, FakemqError, WaitTimeout
from fakemq.handles.journal import JournalView
from fakemq.handles.messages import StoredMessages
from fakemq.handles.patience import PeerPatience
from fakemq.handles.running import ClusterLife, LongCall
from fakemq.journal.wakes import Waiter

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore
    from fakemq.core.replicas import ReplicaGroup
    from fakemq.core.snapshots import Snapshot
    from fakemq.handles.controllers import ControllersHandle
    from fakemq.handles.faults import Fault, Faults
    from fakemq.handles.faults.links import End
    from fakemq.handles.name_servers import NameServerHandle
    from fakemq.handles.proxies import ProxyHandle
    from fakemq.serving.tls import TlsFiles

T = TypeVar("T")

WAIT_TIMEOUT = "5s"
MAX_PAUSE_MS = 100
"""The longest pause between two calls of a predicate, in real time."""
_WAITS_OF_A_MS = 3
"""The pause has one more millisecond for every three waits: 300 waits look 3,000 times a second."""
_CAUSES_SHOWN = 3
"""How many lines of the diagnosis are in the text of a wait that has failed."""
FAILOVER_MS = 30_000
"""How long, in ms of the cluster's time, an election may take until a fail-over has failed."""


class ClusterBase(StoredMessages):
    """A cluster, running or not. All objects with the same `ClusterLife` show the same cluster.

    Methods that need the running cluster raise RuntimeError while it does not run.
    """

    def __init__(self, life: ClusterLife) -> None:
        super().__init__(life)
        self.journal = JournalView(self._running)

    def reset(self, *, test: str = "") -> None:
        """Reset to the start state: topics, groups, messages, offsets, faults, journal, clock.

        Brokers that are down or paused run again. Listening ports and live connections stay. A
        consumer that is still attached sees an empty topic, from offset 0. Clients inside the
        cluster end. ``test`` is the name of the test that begins: diagnoses name the one that
        left a client behind.
        """
        thread = self._running()
        thread.wait(thread.server.reset(test))

    def close_clients(self) -> None:
        """Close every client of this cluster that `producer` and `consumer` have started.

        `stop` and the fixtures do so. Those of kind ``"async"`` end with their own blocks.
        """
        self._life.close_clients()

    def snapshot(self) -> Snapshot:
        """Return a copy of the brokers' messages, topics, groups, offsets and settings.

        With controllers, their groups, epochs and leader are in it, too.
        """
        from fakemq.core.snapshots import Snapshot  # few tests do this

        core = self._core
        return self._running().carry_out(
            Snapshot.in_steps(core.brokers, core.name_servers, core.controllers)
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the brokers' data from a snapshot; clock and journal do not change.

        Brokers that are down or paused run again. Live connections stay. A consumer that is still
        attached continues at the offsets that its group had committed in the snapshot. Raise
        ConfigError if ``snapshot`` is no `Snapshot`, or one of other brokers, if this cluster or
        that of the snapshot alone has controllers, and for a fault that keeps brokers from
        controllers; StoreError where a disk refuses.
        """
        from fakemq.core.snapshots import Snapshot  # few tests do this

        if not isinstance(snapshot, Snapshot):
            raise ConfigError(f"restore({snapshot!r}): expected a result of snapshot()")
        thread = self._running()
        thread.wait(thread.server.restore(snapshot))

    def inspect(self, look: Callable[[ClusterCore], T]) -> T:
        """Call ``look`` with the cluster's core, on the cluster's thread; return its result.

        This is for tests of the cluster's inside: the classes of a core are internal and may change
        with any version. ``look`` must not block, because the whole cluster stops meanwhile.
        """
        core = self._core
        return self._call(lambda: look(core))

    @property
    def running(self) -> bool:
        """Whether the cluster has been started and not been stopped."""
        return self._life.thread is not None

    # -- nodes --------------------------------------------------------------------------------

    @property
    def namesrv_addr(self) -> str:
        """The name server address to configure in clients: ``host:port``, joined by ``;``."""
        return ";".join(self._core.namesrv_addrs)

    @property
    def grpc_addr(self) -> str:
        """The address to configure in gRPC clients of RocketMQ 5: ``host:port``.

        Raise FakemqError for a cluster without such a port.
        """
        addr = self._running().server.grpc_addr
        if not addr:
            raise FakemqError("this cluster has no gRPC port: start it with grpc=True")
        return addr

    @property
    def control_url(self) -> str | None:
        """The URL of the control port, such as ``http://127.0.0.1:8080``; None without a port."""
        self._running()
        return self._life.control_url

    @property
    def tls(self) -> TlsFiles:
        """The files with which clients reach this cluster by TLS, such as ``mq.tls.ca_file``.

        A cluster without certificates of the user makes some, in a folder that `stop` deletes.
        Raise FakemqError if they cannot be made.
        """
        return self._call(self._running().server.tls.files)

    @property
    def seed_value(self) -> int:
        """The seed of this run. Pass it as ``seed=`` to make the same random choices again."""
        return self._core.randomness.seed

    @property
    def faults(self) -> Faults:
        """The faults: one method for each kind, such as ``mq.faults.drop("PULL_MESSAGE")``."""
        from fakemq.handles.faults import Faults  # many tests place none

        return Faults(self._running)

    @property
    def name_servers(self) -> list[NameServerHandle]:
        """Every name server, in the order of their ports."""
        from fakemq.handles.name_servers import NameServerHandle  # many tests hold none

        return [NameServerHandle(self._running, one) for one in self._core.name_servers]

    @property
    def controllers(self) -> ControllersHandle:
        """All controllers: ``mq.controllers[0]``, ``mq.controllers.leader``."""
        from fakemq.handles.controllers import ControllersHandle  # most clusters have none

        return ControllersHandle(self._running)

    @property
    def proxy(self) -> ProxyHandle:
        """The node that answers gRPC clients; raise FakemqError for a cluster without one."""
        from fakemq.handles.proxies import ProxyHandle  # many clusters have none

        return ProxyHandle(self._running)

    def name_server(self, which: str | int = 0) -> NameServerHandle:
        """Return a name server by number, name (``namesrv-0``) or address.

        Raise LookupError if there is none.
        """
        from fakemq.handles.name_servers import NameServerHandle  # many tests hold none

        return NameServerHandle(self._running, self._core.name_servers_called(which)[0])

    def group_of(self, broker_name: str) -> ReplicaGroup:
        """Return the master, epoch and in-sync nodes of a group of replicas under controllers.

        Raise LookupError if no such broker has a controller.
        """
        from fakemq.core.replicas import group_of  # few clusters have controllers

        core = self._core
        return self._call(lambda: group_of(core.brokers, broker_name))

    def _fail_over(self, broker_name: str, wait: LongCall) -> str:
        """Kill the master of a group; return the name of the next one."""
        old = self.group_of(broker_name)
        core, server = self._core, self._running().server
        if old.master is None:
            from fakemq.biographies.no_master import why_without_master  # most groups have one

            why = self._call(lambda: why_without_master(core, broker_name))
            raise LookupError(f"{broker_name} has no master now: {why}")
        self._call(lambda: server.kill_broker(core.brokers[old.master or ""]))

        def elected() -> str | None:
            now = self.group_of(broker_name)
            return now.master if now.epoch > old.epoch else None

        return elected() or self._run_until(elected, FAILOVER_MS, False, wait) or ""

    def partition(self, source: End, target: End, *, one_way: bool = False) -> Fault:
        """Block all bytes between two ends until `heal`; the same as ``faults.partition``.

        The ends are names of nodes, or of peers outside the cluster, or lists of these:
        ``mq.partition(["broker-a", "clients"], "others")`` isolates a master with its clients. With
        ``one_way`` only the bytes from ``source`` to ``target`` are blocked. Raise LookupError for
        an end that is unknown. Raise ConfigError for two equal ends, for ends of which none is a
        node, for two nodes that never connect to each other, and for controllers that would be
        separated ``one_way``.
        """
        return self.faults.partition(source, target, one_way=one_way)

    def heal(self) -> None:
        """End every partition."""
        self.faults.heal()

    # -- waiting ------------------------------------------------------------------------------

    def _wait_for(self, predicate: Callable[[], T], timeout_ms: int, wait: LongCall) -> T:
        _require_predicate(predicate)
        with self._news(wait):
            value = self._watch(predicate, timeout_ms, wait)
        if value:
            return value
        why = [f"still {value!r} after {timeout_ms} ms of real time", self.stillness()]
        raise self._timed_out("; ".join(filter(None, why)))

    def _run_until(
        self, predicate: Callable[[], T], at_most_ms: int, outside_peers: bool, wait: LongCall
    ) -> T:
        _require_predicate(predicate)
        flag("outside_peers", outside_peers)
        thread, core = self._running(), self._core
        until_ms = thread.call(core.clock.elapsed_ms) + at_most_ms
        patience = PeerPatience(core, at_most_ms)

        def step() -> int | None:
            """Return how much time is left after the step; None if none was left before it."""
            left_ms = until_ms - core.clock.elapsed_ms()
            if left_ms <= 0:
                return None
            core.step(left_ms, outside_peers=outside_peers)
            return until_ms - core.clock.elapsed_ms()

        with self._news(wait):
            left_ms: int | None = at_most_ms
            while left_ms is not None:
                if value := self._watch(predicate, patience.next_ms(left_ms), wait):
                    return value
                left_ms = thread.call(step)
        raise self._timed_out(f"not after {at_most_ms} ms of the cluster's time")

    @contextmanager
    def _news(self, wait: LongCall) -> Iterator[None]:
        """Wake the wait whenever the journal grows, and when the cluster is stopped.

        Raise FakemqError if the cluster is stopped during the block, instead of the block's own
        error.
        """
        life, thread, wakes = self._life, self._running(), self._core.wakes
        life.waits.add(wait)
        waiter = Waiter(wait.news.set, stays=True)
        thread.call(lambda: wakes.arm(waiter))
        try:
            yield
        except (FakemqError, RuntimeError):
            if life.thread is thread:
                raise
            raise FakemqError("the cluster was stopped while it was waited for") from None
        finally:
            life.waits.discard(wait)
            if life.thread is thread:
                thread.call(lambda: wakes.leave(waiter))

    def _watch(self, predicate: Callable[[], T], patience_ms: int, wait: LongCall) -> T:
        """Return the predicate's result as soon as it is true, or when real time is up."""
        thread = self._running()
        until_ms = real_elapsed_ms() + patience_ms
        while True:
            # Cleared before the predicate is called, so that news during the call are not lost.
            wait.news.clear()
            if wait.given_up:
                raise WaitTimeout("the caller no longer waits")
            if self._life.thread is not thread:
                raise FakemqError("the cluster has been stopped")
            began_ms = real_elapsed_ms()
            value = predicate()
            if inspect.iscoroutine(value):
                value.close()  # else Python warns that it was never awaited
                raise ArgumentError(f"{predicate!r} returns a coroutine; expected a plain function")
            now_ms = real_elapsed_ms()
            left_ms = until_ms - now_ms
            if value or left_ms <= 0:
                return value
            # A call that took long competes with others for the cluster's thread, and so do many
            # waits: leave it time. News of the pause are not lost.
            pause_ms = min(
                left_ms,
                MAX_PAUSE_MS,
                max(4 * (now_ms - began_ms), len(self._life.waits) // _WAITS_OF_A_MS),
            )
            if pause_ms > 0 and not wait.given_up:
                real_wait_ms(pause_ms)
            wait.news.wait(max(0, until_ms - real_elapsed_ms()) / 1000)

    def _timed_out(self, why: str) -> WaitTimeout:
        causes, entries = self.diagnosis(), self.journal.tail()
        journal = f"the journal ends with\n{inspection.text(entries)}"
        error = WaitTimeout(f"{why}; " + "\n".join([*likely(causes), journal]))
        error.diagnosis, error.namesrv_addr = causes, self.namesrv_addr
        error.last_seq = entries[-1].seq if entries else 0
        return error

    def stillness(self) -> str:
        """Return why the clock does not move by itself, and its next deadlines; "" if it moves."""
        core = self._core
        return self._running().call(lambda: views.stillness(core.clock))

    def __repr__(self) -> str:
        if not self.running:
            return "<fakemq cluster, not running>"
        brokers = ", ".join(
            f"{broker.name} {broker.addr}" for broker in self._core.brokers.values()
        )
        return f"<fakemq cluster, name server {self.namesrv_addr}, {brokers}>"


def likely(causes: Sequence[str]) -> list[str]:
    """Return the lines that a failed wait shows of a diagnosis; none if it is empty."""
    lines = [f"  {cause}" for cause in causes[:_CAUSES_SHOWN]]
    if len(causes) > _CAUSES_SHOWN:
        lines.append(f"  and {len(causes) - _CAUSES_SHOWN} more")
    return ["most likely:", *lines] if causes else []


def _require_predicate(predicate: object) -> None:
    if not callable(predicate):
        raise ArgumentError(
            f"predicate={predicate!r}: expected a function without arguments, such as"
            ' lambda: mq.messages("orders")'
        )
