"""The worker that awaits a listener: what a carrier of an event loop performs for a consumer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from fakemq.client.consuming.batch import Slice, ends_from_outside
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
            # Ctrl-C is for the program, and a cancellation for the carrier, which logs it unless it
            # is its own.
            is_for_others = isinstance(error, KeyboardInterrupt) or ends_from_outside(error)
            batch.raised(error, elapsed_ms(), quietly=is_for_others)
            if is_for_others:
                raise
        finally:
            work.ended(batch)
