"""What both push consumers have in common: their settings, subscriptions and functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from fakemq.client.consuming.settings import PushSettings, Selector
from fakemq.client.errors import MQClientError
from fakemq.client.faces.handlers import Handlers, OnMessage, OnMessages, Subscribe
from fakemq.client.faces.settings import settled, settled_client
from fakemq.config.checked import whole
from fakemq.protocol.java import INT_MAX

if TYPE_CHECKING:
    from fakemq.client.faces.settings import Settled

AWAIT_TERMINATION_MS = 10_000
"""Java waits 0 ms by default: what is being consumed then is consumed again by another member."""


class PushParts:
    """The checked arguments of a push consumer."""

    def __init__(
        self,
        face: str,
        namesrv_addr: str | None,
        group: str,
        subscribe: Subscribe | None,
        on_message: OnMessage | None,
        on_messages: OnMessages | None,
        wait_ms: int,
        options: Mapping[str, object],
        *,
        may_await: bool,
    ) -> None:
        chosen = dict(options)
        self.wait_ms = whole("await_termination_ms_when_shutdown", wait_ms, 0, INT_MAX)
        arguments = ("subscribe", "on_message", "on_messages", "await_termination_ms_when_shutdown")
        self.settings = settled(face, PushSettings, chosen, arguments, group=group)
        self.client: Settled = settled_client(namesrv_addr, chosen)
        self.handlers = Handlers(face, subscribe, on_message, on_messages, may_await=may_await)
        self._sets_threads = "consume_threads" in chosen
        if self.settings.consume_message_batch_max_size > 1 and on_messages is None:
            raise TypeError(
                "consume_message_batch_max_size is for on_messages, which takes a batch: pass"
                " on_messages=…, or leave the size at 1"
            )

    def settings_to_start(self) -> PushSettings:
        """Return the settings with all subscriptions; raise MQClientError if there are none."""
        handlers = self.handlers
        handlers.require_all()
        if not handlers.subscriptions:
            raise MQClientError(
                'no subscription: pass subscribe={"topic": "*"}, or decorate a function with'
                ' @consumer.on("topic")'
            )
        settings = msgspec.structs.replace(self.settings, subscribe=dict(handlers.subscriptions))
        if not handlers.are_given and not self._sets_threads:
            # Each message beyond the one that a loop has would wait for it, and its time to be
            # consumed would pass.
            settings = msgspec.structs.replace(settings, consume_threads=1)
        return settings


def expression_of(tags: str, sql: str | None) -> str | Selector:
    """Return what a decorator's arguments want; raise TypeError for both."""
    if sql is None:
        return tags
    if tags != "*":
        raise TypeError("tags and sql: expected one of them")
    return Selector.by_sql(sql)
