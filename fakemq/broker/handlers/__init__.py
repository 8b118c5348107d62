"""What a broker answers: one registration a code, found by `handles`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.dispatch.dispatcher import Handlers

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker

handles: Handlers[Broker] = Handlers("fakemq.broker.handlers")
