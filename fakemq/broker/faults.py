"""Effects of the faults of a broker.

1. Requests that the broker sends to clients are lost, late, duplicated or reordered.
2. Consumer lists differ from client to client, and a test ends the lease of a client.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from fakemq.faults.plan import Scope
from fakemq.faults.points import CONSUMER_LIST, TO_CLIENT
from fakemq.faults.request_scope import request_scope, with_instances
from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode, code_name

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.broker.clients.client_channel import ClientCalls
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import Session
    from fakemq.protocol.command import RemotingCommand

# -- requests to clients --------------------------------------------------------------------------

CALLS = (
    RequestCode.CHECK_TRANSACTION_STATE,
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED,
    RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
    RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT,
    RequestCode.GET_CONSUMER_RUNNING_INFO,
    RequestCode.CONSUME_MESSAGE_DIRECTLY,
    RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT,
)
"""The codes that brokers send to clients."""


class ClientRequest(NamedTuple):
    """What a broker is about to send a client."""

    node: NodeContext[BrokerConfig]
    session: Session
    send: Callable[[], None]
    """Sends the request; a second call sends it again."""
    lose: Callable[[], None]
    """Starts the timeout of the answer, for a request that is not sent now."""


class CallFault:
    """The effect of a fault on a call."""

    def apply(self, call: ClientRequest) -> None:
        raise NotImplementedError


class DropCall(CallFault):
    """The call is lost."""

    def apply(self, call: ClientRequest) -> None:
        call.lose()


class DelayCall(CallFault):
    """The call is sent ``ms`` later, by the cluster's clock."""

    def __init__(self, ms: int) -> None:
        self._ms = ms

    def apply(self, call: ClientRequest) -> None:
        journal = call.node.journal
        cause = journal.cause

        def send() -> None:
            with journal.because(cause):
                call.send()

        call.lose()
        call.node.clock.call_later(self._ms, send, kind="late_by_fault")


class DuplicateCall(CallFault):
    """The call is sent ``copies`` times; the first answer counts."""

    def __init__(self, copies: int) -> None:
        self._copies = copies

    def apply(self, call: ClientRequest) -> None:
        for _ in range(self._copies):
            call.send()


class ReorderCalls(CallFault):
    """Calls are held until there are ``count``, and then sent in reverse order."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._held: list[ClientRequest] = []

    @property
    def waiting(self) -> int:
        """The number of held calls; a call ends with its client's connection or its broker."""
        self._held = [one for one in self._held if not one.session.closed]
        return len(self._held)

    def apply(self, call: ClientRequest) -> None:
        self._held.append(call)
        call.lose()
        if self.waiting == self._count:
            for one in reversed(self._take()):
                one.send()

    def release(self) -> int:
        """Send the held calls in their own order; return their number."""
        held = self._take() if self.waiting else []
        for one in held:
            one.send()
        return len(held)

    def _take(self) -> list[ClientRequest]:
        held, self._held = self._held, []
        return held

    def end(self) -> None:
        """As `release`."""
        self.release()


def intercept_call(
    calls: ClientCalls,
    session: Session,
    command: RemotingCommand,
    send: Callable[[], None],
    lose: Callable[[], None],
) -> bool:
    """Apply the fault that affects a call; return False if there is none."""
    row = next((row for row in table.rows() if row.code == command.code), None)
    header = None if row is None else row.request_header.decode(command.ext_fields)
    node = calls.node
    clients = {session.remote_addr, *calls.client_ids(session)}
    what = request_scope(node.name, command.code, header, command.body, clients)
    placed = node.faults.choose(TO_CLIENT, what)
    if placed is None:
        return False
    on = f"{code_name(command.code)} to {session.remote_addr}"
    with node.journal.because(placed.hit(node.name, on)):
        placed.action.apply(ClientRequest(node, session, send, lose))
    return True


TO_CLIENT.intercept = intercept_call


# -- consumer lists and leases --------------------------------------------------------------------


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
    tables = broker.producers, broker.consumers
    return any(True for members in tables for _ in members.channels_of(session))


CONSUMER_LIST.intercept = shown_list
