"""Sending in transactions: a half message first, and its end after the local transaction.

A broker that gets no end asks the producers of the group: see `fakemq.client.producing.checks`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from fakemq.client.errors import MQClientError, RemotingError
from fakemq.client.instance import ClientInstance
from fakemq.client.messages import LocalTransactionState, Message, SendResult, SendStatus
from fakemq.client.operation import Operation, Reading, tell
from fakemq.client.producing.check_listener import CheckListener, TransactionEnd
from fakemq.client.producing.checks import known_state, listen_for_checks
from fakemq.client.producing.settings import AsyncExecute
from fakemq.client.producing.settings import Check as Check
from fakemq.client.producing.settings import Execute as Execute
from fakemq.client.send_operations import SendOperations
from fakemq.client.tasks import Perform, Task
from fakemq.protocol import properties as names
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.transaction import EndTransactionRequestHeader
from fakemq.protocol.message_id import decode_offset_id

_log = logging.getLogger("fakemq.client")

TRANSACTION_ID = "__transactionId__"
"""The property in which a local transaction finds the id that the broker gave."""


class TransactionSendResult(msgspec.Struct, frozen=True):
    """Where the half message was stored, as in ``sent``, and the state that was sent for it.

    Source: client/producer/TransactionSendResult.java (4.9.7)
    """

    sent: SendResult
    state: LocalTransactionState

    @property
    def status(self) -> SendStatus:
        return self.sent.status

    @property
    def message_id(self) -> str:
        return self.sent.message_id

    @property
    def broker_name(self) -> str:
        return self.sent.broker_name

    @property
    def queue_id(self) -> int:
        return self.sent.queue_id

    @property
    def queue_offset(self) -> int:
        return self.sent.queue_offset


class TransactionOperations:
    """Sends in transactions for one group, by ``sends`` if they are given.

    ``on_end`` is called before each end is sent.

    Source: client/impl/producer/DefaultMQProducerImpl.java (4.9.7)
    """

    def __init__(
        self,
        instance: ClientInstance,
        group: str | None = None,
        *,
        sends: SendOperations | None = None,
        on_end: Callable[[TransactionEnd], None] | None = None,
    ) -> None:
        self._instance = instance
        self._producer = SendOperations(instance, group) if sends is None else sends
        self.on_end = on_end

    @property
    def group(self) -> str:
        return self._producer.group

    def listen_for_checks(self, check: Check) -> Operation[None]:
        """Answer brokers that ask about half messages of this group by ``check``, from now on.

        The brokers of the create-topic key and the known brokers learn of the group at once, all
        others with a heartbeat. So a producer that never sent is asked too, as in Java. ``check``
        gets the message with its decompressed body. If it fails, or returns no state, the answer is
        UNKNOW and the log has the reason.
        """
        instance = self._instance
        listener = CheckListener(
            check,
            tenant="",
            hold_max=self._producer.settings.check_request_hold_max,
            on_end=self.on_end,
        )
        listen_for_checks(instance, self.group, listener)
        instance.producer_groups[self.group] = None
        yield from instance.known_route(instance.config.create_topic_key)
        yield from instance.heartbeat()

    def send_in_transaction(
        self,
        message: Message,
        execute: AsyncExecute,
        *,
        queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> Task[TransactionSendResult]:
        """Send a half message, run the local transaction, and send the broker its result.

        ``execute`` is the local transaction; an async function needs a client in an event loop. If
        the send status is not SEND_OK, it is not called and the message is rolled back. An
        exception of ``execute`` is raised here too, after the broker got UNKNOW; Java only logs it.
        If it returns something other than a state, the broker gets UNKNOW and TypeError is raised;
        None means UNKNOW. A broker that cannot be reached will ask.

        Source: DefaultMQProducerImpl.java#sendMessageInTransaction (4.9.7)
        """
        sent = yield from self.send_half(message, queue=queue, timeout_ms=timeout_ms)
        state = LocalTransactionState.ROLLBACK_MESSAGE
        try:
            if sent.status is SendStatus.SEND_OK:
                if sent.transaction_id is not None:
                    message.properties[TRANSACTION_ID] = sent.transaction_id
                state = known_state((yield Perform(execute, (message,))))
        except Exception as error:
            remark = f"executeLocalTransactionBranch exception: {error!r}"
            yield from self._try_to_end(message, sent, LocalTransactionState.UNKNOW, remark)
            raise
        yield from self._try_to_end(message, sent, state, None)
        return TransactionSendResult(sent, state)

    def send_half(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        timeout_ms: int | None = None,
    ) -> Operation[SendResult]:
        """Send a half message: no consumer gets it before `end_transaction` commits it.

        A delay level is removed from it.
        """
        message.properties.pop(names.DELAY_TIME_LEVEL, None)
        message.properties[names.TRANSACTION_PREPARED] = "true"
        message.properties[names.PRODUCER_GROUP] = self.group
        return (yield from self._producer.send(message, queue=queue, timeout_ms=timeout_ms))

    def end_transaction(
        self,
        sent: SendResult,
        state: LocalTransactionState,
        *,
        remark: str | None = None,
        message: Message | None = None,
    ) -> Operation[None]:
        """End the transaction of a half message, by a request without an answer.

        None means UNKNOW; raise TypeError for any other value that is no state. ``message`` is for
        ``on_end``, which is not called without it.

        Source: DefaultMQProducerImpl.java#endTransaction (4.9.7)
        """
        addr = yield from self._instance.master_addr(sent.queue)
        with Reading(addr):
            commit_log_offset = decode_offset_id(sent.offset_msg_id).physical_offset
        header = EndTransactionRequestHeader(
            producer_group=self.group,
            tran_state_table_offset=sent.queue_offset,
            commit_log_offset=commit_log_offset,
            commit_or_rollback=known_state(state).value,
            msg_id=sent.msg_id,
            transaction_id=sent.transaction_id,
            bname=sent.queue.broker_name,
        )
        command = self._instance.command(RequestCode.END_TRANSACTION, header)
        command.remark = remark
        if self.on_end is not None and message is not None:
            self.on_end(TransactionEnd(message, sent.msg_id, addr, known_state(state), False))
        yield from tell(addr, command, self._producer.settings.send_timeout_ms)

    def _try_to_end(
        self,
        message: Message,
        sent: SendResult,
        state: LocalTransactionState,
        remark: str | None,
    ) -> Operation[None]:
        try:
            yield from self.end_transaction(sent, state, remark=remark, message=message)
        except (MQClientError, RemotingError) as error:
            _log.warning("local transaction is %s, but no broker was reached: %s", state, error)
