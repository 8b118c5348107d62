"""Answers brokers that ask about half messages, by functions of the user that take their time.

Source: client/impl/ClientRemotingProcessor.java#checkTransactionState,
client/impl/producer/DefaultMQProducerImpl.java#checkTransactionState (4.9.7)
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.client.messages import LocalTransactionState
from fakemq.client.producing import namespace
from fakemq.client.producing.settings import Check
from fakemq.client.tasks import Task
from fakemq.client.transaction_operations import (
    AskedTransaction,
    TransactionEnd,
    answer_check,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")


class CheckListener:
    """The check of one producer; at most ``hold_max`` of its calls are under way."""

    def __init__(
        self,
        check: Check,
        *,
        tenant: str,
        hold_max: int,
        on_end: Callable[[TransactionEnd], None] | None,
    ) -> None:
        """``tenant`` is the producer's namespace."""
        self.check = check
        self.tenant = tenant
        self.hold_max = hold_max
        self.on_end = on_end
        self.under_way = 0


class CheckHandler:
    """Handles CHECK_TRANSACTION_STATE (39) for all producers of one client."""

    def __init__(self, services: ClientServices) -> None:
        self._services = services
        self.listeners: dict[str, CheckListener] = {}
        """By producer group, in its namespace."""

    def __call__(self, addr: str, request: RemotingCommand) -> Task[RemotingCommand | None]:
        asked = AskedTransaction.read(request)
        listener = None if asked is None else self.listeners.get(asked.group)
        if asked is None or listener is None:
            return None
        if listener.under_way >= listener.hold_max:
            _log.warning("a check of %s is dropped: %d are under way", addr, listener.under_way)
            return None
        message = asked.message
        message.topic = namespace.unwrap(message.topic, listener.tenant)
        listener.under_way += 1
        try:
            command = yield from answer_check(self._services.instance, asked, listener.check)
        finally:
            listener.under_way -= 1
        if listener.on_end is not None:
            state = LocalTransactionState(int(command.ext_fields["commitOrRollback"]))
            listener.on_end(TransactionEnd(message, message.msg_id, addr, state, True))
        return command


def check_handler(services: ClientServices) -> CheckHandler:
    """Return the handler of a client's checks, which is registered with the first call."""
    handler = services.task_handlers.get(RequestCode.CHECK_TRANSACTION_STATE)
    if not isinstance(handler, CheckHandler):
        handler = CheckHandler(services)
        services.task_handlers[RequestCode.CHECK_TRANSACTION_STATE] = handler
    return handler
