"""Answers brokers that ask about half messages, by functions of the user that take their time.

Source: client/impl/ClientRemotingProcessor.java#checkTransactionState,
client/impl/producer/DefaultMQProducerImpl.java#checkTransactionState (4.9.7)
"""

from __future__ import annotations

import logging
from functools import partial
from typing import NamedTuple

from fakemq.client.instance import ClientInstance
from fakemq.client.messages import LocalTransactionState
from fakemq.client.producing import namespace
from fakemq.client.producing.check_listener import CheckListener, TransactionEnd
from fakemq.client.tasks import Perform, Task
from fakemq.protocol import properties as names
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.headers.transaction import (
    CheckTransactionStateRequestHeader,
    EndTransactionRequestHeader,
)
from fakemq.protocol.message import MessageExt, decode_record, decompressed_body

_log = logging.getLogger("fakemq.client")


def listen_for_checks(instance: ClientInstance, group: str, listener: CheckListener) -> None:
    """Answer the checks of a producer group, in its namespace, by a listener from now on."""
    instance.check_listeners[group] = listener
    instance.task_handlers[RequestCode.CHECK_TRANSACTION_STATE] = partial(_answer, instance)


def _answer(
    instance: ClientInstance, addr: str, request: RemotingCommand
) -> Task[RemotingCommand | None]:
    """Handle CHECK_TRANSACTION_STATE (39): answer by a request if the group has a listener here."""
    asked = _Asked.read(request)
    listener = None if asked is None else instance.check_listeners.get(asked.group)
    if asked is None or listener is None:
        return None
    if listener.under_way >= listener.hold_max:
        _log.warning("a check of %s is dropped: %d are under way", addr, listener.under_way)
        return None
    message = asked.message
    message.topic = namespace.unwrap(message.topic, listener.tenant)
    state, remark = LocalTransactionState.UNKNOW, None
    listener.under_way += 1
    try:
        state = known_state((yield Perform(listener.check, (message,))))
    except Exception as error:
        _log.exception("the check of %s failed", message)
        remark = f"checkLocalTransactionState Exception: {error!r}"
    finally:
        listener.under_way -= 1
    if listener.on_end is not None:
        listener.on_end(TransactionEnd(message, message.msg_id, addr, state, True))
    command = instance.command(RequestCode.END_TRANSACTION, asked.answer(state))
    command.remark = remark
    command.flag |= FLAG_ONEWAY
    return command


class _Asked(NamedTuple):
    """The half message that a broker asks about."""

    message: MessageExt
    group: str
    half_offset: int
    commit_log_offset: int
    transaction_id: str | None
    broker_name: str | None

    @classmethod
    def read(cls, request: RemotingCommand) -> _Asked | None:
        """Return what a CHECK_TRANSACTION_STATE asks; None if it cannot be read."""
        try:
            message = decode_record(request.body)
            message.body = decompressed_body(message)
            header = CheckTransactionStateRequestHeader.decode(request.ext_fields)
            # Read inside the try block: a missing field raises its error only when it is read.
            return cls(
                message,
                message.properties.get(names.PRODUCER_GROUP, ""),
                header.tran_state_table_offset,
                header.commit_log_offset,
                header.transaction_id,
                header.bname,
            )
        except ProtocolError as error:
            _log.warning("checkTransactionState, decode message failed: %s", error)
            return None

    def answer(self, state: LocalTransactionState) -> EndTransactionRequestHeader:
        """Return the header of the request that answers."""
        return EndTransactionRequestHeader(
            producer_group=self.group,
            tran_state_table_offset=self.half_offset,
            commit_log_offset=self.commit_log_offset,
            commit_or_rollback=state.value,
            from_transaction_check=True,
            msg_id=self.message.msg_id,
            transaction_id=self.transaction_id,
            bname=self.broker_name,
        )


def known_state(state: object) -> LocalTransactionState:
    """Return the state that a function of the user returned; raise TypeError if it is none."""
    if state is None:
        return LocalTransactionState.UNKNOW
    if not isinstance(state, LocalTransactionState):
        raise TypeError(f"the function returned {state!r}: expected a LocalTransactionState")
    return state
