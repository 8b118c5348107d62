"""What decides about a half message when a broker asks, and what a listener gets of its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fakemq.client.messages import LocalTransactionState, Message
from fakemq.client.producing.settings import Check
from fakemq.protocol.message import MessageExt


class TransactionEnd(NamedTuple):
    """What is sent to a broker about a half message."""

    message: Message | MessageExt
    msg_id: str
    addr: str
    state: LocalTransactionState
    from_check: bool


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
