"""Consumer lists that differ from client to client, and leases that a test ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.faults.plan import Scope
from fakemq.faults.points import CONSUMER_LIST
from fakemq.faults.request_scope import with_instances

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from fakemq.broker.broker import Broker
    from fakemq.net.session import Session


class OtherList:
    """The members that a client sees in its group: those of ``show``, or all without ``hide``."""

    def __init__(self, show: Collection[str] | None, hide: Collection[str]) -> None:
        self._show, self._hide = show, hide

    def of(self, client_ids: list[str]) -> list[str]:
        """Return the list to show; a name that is no member is shown as a client id."""
        if self._show is None:
            return [one for one in client_ids if not with_instances({one}) & {*self._hide}]
        by_name = {name: one for one in client_ids for name in with_instances({one})}
        return [by_name.get(name, name) for name in self._show]


def shown_list(broker: Broker, group: str, session: Session, client_ids: list[str]) -> list[str]:
    """Return the consumer list for a client, which a fault may change."""
    clients = frozenset(_names(broker, session))
    what = Scope(node=broker.name, group=group, client=clients)
    placed = broker.faults.choose(CONSUMER_LIST, what)
    if placed is None:
        return client_ids
    shown = placed.action.of(client_ids)
    if shown != client_ids:
        # The fault is the cause of the request's answer, too.
        on = f"the list of {group} for {session.remote_addr}"
        broker.journal.continue_because(placed.hit(broker.name, on))
    return shown


def expire_client(broker: Broker, client: str) -> Callable[[], None] | None:
    """Return what removes a client from a broker's tables; None if it is in no table."""
    sessions = [
        session
        for session in broker.sessions
        if client in _names(broker, session) and _is_member(broker, session)
    ]
    if not sessions:
        return None

    def act() -> None:
        for session in sessions:
            broker.client_expiry.expire(session)

    return act


def _names(broker: Broker, session: Session) -> set[str]:
    return with_instances({session.remote_addr, *broker.client_ids(session)})


def _is_member(broker: Broker, session: Session) -> bool:
    return any(
        True
        for members in (broker.producers, broker.consumers)
        for _ in members.channels_of(session)
    )


CONSUMER_LIST.intercept = shown_list
