"""One run of a scenario on one cluster: its verbs, and the transcript that they write."""

# Over 400 lines: scenarios call every verb on one object; a verb takes a few lines.

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from conformance.normalise import Normaliser
from conformance.targets.accounts import ADMIN, SECRET, needs_keys
from conformance.wire.listener import Listener
from conformance.wire.peer import NO_CODE, Answer, Body, Display, Frame, Peer, Pending
from conformance.wire.releases import RELEASES
from conformance.wire.requests import HELD, group_config, pull_fields
from fakemq.client import Client, Message
from fakemq.clock.machine_time import real_elapsed_ms, real_wall_ms
from fakemq.protocol import properties as names
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.client import GetConsumerListByGroupRequestHeader
from fakemq.protocol.headers.offset import GetMaxOffsetRequestHeader

if TYPE_CHECKING:
    from conformance.targets.master_slave_pairs import Node
    from conformance.wire.rpc_peer import PendingRpc, RpcPeer

UNIQUE_ID = "AC110001000018B4AAC27E5E1C2C{:04X}"
CLUSTER = "DefaultCluster"
STEP_MS = 500
HELD_MS = 200
"""How long a real broker may take from reading a pull to holding it."""
SETTLE_MS = 10_000
"""How long a real cluster may take to do what the fake does at once."""


class Target(Protocol):
    """A cluster that scenarios run on: broker-a and broker-b, or broker-a and its slave."""

    namesrv_addr: str
    grpc_addr: str
    """Where gRPC clients reach it; empty if they cannot."""
    door_addr: str
    """Where clients that speak remoting reach its proxy; empty if they cannot."""
    reference: str
    """The release that it is, or behaves as."""
    config: Mapping[str, str]
    """What its brokers are configured with."""
    places: Mapping[str, str]
    """Where its nodes are, by name, where controllers decide which of them is a master."""
    silence_s: float
    """How long nothing comes where nothing will."""

    def now_ms(self) -> int:
        """Return the time there."""

    def unseen_s(self) -> float:
        """Return how much real time has passed that its clock does not show."""

    def pass_time(self, ms: int) -> None:
        """Let time pass, for the cluster and for clients outside it."""

    def broker(self, place: str) -> Node:
        """Return the broker of that place, to kill and start it."""


class Run:
    """One run of a scenario on one cluster.

    Places are ``namesrv``, ``broker-a``, ``broker-b`` or the slave ``broker-a-1``, and for a
    broker's fast port ``broker-a vip``; ``proxy`` is the proxy's port for remoting. A peer is a
    connection with the name of a client: ``client`` where it does not matter. With controllers,
    places are ``controller-0``, which leads when the run begins, and replicas by the ids that
    controllers gave them: ``broker-a@1``.
    """

    def __init__(self, title: str, target: Target) -> None:
        self._target = target
        self._unseen_s: dict[int, float] = {}
        """Time of the cluster → the real time that it did not show by then."""
        self._peers: dict[tuple[str, str], Peer] = {}
        self._rpc_peers: dict[str, RpcPeer] = {}
        self._listeners: list[Listener] = []
        self._client_ids = f"{zlib.crc32(title.encode()):08x}"
        self.lines = [f"# {title}"]
        checks = needs_keys(target.config)
        self.client = Client(
            target.namesrv_addr,
            seed=1,
            access_key=ADMIN if checks else "",
            secret_key=SECRET if checks else "",
        )
        """The client core, for what a scenario needs and does not write down."""
        self.reference = target.reference
        """The release that the cluster is, or behaves as."""
        self.config = target.config
        """What the brokers of this cluster are configured with."""
        self.addrs = {"namesrv": target.namesrv_addr}
        self._masters = 1 + ("broker-b" in target.places)
        for place, addr in target.places.items():
            self._add_place(place, addr)
        if not target.places:
            brokers = self.client.cluster_info().broker_addr_table
            self._masters = sum(broker.cluster == CLUSTER for broker in brokers.values())
            for name, broker in brokers.items():
                for broker_id, addr in broker.broker_addrs.items():
                    self._add_place(name if broker_id == 0 else f"{name}-{broker_id}", addr)
        if target.door_addr:
            self.addrs["proxy"] = target.door_addr
        names = {addr: place for place, addr in self.addrs.items()}
        if target.grpc_addr:
            names[target.grpc_addr] = "proxy"
        self.normaliser = Normaliser(names, real_wall_ms())

    @contextmanager
    def running(self) -> Iterator[Run]:
        """Close every connection at the end."""
        try:
            yield self
        finally:
            for peer in self._peers.values():
                peer.close()
            for caller in self._rpc_peers.values():
                caller.close()
            for listener in self._listeners:
                listener.close()
            self.client.close()

    def _add_place(self, place: str, addr: str) -> None:
        host, _, port = addr.rpartition(":")
        self.addrs[place] = f"{host}:{port}"
        self.addrs[f"{place} vip"] = f"{host}:{int(port) - 2}"
        self.addrs[f"{place} ha"] = f"{host}:{int(port) + 1}"

    # -- what is written down -----------------------------------------------------------------

    def peer(self, name: str, place: str) -> Peer:
        """Return the connection of ``name`` to a place, a new one at first use."""
        peer = self._peers.get((name, place))
        if peer is None:
            release = RELEASES[self.reference]
            addr = self.addrs[place]
            peer = Peer(name, place, addr, self.normaliser, self.lines, release)
            self._peers[name, place] = peer
        return peer

    def listener(self, name: str, place: str) -> Listener:
        """Return a new place that a node can connect to, as to a broker of that name."""
        listener = Listener(name, place, self.normaliser, self.lines, RELEASES[self.reference])
        self._listeners.append(listener)
        return listener

    def grpc(self, name: str = "client") -> RpcPeer:
        """Return the gRPC client of that name, a new one at first use."""
        from conformance.wire.rpc_peer import RpcPeer  # most scenarios need no grpcio

        if name not in self._rpc_peers:
            client_id = f"{name}@{self._client_ids}"
            self._rpc_peers[name] = RpcPeer(
                *(name, client_id, self._target.grpc_addr, self.normaliser, self.lines)
            )
        return self._rpc_peers[name]

    def ask(
        self,
        place: str,
        code: int,
        fields: Mapping[str, object] | None = None,
        body: Body = b"",
        *,
        peer: str = "client",
        binary: bool = False,
        version: int | None = None,
        language: str = "JAVA",
        hidden: tuple[str, ...] = (),
        offsets: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request and give its answer; without ``version``, as a client of the reference.

        ``hidden`` fields differ from run to run; ``offsets`` are fields that hold offsets in a
        topic that scenarios share.
        """
        pending = self.peer(peer, place).send(
            *(code, fields, body),
            binary=binary,
            version=version,
            language=language,
            display=Display(hidden, offsets or {}),
        )
        return pending.answer()

    def send(
        self,
        place: str,
        code: int,
        fields: Mapping[str, object] | None = None,
        body: Body = b"",
        *,
        peer: str = "client",
        oneway: bool = False,
        binary: bool = False,
        hidden: tuple[str, ...] = (),
        offsets: Mapping[str, str] | None = None,
    ) -> Pending:
        """Send a request that is answered later or never; for ``hidden``, ``offsets`` see `ask`."""
        display = Display(hidden, offsets or {})
        return self.peer(peer, place).send(
            code, fields, body, oneway=oneway, binary=binary, display=display
        )

    def pull(
        self,
        topic: str,
        offset: int = 0,
        *,
        place: str = "broker-a",
        peer: str = "consumer",
        **more: object,
    ) -> Answer:
        """Pull, from where the scenario found the topic if it shares it; ``more`` are fields."""
        fields = pull_fields(topic, self.offset(topic, offset), **more)
        shared = topic in self.normaliser.starts
        names = ("queueOffset", "nextBeginOffset", "maxOffset") if shared else ()
        offsets = dict.fromkeys(names, topic)
        return self.ask(place, RequestCode.PULL_MESSAGE, fields, peer=peer, offsets=offsets)

    def take_request(self, peer: str, place: str, within_ms: int, step_ms: int = STEP_MS) -> Frame:
        """Let time pass until a broker asks something of a peer. TimeoutError after that much."""
        connection = self.peer(peer, place)
        for _ in range(0, within_ms + 1, step_ms):
            request = connection.poll_request()
            if request is not None:
                return request
            self.pass_time(step_ms)
        raise TimeoutError(f"{place} asks nothing of {peer} within {within_ms} ms")

    def reply(self, peer: str, place: str, request: Frame, code: int = 0, body: Body = b"") -> None:
        """Answer what a broker has asked of a peer."""
        self.peer(peer, place).reply(request, code, body=body)

    def nothing_comes(self, *peers: str, place: str = "broker-a") -> None:
        """Write down that nothing has come for these peers."""
        self.pass_time(0)
        for peer in peers:
            self.peer(peer, place).nothing_comes(self._target.silence_s)

    def hold(
        self, fields: Mapping[str, object], *, peer: str = "consumer", binary: bool = False
    ) -> Pending:
        """Send broker-a a pull that it has to hold, and return when it holds it."""
        connection = self.peer(peer, "broker-a")
        pending = connection.send(RequestCode.PULL_MESSAGE, fields, binary=binary)
        connection.quietly(NO_CODE)  # arrived …
        self.pass_time(HELD_MS)  # … and looked at by another thread, on a real broker
        return pending

    def note(self, text: str) -> None:
        """Say something to the reader."""
        self.lines.append(f"# {text}")

    def note_late(
        self,
        what: str,
        since_ms: int,
        least_s: float,
        most_s: float,
        *,
        waits_since_ms: int | None = None,
    ) -> None:
        """Write down whether something has come in time, counted from what `now_ms` returned.

        The fake lets peers outside be silent in real time, too: they may seem to be so earlier.
        Their silence may have begun before: at ``waits_since_ms``, which `now_ms` returned, too.
        """
        late_s = (self.now_ms() - since_ms) / 1000
        begin_ms = since_ms if waits_since_ms is None else waits_since_ms
        unseen_s = self._target.unseen_s() - self._unseen_s.get(begin_ms, 0)
        in_time = least_s - unseen_s <= late_s < most_s
        self.note(f"{what} after {least_s:g} to {most_s:g} s{'' if in_time else f': {late_s} s'}")

    def kill(self, place: str) -> None:
        """Kill a broker: no clean-up of any kind."""
        self.note(f"{place} is killed")
        self._target.broker(place).kill()
        self._hang_up(place)  # it sees no end of a connection before its own

    def stop(self, place: str) -> None:
        """Stop a broker as it should be."""
        self._leave(place, "is stopped")
        self._target.broker(place).stop()

    def start(self, place: str, **config: str) -> None:
        """Start a broker again, with keys of its config changed; on return it serves."""
        self.note(" ".join([f"{place} is started", *(f"{k}={v}" for k, v in config.items())]))
        node = self._target.broker(place)
        node.config |= config
        node.start()

    def pause(self, place: str) -> None:
        """Pause a broker; its connections stay open."""
        self.note(f"{place} is paused")
        self._target.broker(place).pause()

    def resume(self, place: str) -> None:
        """Resume a paused broker."""
        self.note(f"{place} resumes")
        self._target.broker(place).resume()

    def _leave(self, place: str, why: str) -> None:
        self.note(f"{place} {why}")
        self._hang_up(place)

    def _hang_up(self, place: str) -> None:
        for name, where in [key for key in self._peers if key[1].startswith(place)]:
            self._peers.pop((name, where)).close()

    # -- what is not --------------------------------------------------------------------------

    def topic(self, name: str, queues: int = 1, perm: int = 6) -> str:
        """Create a topic with ``queues`` queues on each broker; return its name."""
        self.client.create_topic(name, queues, perm=perm)
        self.note(f"topic {name}: {queues} queue{'s' * (queues > 1)} on each broker")
        self.until(lambda: self._is_routed(name), f"a route of {name} with every master")
        return name

    def group(self, name: str, **config: object) -> str:
        """Create a group at broker-a with unusual settings; return its name."""
        body = json.dumps(group_config(name, **config)).encode()
        command = self.client.instance.command(
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body
        )
        self.client.invoke(self.addrs["broker-a"], command)
        self.note(f"group {name}: {', '.join(f'{key} {value}' for key, value in config.items())}")
        return name

    def store(self, topic: str, *tags: str, queue_id: int = 0, stored: int = 0) -> None:
        """Have one message per tag in a queue of broker-a, where ``stored`` lie already."""
        self.note(f"stored in {topic}, queue {queue_id}: messages with tags {', '.join(tags)}")
        queue = MessageQueue(topic=topic, broker_name="broker-a", queue_id=queue_id)
        for offset, tag in enumerate(tags, stored):
            unique_id = {names.UNIQ_CLIENT_MESSAGE_ID_KEYIDX: UNIQUE_ID.format(offset)}
            self.client.send(Message(topic, tag, tags=tag, properties=unique_id), queue=queue)
        self.until_stored("broker-a", topic, stored + len(tags), queue_id)

    def shared(self, topic: str, queue_id: int = 0) -> None:
        """From here on, offsets in a topic of the broker's own count from its end as it is now."""
        self.normaliser.starts[topic] = self.max_offset("broker-a", topic, queue_id)

    def offset(self, topic: str, offset: int) -> int:
        """Return the offset that counts as this one, see `shared`."""
        return offset + self.normaliser.starts.get(topic, 0)

    def max_offset(self, place: str, topic: str, queue_id: int = 0) -> int:
        """Return where a queue ends."""
        header = GetMaxOffsetRequestHeader(topic=topic, queue_id=queue_id)
        command = self.client.instance.command(RequestCode.GET_MAX_OFFSET, header)
        return int(self.client.invoke(self.addrs[place], command).ext_fields["offset"])

    def now_ms(self) -> int:
        """Return the time of the cluster."""
        now_ms = self._target.now_ms()
        self._unseen_s.setdefault(now_ms, self._target.unseen_s())
        return now_ms

    def wait(
        self, condition: Callable[[], bool], within_ms: int, what: str, step_ms: int = 100
    ) -> None:
        """Let time pass, on the fake its own, until a condition holds.

        TimeoutError names ``what`` did not come.
        """
        for _ in range(0, within_ms + 1, step_ms):
            if condition():
                return
            self.pass_time(step_ms)
        raise TimeoutError(f"{what}: not within {within_ms} ms")

    def wait_stored(
        self, topic: str, max_offset: int, within_ms: int, *, queue_id: int = 0, step_ms: int = 100
    ) -> None:
        """Let time pass until a queue of broker-a, which may be shared, ends there."""
        wanted = self.offset(topic, max_offset)
        self.wait(
            lambda: self.max_offset("broker-a", topic, queue_id) >= wanted,
            within_ms,
            f"{max_offset} messages in {topic}",
            step_ms,
        )

    def until_stored(self, place: str, topic: str, max_offset: int, queue_id: int = 0) -> None:
        """Wait until a queue ends there: a real broker fills its queues a moment later."""
        self.until(
            lambda: self.max_offset(place, topic, queue_id) == max_offset,
            f"{max_offset} messages in {topic}",
        )

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait in real time; TimeoutError names ``what`` did not come."""
        until_ms = real_elapsed_ms() + SETTLE_MS
        while not condition():
            if real_elapsed_ms() > until_ms:
                raise TimeoutError(f"{what}: not within {SETTLE_MS} ms")
            self.pass_time(5)

    def pass_time(self, ms: int) -> None:
        """Let time pass: really on a real cluster, at once on the fake."""
        for peer in self._peers.values():
            peer.settle()
        for caller in self._rpc_peers.values():
            caller.settle()
        self._target.pass_time(ms)

    def rpc_within(
        self, pending: PendingRpc, ms: int = SETTLE_MS, *, quiet: bool = False
    ) -> list[Any]:
        """Return the responses to a held call, which must end when that much time has passed.

        ``quiet`` ones are not written down.
        """
        for _ in range(0, ms, STEP_MS):
            if pending.has_come():
                break
            self.pass_time(STEP_MS)
        return pending.answer(quiet=quiet)

    def answer_within(self, pending: Pending, ms: int) -> Answer:
        """Return the answer to a held request, which must come when that much time has passed."""
        for _ in range(0, ms, STEP_MS):
            if pending.has_come():
                break
            self.pass_time(STEP_MS)
        return pending.answer()

    def quiet_peer(self, place: str) -> Peer:
        """A connection of which nothing is written down; the caller closes it."""
        return Peer("silent", place, self.addrs[place], Normaliser({}, 0), [])

    def after_hold_check(self, topic: str) -> None:
        """Wait until broker-a has looked at held pulls: the next five seconds it will not.

        It answers those whose queue has grown, whatever they filter by. The topic is an empty one.
        """
        silent = self.quiet_peer("broker-a")
        fields = pull_fields(topic, sysFlag=HELD, suspendTimeoutMillis=1, consumerGroup="GSilent")
        pending = silent.send(RequestCode.PULL_MESSAGE, fields)
        self.wait(pending.has_come, SETTLE_MS, "the end of a held pull")
        silent.close()

    def stored_at_ms(self, place: str, topic: str, offset: int) -> int:
        """When the message at ``offset`` of queue 0 was stored."""
        queue = MessageQueue(topic=topic, broker_name=place, queue_id=0)
        return self.client.pull(queue, offset, max_messages=1).messages[0].store_timestamp_ms

    def log_place(self, place: str, topic: str, offset: int) -> int:
        """Return where in the log the message at ``offset`` of queue 0 lies."""
        queue = MessageQueue(topic=topic, broker_name=place, queue_id=0)
        found = self.client.pull(queue, offset, max_messages=1).messages[0].commit_log_offset
        self.normaliser.places.name(place, found)
        return found

    def is_member(self, place: str, group: str) -> bool:
        """Return whether a group has any member at a broker."""
        header = GetConsumerListByGroupRequestHeader(consumer_group=group)
        command = self.client.instance.command(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
        return self.client.invoke(self.addrs[place], command).code == 0

    def close(self, peer: str, place: str) -> None:
        """End a connection that would not last until it is used again; it is not written down."""
        self._peers.pop((peer, place)).close()

    def hang_up(self, peer: str, place: str) -> None:
        """End a connection."""
        self._peers.pop((peer, place)).hang_up()

    def _is_routed(self, topic: str) -> bool:
        route = self.client.update_route(topic)
        return route is not None and len(route.data.queue_datas) == self._masters
