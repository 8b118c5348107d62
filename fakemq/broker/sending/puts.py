"""Where a broker puts what its duties write: deliveries, half messages, what is popped too long."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from fakemq.later import Later
from fakemq.store.inner_message import InnerMessage
from fakemq.store.puts import PutMessageResult

Putting: TypeAlias = PutMessageResult | Later[PutMessageResult]
"""The result of a put; a `Later`, which is not done, if another broker has to answer first."""
Put: TypeAlias = Callable[[InnerMessage], Putting]


class DutyPuts(NamedTuple):
    """The puts of one broker: into its store, unless it is a slave that acts as master.

    Each wakes the pulls that wait for the message. The names are those of broker/failover
    /EscapeBridge.java (5.5.0).
    """

    put_message: Put
    async_put_message: Put
    put_message_to_specific_queue: Put
