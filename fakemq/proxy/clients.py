"""The clients of the front: their streams, and the groups that they belong to.

A producer belongs to a group for each topic that it names, with the topic's name; a consumer to its
consumer group. A client without a heartbeat for 120 s is removed, at the first of Java's scans. One
that leaves many groups leaves them in slices: it is a member of none from the beginning on.

Source: proxy/grpc/v2/channel/GrpcChannelManager.java, proxy/service/ClusterServiceManager.java,
broker/client/ProducerManager.java, ConsumerManager.java (5.5.0)
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Protocol

from fakemq.broker.clients.client_channel import CHANNEL_EXPIRED_TIMEOUT_MS
from fakemq.clock.slices import leaving
from fakemq.clock.timers import next_tick_ms
from fakemq.events.core import MemberChanged
from fakemq.journal.journal import shortened
from fakemq.proxy.status import Code, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.journal.journal import Journal
    from fakemq.protocol.grpc.messages import TelemetryCommand
    from fakemq.proxy.call import Connection

SCAN_PERIOD_MS: Final = 10_000
CLIENTS_MAX: Final = 10_000
MEMBERSHIPS_MAX: Final = 200_000
"""Of all clients in all groups, some 100 MB. Java has neither limit."""
OTHERS_AT_MOST: Final = 8
"""How many connections of one client are known beside the last one."""
PRODUCER, CONSUMER = "producer", "consumer"
"""The kinds of groups."""
PRODUCER_TYPE: Final = 1
PUSH_CONSUMER_TYPE: Final = 2
SIMPLE_CONSUMER_TYPE: Final = 3
LITE_PUSH_CONSUMER_TYPE: Final = 5
CONSUMER_TYPES: Final = (PUSH_CONSUMER_TYPE, SIMPLE_CONSUMER_TYPE, LITE_PUSH_CONSUMER_TYPE)
"""What a client says it is, as numbers: protobuf's own enums are looked up by name."""
_TYPES: Final = (
    *("CLIENT_TYPE_UNSPECIFIED", "PRODUCER", "PUSH_CONSUMER", "SIMPLE_CONSUMER"),
    *("PULL_CONSUMER", "LITE_PUSH_CONSUMER", "LITE_SIMPLE_CONSUMER"),
)


def type_name(client_type: int) -> str:
    """Return the name of a type of clients."""
    return _TYPES[client_type] if 0 <= client_type < len(_TYPES) else "UNRECOGNIZED"


def _too_many(most: int, what: str) -> RpcError:
    return RpcError(Code.TOO_MANY_REQUESTS, f"fakemq takes no more than {most} {what}")


class TelemetryStream(Protocol):
    """A telemetry stream, as it is used to tell a client something."""

    @property
    def closed(self) -> bool: ...

    def send(self, command: TelemetryCommand) -> None: ...


class Client:
    """One client that is a member of groups."""

    __slots__ = (
        "_others",
        "account",
        "client_id",
        "connection",
        "groups",
        "language",
        "last_heartbeat_ms",
        "left",
        "stream",
    )

    def __init__(self, client_id: str, language: str, connection: Connection) -> None:
        self.client_id = client_id
        self.account: str | None = None
        """The account of its last heartbeat, as `Context.account`."""
        self.language = language
        self.connection = connection
        """The connection of its last heartbeat."""
        self._others: list[Connection] = []
        """Its earlier connections that were open when it used another one."""
        self.stream: TelemetryStream | None = None
        """Its newest telemetry stream, by which it is notified."""
        self.groups: dict[tuple[str, str], None] = {}
        """Kind and name of each group that it is in."""
        self.last_heartbeat_ms = 0
        """Elapsed time on the axis of its connection."""
        self.left = ""
        """How it has left; "" while it is there."""

    def use(self, connection: Connection) -> None:
        """Take note of a heartbeat on a connection."""
        if connection is not self.connection:
            open_ones = [one for one in (*self._others, self.connection) if not one.closed]
            self._others = [one for one in open_ones if one is not connection][-OTHERS_AT_MOST:]
            self.connection = connection

    def used_connections(self) -> list[Connection]:
        """Return the connections of the client that are open, the last one at the end.

        There are several if several processes have its client id.
        """
        return [*(one for one in self._others if not one.closed), self.connection]

    def write(self, command: TelemetryCommand) -> bool:
        """Tell the client something; return False if it has no stream."""
        if self.stream is None or self.stream.closed:
            return False
        self.stream.send(command)
        return True


class Clients:
    """The clients of one front, by id, and the groups that they are in."""

    def __init__(
        self, name: str, clock: NodeClock, journal: Journal, on_left: Callable[[Client], None]
    ) -> None:
        self._name = name
        self._clock = clock
        self._journal = journal
        self._on_left = on_left
        """Called when a client has left: by itself, or because it is silent."""
        self._clients: dict[str, Client] = {}
        self._members: dict[tuple[str, str], dict[str, Client]] = {}
        self._memberships = 0
        self._turn = 0
        self._started_ms = {False: 0, True: 0}
        self._by_silence: dict[bool, OrderedDict[str, Client]]
        """Time axis → the clients on it, the one that is silent for the longest time first."""
        self._by_silence = {False: OrderedDict(), True: OrderedDict()}
        self._timers: dict[bool, Timer | None] = {False: None, True: None}

    def start(self) -> None:
        """Let the grid of scans begin now, on both time axes."""
        clock = self._clock
        self._started_ms = {outside: clock.elapsed_ms(outside=outside) for outside in (False, True)}

    # -- coming and going ---------------------------------------------------------------------

    def register(
        self,
        kind: str,
        group: str,
        client_id: str,
        language: str,
        connection: Connection,
        account: str | None = None,
    ) -> Client:
        """Add a client to a group, or note its heartbeat; raise RpcError if there are too many."""
        key = kind, group
        client = self._clients.get(client_id)
        if client is None:
            if len(self._clients) >= CLIENTS_MAX:
                raise _too_many(CLIENTS_MAX, "clients")
            client = Client(client_id, language, connection)
        if key not in client.groups and self._memberships >= MEMBERSHIPS_MAX:
            raise _too_many(MEMBERSHIPS_MAX, "memberships of clients in groups")
        self._clients[client_id] = client
        self._by_silence[client.connection.outside].pop(client_id, None)
        client.use(connection)
        client.account = account
        if key not in client.groups:
            members = self._members.setdefault(key, {})
            before = members.get(client_id)
            if before is not None:  # it has just left many groups, and is back
                self._leave(before, key)
                members = self._members.setdefault(key, {})
            members[client_id] = client
            client.groups[key] = None
            self._memberships += 1
            self._note(client, key, "registered")
        outside = connection.outside
        client.last_heartbeat_ms = self._clock.elapsed_ms(outside=outside)
        self._by_silence[outside][client_id] = client
        if self._timers[outside] is None:
            self._watch(outside)
        return client

    def remove(self, client_id: str, how: str = "unregistered") -> None:
        """Remove a client from all its groups."""
        client = self._clients.pop(client_id, None)
        if client is None:
            return
        outside = client.connection.outside
        del self._by_silence[outside][client_id]
        if not self._by_silence[outside]:
            self._end_watch(outside)
        client.left = how
        self._clock.carry_out(
            self._leave_all(client), peer=leaving(client_id), count=len(client.groups)
        )

    def _leave_all(self, client: Client) -> Steps[None]:
        while client.groups:
            self._leave(client, next(iter(client.groups)))
            yield
        if client.client_id not in self._clients:  # else it is back
            self._on_left(client)

    def _leave(self, client: Client, key: tuple[str, str]) -> None:
        del client.groups[key]
        members = self._members.get(key)
        if members is None or members.get(client.client_id) is not client:
            return  # all clients were forgotten
        self._memberships -= 1
        del members[client.client_id]
        if not members:
            del self._members[key]
        self._note(client, key, client.left)

    def clear(self) -> None:
        """Forget all clients; none is notified."""
        for outside in (False, True):
            self._by_silence[outside].clear()
            self._end_watch(outside)
        self._clients.clear()
        self._members.clear()
        self._memberships = 0

    def _watch(self, outside: bool) -> None:
        """Look at the tick at which the client is over that is silent for the longest time now.

        A heartbeat of that client does not move the timer.
        """
        first = next(iter(self._by_silence[outside].values()))
        due_ms = next_tick_ms(
            first.last_heartbeat_ms + CHANNEL_EXPIRED_TIMEOUT_MS + 1,
            self._started_ms[outside],
            SCAN_PERIOD_MS,
            SCAN_PERIOD_MS,
        )
        self._timers[outside] = self._clock.call_later(
            due_ms - self._clock.elapsed_ms(outside=outside),
            lambda: self._look(outside),
            kind="grpc_client_expiry",
            outside=outside,
        )

    def _end_watch(self, outside: bool) -> None:
        self._clock.cancel(self._timers[outside])
        self._timers[outside] = None

    def _look(self, outside: bool) -> None:
        self._timers[outside] = None
        self._clock.carry_out(self._expire_each(outside), peer=(self, outside))

    def _expire_each(self, outside: bool) -> Steps[None]:
        silent = self._by_silence[outside]
        while silent:
            client_id, client = next(iter(silent.items()))
            silent_ms = self._clock.elapsed_ms(outside=outside) - client.last_heartbeat_ms
            if silent_ms <= CHANNEL_EXPIRED_TIMEOUT_MS:
                break
            self.remove(client_id, "expired")
            yield
        if silent and self._timers[outside] is None:
            self._watch(outside)

    # -- reading ------------------------------------------------------------------------------

    def find(self, client_id: str) -> Client | None:
        """Return a client that is in some group."""
        return self._clients.get(client_id)

    def consumer(self, group: str, client_id: str | None) -> Client | None:
        """Return a member of a consumer group."""
        client = self._members.get((CONSUMER, group), {}).get(client_id or "")
        return None if client is None or client.left else client

    def consumers(self, group: str) -> Iterable[Client]:
        """Return the members of a consumer group."""
        return self._present((CONSUMER, group))

    def producers(self, group: str) -> Iterable[Client]:
        """Return the producers of a group."""
        return self._present((PRODUCER, group))

    def has_producers(self, group: str) -> bool:
        """Return whether a group has a producer."""
        members = self._members.get((PRODUCER, group), {})
        return any(not client.left for client in members.values())

    def _present(self, key: tuple[str, str]) -> tuple[Client, ...]:
        return tuple(one for one in self._members.get(key, {}).values() if not one.left)

    def next_producer(
        self, group: str, allowed: Callable[[Client], bool] = lambda _: True
    ) -> Client | None:
        """Return a producer of a group that can be notified, and is allowed; each in turn.

        Source: broker/client/ProducerManager.java#getAvailableChannel (5.5.0)
        """
        reachable = [
            client
            for client in self.producers(group)
            if client.stream is not None and not client.stream.closed and allowed(client)
        ]
        if not reachable:
            return None
        self._turn += 1
        return reachable[self._turn % len(reachable)]

    def ids_on(self, connection: Connection) -> set[str]:
        """Return the ids of the clients whose last heartbeat came on a connection."""
        return {one.client_id for one in self._clients.values() if one.connection is connection}

    def snapshot(self) -> Mapping[tuple[str, str], tuple[Client, ...]]:
        """Return the members of every group, by kind and name."""
        present = ((key, self._present(key)) for key in self._members)
        return {key: members for key, members in present if members}

    def _note(self, client: Client, key: tuple[str, str], how: str) -> None:
        kind, group = key
        self._journal.add(
            MemberChanged(
                node=self._name,
                kind=kind,
                group=shortened(group),
                client_id=shortened(client.client_id),
                peer=client.connection.remote_addr,
                how=how,
            )
        )
