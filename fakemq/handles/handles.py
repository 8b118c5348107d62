"""Handles on a running cluster: each asks again when it is looked at, and holds no state.

The plain ones only look or do what is done at once; the ones for synchronous and asynchronous
tests add what waits or moves time, blocking here and awaited there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar, Unpack, cast, overload

from fakemq.clock.durations import Size, size_bytes
from fakemq.core import inspection
from fakemq.core.views import Member
from fakemq.journal.journal import Entry

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.config.files import ConfigSource
    from fakemq.core.changes import GroupSettings
    from fakemq.core.cluster import ClusterCore
    from fakemq.events.core import Event
    from fakemq.handles.clock import NodeClockHandle
    from fakemq.journal.search import Since, Where
    from fakemq.namesrv.namesrv import NameServer
    from fakemq.serving import thread

    EventT = TypeVar("EventT", bound=Event)

T = TypeVar("T")
Running = Callable[[], "thread.Running"]
"""Gives the way to the running cluster, or raises RuntimeError."""


async def in_thread(function: Callable[[], T], *, abandon_on_cancel: bool = False) -> T:
    """Run a blocking call without blocking the caller's loop, asyncio's or trio's.

    With ``abandon_on_cancel`` a cancelled caller goes on at once and the call ends by itself.
    """
    import anyio.to_thread  # only asynchronous tests pay for it

    return await anyio.to_thread.run_sync(function, abandon_on_cancel=abandon_on_cancel)


class Wait:
    """One call that may take long: woken when there is news, ended when nobody waits any more."""

    def __init__(self) -> None:
        self.news = threading.Event()
        self.given_up = False

    def give_up(self) -> None:
        self.given_up = True
        self.news.set()


async def waited(call: Callable[[Wait], T]) -> T:
    """Wait on a thread; a cancelled caller goes on at once, and the thread ends soon after."""
    wait = Wait()
    try:
        return await in_thread(lambda: call(wait), abandon_on_cancel=True)
    finally:
        wait.give_up()


class Handle:
    """What every handle has: the way to the cluster while it runs."""

    def __init__(self, running: Running) -> None:
        self._running = running

    @property
    def _core(self) -> ClusterCore:
        return self._running().server.core

    def _call(self, function: Callable[[], T]) -> T:
        return self._running().call(function)


class BrokerView(Handle):
    """One broker: looking at it, and what happens to it at once."""

    def __init__(self, running: Running, broker: Broker) -> None:
        super().__init__(running)
        self.name = broker.name
        self.addr = broker.addr
        """``host:port`` that clients use."""
        self.vip_addr = broker.vip_addr
        self.ha_addr = broker.ha_addr

    @property
    def _broker(self) -> Broker:
        return self._core.broker(self.name)  # another one after the cluster was started again

    @property
    def state(self) -> str:
        """``running``, ``paused``, ``stopping`` or ``stopped``."""
        return self._call(lambda: self._broker.state.value)

    @property
    def clock(self) -> NodeClockHandle:
        """The clock as this broker sees it; `NodeClockHandle.skew` has it be wrong."""
        from fakemq.handles.clock import NodeClockHandle  # which knows this file

        return NodeClockHandle(self._running, lambda: self._broker.clock)

    def kill(self, *, lose_unsynced: bool = False) -> None:
        """Be gone at once, as by kill -9; ``lose_unsynced`` takes what no flush made safe, too."""
        self._call(lambda: self._running().server.kill_broker(self._broker, lose_unsynced))

    def set_disk_size(self, size: Size | None) -> None:
        """Let the disk of its store be so large, as in ``"64MiB"``; None: as large as it is."""
        disk_bytes = None if size is None else size_bytes(size, name="set_disk_size")
        self._call(lambda: self._broker.store.retention.resize_disk(disk_bytes))

    def pause(self) -> None:
        """Stand still, as by SIGSTOP: sockets stay open, nothing answers, no timer fires."""
        self._call(self._broker.pause)

    def resume(self) -> None:
        """Go on after `pause`; what arrived and fell due meanwhile is handled now."""
        self._call(self._broker.resume)

    def _stop(self) -> None:
        self._running().wait(self._running().server.stop_broker(self._broker))

    def _restart(self, config: ConfigSource) -> None:
        self._running().wait(self._running().server.restart_broker(self._broker, config))

    def __repr__(self) -> str:
        return f"<broker {self.name} at {self.addr}, {self.state}>"


class BrokerHandle(BrokerView):
    """A broker of a `Cluster`."""

    def stop(self) -> None:
        """Stop cleanly: unregister at every name server, then close."""
        self._stop()

    def restart(self, config: ConfigSource = {}) -> None:  # noqa: B006
        """Start it again on the same ports, with what it held; ``config`` has keys to change."""
        self._restart(config)

    def promote(self, role: str = "ASYNC_MASTER") -> None:
        """Restart it as the master of its brokerName; stop the old one before, or demote it."""
        self._restart(promoted(role))

    def demote(self, broker_id: int) -> None:
        """Restart it as a slave of its brokerName, with an id that no other has."""
        self._restart(demoted(broker_id))


class AsyncBrokerHandle(BrokerView):
    """A broker of an `AsyncCluster`; see `BrokerHandle`."""

    async def stop(self) -> None:
        await in_thread(self._stop)

    async def restart(self, config: ConfigSource = {}) -> None:  # noqa: B006
        await in_thread(lambda: self._restart(config))

    async def promote(self, role: str = "ASYNC_MASTER") -> None:
        await in_thread(lambda: self._restart(promoted(role)))

    async def demote(self, broker_id: int) -> None:
        await in_thread(lambda: self._restart(demoted(broker_id)))


def promoted(role: str) -> ConfigSource:
    """What makes a broker the master of its brokerName."""
    return {"brokerRole": role, "brokerId": 0}


def demoted(broker_id: int) -> ConfigSource:
    """What makes a broker a slave of its brokerName."""
    return {"brokerRole": "SLAVE", "brokerId": broker_id}


class NameServerHandle(Handle):
    """A name server; the same for synchronous and asynchronous tests, as nothing here waits."""

    def __init__(self, running: Running, name_server: NameServer) -> None:
        super().__init__(running)
        self.name = name_server.name
        self.addr = name_server.addr
        """``host:port`` that clients are given."""

    @property
    def _name_server(self) -> NameServer:
        return self._core.name_servers_called(self.name)[0]

    @property
    def clock(self) -> NodeClockHandle:
        """The clock as this name server sees it; `NodeClockHandle.skew` has it be wrong."""
        from fakemq.handles.clock import NodeClockHandle  # which knows this file

        return NodeClockHandle(self._running, lambda: self._name_server.clock)

    @property
    def state(self) -> str:
        """``running``, ``paused`` or ``stopped``."""
        return self._call(lambda: self._name_server.state.value)

    def kill(self) -> None:
        """Be gone at once, as by kill -9; its port refuses connections."""
        self._call(lambda: self._running().server.stop_name_server(self._name_server, "kill"))

    def stop(self) -> None:
        """Be gone; who comes back knows no more after this than after `kill`."""
        self._call(lambda: self._running().server.stop_name_server(self._name_server))

    def restart(self) -> None:
        """Start it again at the same address, knowing nothing until brokers register again."""
        self._call(lambda: self._running().server.restart_name_server(self._name_server))

    def pause(self) -> None:
        """Stand still, as by SIGSTOP: sockets stay open, nothing answers, no timer fires."""
        self._call(lambda: self._name_server.pause())

    def resume(self) -> None:
        """Go on after `pause`; what arrived and fell due meanwhile is handled now."""
        self._call(lambda: self._name_server.resume())

    def __repr__(self) -> str:
        return f"<name server {self.name} at {self.addr}, {self.state}>"


class TopicHandle(Handle):
    """A topic at every running master that has it; each change is told to the name servers.

    Clients hear of it with their next look at the route. ValueError for values that cannot be and
    for RocketMQ's own topics; setting anything, LookupError if no running master has the topic.
    """

    def __init__(self, running: Running, name: str) -> None:
        super().__init__(running)
        self.name = name

    def set_queues(self, read: int, write: int | None = None) -> None:
        """Have so many queues to read from, and to write to; what lies in others stays there."""
        from fakemq.core import changes  # few tests do this

        write = read if write is None else write
        self._call(
            lambda: changes.change_topic(
                self._core, self.name, read_queues=read, write_queues=write
            )
        )

    def set_perm(self, perm: str) -> None:
        """Allow to read and write: ``RW``, ``R``, ``W`` or nothing."""
        from fakemq.core import changes  # few tests do this

        bits = changes.perm_of(perm)
        self._call(lambda: changes.change_topic(self._core, self.name, perm=bits))

    def delete(self) -> None:
        """Delete it everywhere, if it is anywhere; what groups have committed stays."""
        from fakemq.core import changes  # few tests do this

        self._call(lambda: changes.delete_topic(self._core, self.name))

    def __repr__(self) -> str:
        return f"<topic {self.name}>"


class GroupHandle(Handle):
    """A consumer group, whether it exists already or not."""

    def __init__(self, running: Running, name: str) -> None:
        super().__init__(running)
        self.name = name

    def lag(self, topic: str) -> int:
        """How many stored messages of ``topic`` lie behind the group's committed offsets."""
        return self._call(lambda: inspection.lag(self._core, self.name, topic))

    def offsets(self, topic: str) -> dict[tuple[str, int], int]:
        """The committed offsets: (broker name, queue id) → the next offset to consume."""
        return self._call(lambda: inspection.offsets(self._core, self.name, topic))

    def members(self) -> list[Member]:
        """The consumers that are members now, as any broker knows them."""
        return self._call(lambda: inspection.members(self._core, self.name))

    def set(self, **settings: Unpack[GroupSettings]) -> None:
        """Set something of a group, such as ``retry_max_times=3``; ValueError if it cannot be."""
        from fakemq.core import changes  # few tests do this

        self._call(lambda: changes.change_group(self._core, self.name, **settings))

    def suspend(self) -> None:
        """Let no member pull; held pulls end when they would have."""
        self.set(consume_enable=False)

    def resume(self) -> None:
        """Let members pull again."""
        self.set(consume_enable=True)

    def delete(self, *, offsets: bool = False) -> None:
        """Delete it everywhere, ``offsets`` too or not; a member's next pull makes it anew."""
        from fakemq.core import changes  # few tests do this

        self._call(lambda: changes.delete_group(self._core, self.name, offsets=offsets))

    def __repr__(self) -> str:
        return f"<group {self.name}, {len(self.members())} members>"


class JournalView(Handle):
    """The journal: what happened, oldest first."""

    @overload
    def find(
        self,
        kind: type[EventT],
        /,
        *,
        since: Since = None,
        where: Where[EventT] | None = None,
        **fields: object,
    ) -> list[EventT]: ...

    @overload
    def find(
        self,
        kind: str,
        /,
        *,
        since: Since = None,
        where: Where[Event] | None = None,
        **fields: object,
    ) -> list[Event]: ...

    def find(
        self,
        kind: type[EventT] | str,
        /,
        *,
        since: Since = None,
        where: Where[EventT] | None = None,
        **fields: object,
    ) -> list[EventT] | list[Event]:
        """Events of one kind whose fields have these values, oldest first.

        ``kind`` is a class of `fakemq.events` or its name; ``node`` is a field of every kind, and a
        ``code`` may be given by its name. ``since`` leaves out what is not newer than an entry or
        its number, or older than a time; ``where`` is asked about each event that is left.
        Raises ValueError for a kind or field that there is not, naming those that may be meant.
        """
        found = self.entries(kind, since=since, where=where, **fields)
        return cast("list[EventT]", [entry.event for entry in found])

    def entries(
        self,
        kind: type[EventT] | str = "Event",
        /,
        *,
        since: Since = None,
        where: Where[EventT] | None = None,
        **fields: object,
    ) -> list[Entry]:
        """As `find`, but the entries: with number, virtual time and cause."""
        from fakemq.journal.search import search  # only for who looks

        journal = self._core.journal
        return self._call(lambda: search(journal, kind, since, where, fields))

    def cause_chain(self, entry: Entry | int) -> list[Entry]:
        """What an entry is owed to, what that is owed to, and so on, as far as it is known.

        The entry may be given by its number; LookupError if there is none of that number.
        """
        from fakemq.journal.search import entry_of  # only for who looks

        journal = self._core.journal
        return self._call(lambda: journal.cause_chain(entry_of(journal, entry)))

    def tail(self, count: int = 20) -> list[Entry]:
        """The last ``count`` entries, oldest first."""
        return self._call(lambda: self._core.journal.tail(count))

    def __iter__(self) -> Iterator[Entry]:
        return self._call(lambda: iter(self._core.journal))

    def __len__(self) -> int:
        return self._call(lambda: len(self._core.journal))

    def __repr__(self) -> str:
        return self._call(lambda: repr(self._core.journal))
