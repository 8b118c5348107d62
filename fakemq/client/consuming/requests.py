"""Which requests of brokers a client with a consumer handles."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from fakemq.client.handlers.consume_message_directly import consume_message_directly
from fakemq.client.handlers.get_consumer_running_info import get_consumer_running_info
from fakemq.client.handlers.get_consumer_status_from_client import get_consumer_status_from_client
from fakemq.client.handlers.notify_consumer_ids_changed import notify_consumer_ids_changed
from fakemq.client.handlers.reset_consumer_client_offset import reset_consumer_client_offset
from fakemq.client.tasks import Task
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name
from fakemq.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from fakemq.client.instance import TaskHandler
    from fakemq.client.services import ClientServices

_log = logging.getLogger("fakemq.client")

WAITING_MAX = 64
"""The most requests of brokers that wait at once, each with its body: for a function of the user,
or for a broker's answer. Differs: Java's wait in a queue without a limit."""


def handle_consumer_requests(services: ClientServices) -> None:
    """Handle what brokers ask consumers for; handlers that are there already stay."""
    handlers = services.instance.task_handlers
    code = RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
    handlers.setdefault(code, partial(notify_consumer_ids_changed, services))
    limit = _Limit()
    for code, handler in {
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET: reset_consumer_client_offset,
        RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: get_consumer_status_from_client,
        RequestCode.GET_CONSUMER_RUNNING_INFO: get_consumer_running_info,
        RequestCode.CONSUME_MESSAGE_DIRECTLY: consume_message_directly,
    }.items():
        handlers.setdefault(code, partial(limit.handle, partial(handler, services)))


class _Limit:
    """Refuses requests while `WAITING_MAX` others wait; logs the first one of a flood."""

    def __init__(self) -> None:
        self._waiting = 0
        self._is_flooded = False
        """Whether a request was refused since none waited."""

    def handle(
        self, handler: TaskHandler, addr: str, request: RemotingCommand
    ) -> Task[RemotingCommand | None]:
        if self._waiting >= WAITING_MAX:
            if not self._is_flooded:
                self._is_flooded = True
                _log.warning("%s of %s is refused: too many wait", code_name(request.code), addr)
            return RemotingCommand(ResponseCode.SYSTEM_BUSY, remark="too many requests wait")
        self._waiting += 1
        try:
            return (yield from handler(addr, request))
        finally:
            self._waiting -= 1
            self._is_flooded = self._is_flooded and self._waiting > 0
