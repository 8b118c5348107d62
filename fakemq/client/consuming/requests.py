"""Which requests of brokers a client with a consumer handles."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fakemq.client.handlers.consume_message_directly import consume_message_directly
from fakemq.client.handlers.get_consumer_running_info import get_consumer_running_info
from fakemq.client.handlers.get_consumer_status_from_client import get_consumer_status_from_client
from fakemq.client.handlers.notify_consumer_ids_changed import notify_consumer_ids_changed
from fakemq.client.handlers.reset_consumer_client_offset import reset_consumer_client_offset
from fakemq.protocol.codes import RequestCode

if TYPE_CHECKING:
    from fakemq.client.services import ClientServices


def handle_consumer_requests(services: ClientServices) -> None:
    """Handle what brokers ask consumers for; handlers that are there already stay."""
    for code, handler in {
        RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: notify_consumer_ids_changed,
        RequestCode.RESET_CONSUMER_CLIENT_OFFSET: reset_consumer_client_offset,
        RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: get_consumer_status_from_client,
        RequestCode.GET_CONSUMER_RUNNING_INFO: get_consumer_running_info,
        RequestCode.CONSUME_MESSAGE_DIRECTLY: consume_message_directly,
    }.items():
        services.task_handlers.setdefault(code, partial(handler, services))
