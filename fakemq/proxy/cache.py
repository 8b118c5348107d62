"""Values that the front has asked for, and forgets when they were not used for a while."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer

T = TypeVar("T")

EXPIRED_MS: Final = 300_000
MOST: Final = 20_000


class Cache(Generic[T]):
    """Values by their names. One that was not used for 300 s is forgotten, and beyond 20,000 the
    one that was not used for the longest time.

    Source: proxy/config/ProxyConfig.java#topicRouteServiceCacheExpiredSeconds,
    #subscriptionGroupConfigCacheExpiredSeconds, and #…CacheMaxNum (5.5.0)
    """

    def __init__(self, clock: NodeClock) -> None:
        self._clock = clock
        self._values: OrderedDict[str, tuple[T, int]] = OrderedDict()
        """Each with the time of its last use, in ms; the one that was used last is at the end."""
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._values)

    def get(self, name: str) -> T | None:
        """Return a value, which is used by that; None for an unknown name."""
        found = self._values.get(name)
        if found is None:
            return None
        self._use(name, found[0])
        return found[0]

    def put(self, name: str, value: T) -> None:
        """Remember a value, which is used by that."""
        self._use(name, value)
        if len(self._values) > MOST:
            self.drop(next(iter(self._values)))
        if self._timer is None:
            self._wait(EXPIRED_MS)

    def drop(self, name: str) -> None:
        """Forget a value, if it is there."""
        self._values.pop(name, None)

    def clear(self) -> None:
        """Forget all values."""
        self._values.clear()
        self._clock.cancel(self._timer)
        self._timer = None

    def _use(self, name: str, value: T) -> None:
        self._values[name] = value, self._clock.elapsed_ms()
        self._values.move_to_end(name)

    def _wait(self, delay_ms: int) -> None:
        self._timer = self._clock.call_later(delay_ms, self._expire, kind="grpc_cache")

    def _expire(self) -> None:
        self._timer = None
        self._clock.carry_out(self._expire_each(), peer=self)

    def _expire_each(self) -> Steps[None]:
        """Forget what is over; the oldest of the rest is over next."""
        now_ms = self._clock.elapsed_ms()
        while self._values:
            oldest, (_, used_ms) = next(iter(self._values.items()))
            left_ms = used_ms + EXPIRED_MS - now_ms
            if left_ms > 0:
                if self._timer is None:
                    self._wait(left_ms)
                return
            self.drop(oldest)
            yield
