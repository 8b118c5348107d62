"""What a broker of 5.5.0 answers alone, or otherwise than one of 4.9.7: one module a code.

A module is named like its code, and is found by being here.
"""

from __future__ import annotations

from typing import Final

from fakemq.broker.broker import Broker
from fakemq.broker.broker import handles as earlier
from fakemq.dispatch.registry import Handlers

handles: Final[Handlers[Broker]] = Handlers("fakemq.broker.v5.handlers", earlier=earlier)
"""The decorator that registers a handler for brokers of 5.5.0."""
