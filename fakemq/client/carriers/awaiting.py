"""The worker that awaits a listener: what a carrier of an event loop performs for a consumer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from fakemq.client.consuming.batch import Slice
from fakemq.client.consuming.received import ReceivedMessage

AsyncListener = Callable[[Sequence[ReceivedMessage]], Awaitable[object]]


async def await_in_row(work: Slice, listener: AsyncListener, elapsed_ms: Callable[[], int]) -> None:
    """Await the listener with one batch after the other, in one task of the loop.

    A task for each batch would cost several times what a short listener does. The twin for plain
    functions is `fakemq.client.consuming.batch.call_in_row`.
    """
    while (batch := work.next()) is not None:
        batch.begin(elapsed_ms())
        try:
            batch.returned(await listener(batch.messages), elapsed_ms())
        except BaseException as error:
            batch.raised(error, elapsed_ms())
            if not isinstance(error, Exception):
                raise
        finally:
            work.ended(batch)
