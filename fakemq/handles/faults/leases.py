"""Faults of membership, as tests place them: other consumer lists, leases that end at once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TypeVar, Unpack

from fakemq.errors import ConfigError
from fakemq.faults.plan import ONCE, Scope
from fakemq.faults.points import EXPIRE_NOW
from fakemq.faults.request_scope import with_instances
from fakemq.handles.faults.placing import Fault, FaultPlacing, Often, lasting
from fakemq.handles.faults.scopes import in_words, scope

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.namesrv.namesrv import NameServer
    from fakemq.protocol.bodies.queue import MessageQueue

NodeT = TypeVar("NodeT", "Broker", "NameServer")


class LeaseFaults(FaultPlacing):
    """Who is believed to be there, and for how long.

    What expires here does so at the placing, once; LookupError if there is nothing to expire.
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
        """A client is told of other members of its group: ``show``, or all but those to ``hide``.

        Members are client ids, or what stands behind their ``@``. Without ``client`` all are told
        so. Lasts until it is removed, where nothing is said of how often.
        """
        from fakemq.broker.faults import OtherList
        from fakemq.faults.points import CONSUMER_LIST

        if (show is None) is (not hide):
            raise ConfigError("consumer_list: one of show= and hide= says what is other")
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
        """Queue locks of a group run out now: any member may take them."""

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
        return self._at_once(what, f"locks of {group}", self._brokers(node), act)

    def expire_client(self, client: str, *, node: str | None = None) -> Fault:
        """Brokers put a client out and close its connection, as if it had been silent for 120 s."""
        from fakemq.broker.faults import expire_client

        what = in_words("expire client", scope(self._core, None, node=node, client=client))
        return self._at_once(
            what, f"client {client}", self._brokers(node), lambda at: expire_client(at, client)
        )

    def expire_broker(self, broker: str, *, namesrv: str | int | None = None) -> Fault:
        """Name servers forget a broker, as if it had been silent for 120 s; its next registration
        brings it back."""
        addr = self._core.broker(broker).addr

        def act(name_server: NameServer) -> Callable[[], object] | None:
            if addr not in name_server.tables.broker_live_table:
                return None
            return lambda: name_server.registration.expire(addr)

        what = f"expire broker {broker}"
        return self._at_once(what, f"broker {broker}", self._name_servers(namesrv), act)

    def _brokers(self, node: str | None) -> list[Broker]:
        core = self._core
        return list(core.brokers.values()) if node is None else [core.broker(node)]

    def _at_once(
        self,
        what: str,
        of: str,
        nodes: list[NodeT],
        act: Callable[[NodeT], Callable[[], object] | None],
    ) -> Fault:
        """Place a fault that has its effect at once, at those of ``nodes`` for which it has one."""
        core = self._core

        def place() -> Fault:
            acts = [(node.name, done) for node in nodes if (done := act(node)) is not None]
            if not acts:
                names = ", ".join(node.name for node in nodes)
                raise LookupError(f"{what}: there is no such thing at {names}")
            fault = self._place(EXPIRE_NOW, None, what, Scope(), ONCE)
            for name, done in acts:
                with core.journal.because(fault._placed.hit(name, of)):
                    done()
            core.network.settle()
            return fault

        return self._call(place)
