"""The faults of `mq.faults` for membership: false consumer lists, leases that expire at once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TypeVar, Unpack

from fakemq.errors import ConfigError
from fakemq.faults.points import EXPIRE_NOW
from fakemq.faults.request_scope import with_instances
from fakemq.handles.faults.placing import AtOnce, Fault, FaultPlacing, Often, lasting
from fakemq.handles.faults.scopes import in_words, scope

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.namesrv.namesrv import NameServer
    from fakemq.protocol.bodies.queue import MessageQueue

NodeT = TypeVar("NodeT", "Broker", "NameServer")


class LeaseFaults(FaultPlacing):
    """Faults of membership: which clients and brokers a node considers alive.

    The ``expire_`` methods act when they are called, once; they raise LookupError if there is
    nothing to expire. All methods raise LookupError for a node that does not exist.
    """

    def consumer_list(
        self,
        group: str,
        *,
        client: str | None = None,
        node: str | None = None,
        show: Collection[str] | None = None,
        hide: Collection[str] = (),
        **often: Unpack[Often],
    ) -> Fault:
        """Answer GET_CONSUMER_LIST_BY_GROUP with other members of ``group``.

        The list holds exactly the members in ``show``, or the true members without those in
        ``hide``; ConfigError unless one of the two is given. A member is a client id
        (``"10.0.0.7@orders"``) or its part behind the ``@``. ``client`` limits the fault to the
        requests of one client; by default every client gets the other list. Lasts until it is
        removed unless ``often`` says otherwise.
        """
        from fakemq.broker.faults import OtherList
        from fakemq.faults.points import CONSUMER_LIST

        if (show is None) is (not hide):
            raise ConfigError("consumer_list: expected one of show= and hide=")
        for name, members in (("show", show or ()), ("hide", hide)):
            if isinstance(members, str):
                raise ConfigError(f"{name}={members!r}: expected a list of client ids")
        scoped = scope(self._core, None, node=node, group=group, client=client)
        shown = f"show {', '.join(show)}" if show is not None else f"hide {', '.join(hide)}"
        return self._place(
            CONSUMER_LIST,
            OtherList(show, hide),
            in_words("consumer list", scoped, shown),
            scoped,
            lasting(often),
            must_fire=often.get("must_fire", True),
        )

    def expire_locks(
        self,
        group: str,
        *,
        node: str | None = None,
        topic: str | None = None,
        queue: int | None = None,
        client: str | None = None,
    ) -> Fault:
        """End queue locks of a group now: any member may take them.

        ``topic``, ``queue`` (a queue number) and ``client`` (the holder) select some of the locks;
        ``node`` selects one broker. LookupError if no lock matches.
        """

        def picks(queue_of: MessageQueue, client_id: str) -> bool:
            return (
                topic in (None, queue_of.topic)
                and queue in (None, queue_of.queue_id)
                and (client is None or client in with_instances({client_id}))
            )

        def act(broker: Broker) -> Callable[[], object] | None:
            held = broker.locks.snapshot().get(group, {})
            if not any(picks(queue_of, client_id) for queue_of, client_id in held.items()):
                return None
            return lambda: broker.locks.expire(group, picks)

        scoped = scope(
            self._core, None, node=node, group=group, topic=topic, queue=queue, client=client
        )
        what = in_words("expire locks", scoped)
        return self._expire(what, f"locks of {group}", self._brokers(node), act)

    def expire_client(self, client: str, *, node: str | None = None) -> Fault:
        """Remove a client from the brokers and close its connection, as after 120 s of silence.

        ``client`` is a client id, ``node`` selects one broker. LookupError if no broker has it.
        """
        from fakemq.broker.faults import expire_client

        what = in_words("expire client", scope(self._core, None, node=node, client=client))
        return self._expire(
            what, f"client {client}", self._brokers(node), lambda at: expire_client(at, client)
        )

    def expire_broker(self, broker: str, *, namesrv: str | int | None = None) -> Fault:
        """Remove a broker from the name servers, as after 120 s of silence.

        The broker's next registration adds it again. ``namesrv`` selects one name server by number,
        name or address. LookupError if no name server has the broker.
        """
        addr = self._core.broker(broker).addr

        def act(name_server: NameServer) -> Callable[[], object] | None:
            if addr not in name_server.tables.broker_live_table:
                return None
            return lambda: name_server.registration.expire(addr)

        what = f"expire broker {broker}"
        return self._expire(what, f"broker {broker}", self._name_servers(namesrv), act)

    def _brokers(self, node: str | None) -> list[Broker]:
        core = self._core
        return list(core.brokers.values()) if node is None else [core.broker(node)]

    def _expire(
        self,
        what: str,
        of: str,
        nodes: list[NodeT],
        act: Callable[[NodeT], Callable[[], object] | None],
    ) -> Fault:
        """Place a fault that acts now, at each of ``nodes`` where there is something to act on.

        ``act`` returns the change to make at a node, or None if the node has nothing to change.
        """

        def look() -> AtOnce:
            acts = [(node.name, of, done) for node in nodes if (done := act(node)) is not None]
            if not acts:
                names = ", ".join(node.name for node in nodes)
                raise LookupError(f"{what}: found none at {names}")
            return what, acts

        return self._at_once(EXPIRE_NOW, look)
