"""What an asynchronous client does in its own way: begin and end."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from fakemq.client.carriers.asynchronous import AsyncCarrier
from fakemq.client.instance import ClientInstance


class AsyncClientBase:
    """A client that an event loop carries."""

    instance: ClientInstance
    _carrier: AsyncCarrier

    async def __aenter__(self) -> Self:
        await self._carrier.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave all groups and close every connection."""
        try:
            await self._carrier.run(self.instance.unregister_all())
        finally:
            await self._carrier.__aexit__(kind, error, traceback)
