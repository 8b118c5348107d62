"""Half messages that clients of the front have sent: where they are, which producer is asked.

A client ends a transaction by its id; the broker wants the offsets of the half message, which the
front remembers for 30 s. A broker that misses the end asks the front, which is a producer of all
topics of transactions for it, and the front asks a client, with new data for the same id.

Source: proxy/service/transaction/TransactionDataManager.java, ClusterTransactionService.java,
proxy/service/relay/AbstractProxyRelayService.java (5.5.0)
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from fakemq.events.grpc import OrphanAsked
from fakemq.journal.journal import shortened
from fakemq.protocol.bodies.heartbeat import HeartbeatData, ProducerData
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.grpc.messages import RecoverOrphanedTransactionCommand, TelemetryCommand
from fakemq.protocol.headers.transaction import (
    CheckTransactionStateRequestHeader,
    EndTransactionRequestHeader,
)
from fakemq.protocol.message import decode_records
from fakemq.protocol.properties import PRODUCER_GROUP
from fakemq.proxy.messages import received_message
from fakemq.proxy.status import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fakemq.broker.broker import Broker
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.journal.journal import Journal
    from fakemq.net.session import Session
    from fakemq.proxy.broker_calls import BrokerCalls
    from fakemq.proxy.call import Peer
    from fakemq.proxy.clients import Client, Clients

# Source: proxy/config/ProxyConfig.java (5.5.0)
EXPIRE_MS: Final = 30_000
_MOST_OF_ID: Final = 15
MOST: Final = 100_000
"""How many ids are known at once, some 50 MB; Java has no limit."""
_EXPIRY_PERIOD_MS: Final = 1_000
"""How often all are looked at: what is over is not taken before either."""
HEARTBEAT_PERIOD_MS: Final = 20_000
_GROUPS_OF_HEARTBEAT: Final = 100
CLIENT_ID: Final = "rmq-proxy-producer-client"


class TransactionData(NamedTuple):
    """A half message: where it is, and until when the front knows."""

    expires_ms: int
    broker_name: str
    log_offset: int
    half_offset: int


def end_command(
    data: TransactionData,
    topic: str,
    group: str,
    commit_or_rollback: int,
    *,
    from_check: bool,
    message_id: str,
    transaction_id: str,
) -> RemotingCommand:
    """Return the request that ends a half message at its broker.

    Source: proxy/service/transaction/AbstractTransactionService.java#genEndTransactionRequestHeader
    """
    header = EndTransactionRequestHeader(
        producer_group=group,
        commit_or_rollback=commit_or_rollback,
        from_transaction_check=from_check,
        msg_id=message_id,
        transaction_id=transaction_id,
        tran_state_table_offset=data.half_offset,
        commit_log_offset=data.log_offset,
    )
    return RemotingCommand(
        RequestCode.END_TRANSACTION,
        ext_fields=header.encode() | {"topic": topic},
        remark="end transaction from proxy",
    )


class OtherProducers(Protocol):
    """Producers that speak remoting to the front: those of a `fakemq.proxy.door.Door`."""

    def has_producers(self, group: str) -> bool:
        """Return whether a group has any."""

    def producer(self, group: str, topic: str) -> Session | None:
        """Return the connection of one that may be asked about a half message of a topic."""

    def client_ids(self, session: Session) -> set[str]:
        """Return the ids of the clients on a connection."""


class Transactions:
    """The half messages that the front knows, and the groups for which it answers brokers."""

    def __init__(
        self,
        name: str,
        clock: NodeClock,
        journal: Journal,
        clients: Clients,
        calls: BrokerCalls,
        brokers: Callable[[], Iterable[Broker]],
        version: int,
        may_publish: Callable[[Client, str], bool],
    ) -> None:
        """``version`` is the number of RocketMQ's release that the front says it has.

        ``may_publish`` says whether a client's account has the right to send to a topic.
        """
        self._name = name
        self._clock = clock
        self._journal = journal
        self._clients = clients
        self._calls = calls
        self._brokers = brokers
        self._version = version
        self._may_publish = may_publish
        self.others: OtherProducers | None = None
        """The producers at the port for remoting, if there is one."""
        self._data: OrderedDict[tuple[str, str], list[TransactionData]] = OrderedDict()
        """Group and transaction id → what is known, the oldest first; the id that was added last is
        at the end, and so over last."""
        self._groups: dict[str, None] = {}
        self._expiry: Timer | None = None
        self._heartbeat: Timer | None = None

    # -- data ---------------------------------------------------------------------------------

    def add(
        self, group: str, transaction_id: str, broker_name: str, log_offset: int, half_offset: int
    ) -> None:
        """Remember a half message for 30 s."""
        expires_ms = self._clock.now_ms() + EXPIRE_MS
        known = self._data.setdefault((group, transaction_id), [])
        known.append(TransactionData(expires_ms, broker_name, log_offset, half_offset))
        known.sort()
        del known[:-_MOST_OF_ID]
        self._data.move_to_end((group, transaction_id))
        if len(self._data) > MOST:
            self._data.popitem(last=False)  # the broker asks about it later
        if self._expiry is None:
            self._expire_at(expires_ms)

    def take(self, group: str, transaction_id: str) -> TransactionData | None:
        """Return the newest half message of an id, and forget it; None if none is known."""
        key, now_ms = (group, transaction_id), self._clock.now_ms()
        known = self._data.get(key)
        while known:
            data = known.pop()
            if not known:
                del self._data[key]
            if data.expires_ms >= now_ms:
                return data
        return None

    def _expire_at(self, at_ms: int) -> None:
        delay_ms = max(0, at_ms + 1 - self._clock.now_ms())
        self._expiry = self._clock.call_later(delay_ms, self._expire, kind="grpc_transaction_data")

    def _expire(self) -> None:
        self._expiry = None
        self._clock.carry_out(self._expire_each(), peer=self)

    def _expire_each(self) -> Steps[None]:
        """Forget what is over. Stop at the first that is not: the others were added later."""
        now_ms = self._clock.now_ms()
        while self._data:
            key, known = next(iter(self._data.items()))
            last_ms = known[-1].expires_ms
            if last_ms >= now_ms:
                if self._expiry is None:
                    self._expire_at(max(last_ms, now_ms + _EXPIRY_PERIOD_MS))
                return
            del self._data[key]
            yield

    # -- groups -------------------------------------------------------------------------------

    def answer_for(self, groups: Iterable[str]) -> Steps[None]:
        """Be a producer of these groups for all brokers, as long as they have clients."""
        new = [group for group in groups if group not in self._groups]
        if not new:
            return
        self._groups.update(dict.fromkeys(new))
        if self._heartbeat is None:
            self._wait_for_heartbeat()
        for start in range(0, len(new), _GROUPS_OF_HEARTBEAT):
            self._send_heartbeat(new[start : start + _GROUPS_OF_HEARTBEAT])
            yield

    def _wait_for_heartbeat(self) -> None:
        self._heartbeat = self._clock.call_later(
            HEARTBEAT_PERIOD_MS, self._beat, kind="grpc_heartbeat"
        )

    def _beat(self) -> None:
        self._heartbeat = None
        self._clock.carry_out(self._beat_all(), peer=self, count=len(self._groups))

    def _beat_all(self) -> Steps[None]:
        """Source: ClusterTransactionService.java#scanProducerHeartBeat (5.5.0)"""
        some: list[str] = []
        for group in list(self._groups):
            if not self._has_producers(group):
                self._groups.pop(group, None)
            else:
                some.append(group)
            if len(some) == _GROUPS_OF_HEARTBEAT:
                self._send_heartbeat(some)
                some = []
            yield
        if some:
            self._send_heartbeat(some)
        if self._groups and self._heartbeat is None:
            self._wait_for_heartbeat()

    def _has_producers(self, group: str) -> bool:
        others = self.others
        here = self._clients.has_producers(group)
        return here or (others is not None and others.has_producers(group))

    def _send_heartbeat(self, groups: list[str]) -> None:
        producers = [ProducerData(group_name=group) for group in groups]
        body = HeartbeatData(client_id=CLIENT_ID, producer_data_set=producers).encode()
        for broker in self._brokers():
            if not broker.role.is_slave:
                beat = RemotingCommand(RequestCode.HEART_BEAT, body=body, version=self._version)
                with suppress(RpcError):  # it is down: the next heartbeat may find it
                    self._calls.tell(None, broker.addr, beat)

    # -- checks -------------------------------------------------------------------------------

    def check(self, broker: Broker, command: RemotingCommand) -> None:
        """Ask a producer whether a half message is to be committed.

        Source: proxy/service/client/ProxyClientRemotingProcessor.java#checkTransactionState,
        proxy/service/relay/AbstractProxyRelayService.java#processCheckTransactionState (5.5.0)
        """
        header = CheckTransactionStateRequestHeader.decode(command.ext_fields)
        (half,) = decode_records(command.body)
        group = half.properties.get(PRODUCER_GROUP)
        if group is None:
            return
        client = self._clients.next_producer(group, lambda one: self._may_publish(one, half.topic))
        others = self.others if client is None else None
        session = None if others is None else others.producer(group, half.topic)
        if client is None and session is None:
            return
        transaction_id = header.get("transaction_id", "")
        self.add(
            group,
            transaction_id,
            broker.config.broker_name,
            header.commit_log_offset,
            header.tran_state_table_offset,
        )
        if client is not None:
            self._note(half.topic, transaction_id, {client.client_id}, client.connection)
            client.write(
                TelemetryCommand(
                    recover_orphaned_transaction_command=RecoverOrphanedTransactionCommand(
                        transaction_id=transaction_id,
                        message=received_message(half, self._clock.now_ms()),
                    )
                )
            )
        elif others is not None and session is not None:
            self._note(half.topic, transaction_id, others.client_ids(session), session)
            asked = CheckTransactionStateRequestHeader(
                tran_state_table_offset=header.tran_state_table_offset,
                commit_log_offset=header.commit_log_offset,
                msg_id=header.get("msg_id", None),
                transaction_id=transaction_id,
            )
            fields = asked.encode() | {"topic": half.topic}
            code = RequestCode.CHECK_TRANSACTION_STATE
            session.send(RemotingCommand(code, ext_fields=fields, body=command.body))

    def _note(self, topic: str, transaction_id: str, client_ids: set[str], peer: Peer) -> None:
        self._journal.add(
            OrphanAsked(
                node=self._name,
                topic=topic,
                transaction_id=shortened(transaction_id),
                client_id=shortened(min(client_ids, default="")),
                peer=peer.remote_addr,
            )
        )

    def clear_data(self) -> None:
        """Forget all half messages."""
        self._data.clear()
        self._clock.cancel(self._expiry)
        self._expiry = None

    def clear(self) -> None:
        """Forget all half messages and groups."""
        self.clear_data()
        self._clock.drop_of(self)  # heartbeats of groups that are about to be forgotten
        self._groups.clear()
        self._clock.cancel(self._heartbeat)
        self._heartbeat = None
