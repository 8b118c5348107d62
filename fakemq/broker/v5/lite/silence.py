"""Clients that do not say any more what they subscribe to are forgotten.

Source: broker/lite/LiteSubscriptionRegistryImpl.java#run, #cleanupExpiredSubscriptions (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.clock.timers import LEAST_PERIOD_MS, next_tick_ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.broker.v5.lite.subscriptions import LiteRegistry, LiteSubscription
    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.net.session import Session


class LiteSilence:
    """Looks at the tick of Java's grid at which the next client would be silent for too long."""

    def __init__(
        self,
        clock: NodeClock,
        config: BrokerConfig5,
        subscriptions: LiteRegistry,
        started_ms: Mapping[bool, int],
    ) -> None:
        self._clock = clock
        self._config = config
        self._subscriptions = subscriptions
        self._started_ms = started_ms
        self._timers: dict[bool, Timer | None] = {False: None, True: None}

    def updated(self, subscription: LiteSubscription, session: Session | None) -> None:
        """Note that a client has said something, on the connection that is known of it."""
        if session is not None:
            subscription.outside = session.for_outside
        outside = subscription.outside
        subscription.updated_ms = self._clock.elapsed_ms(outside=outside)
        self._watch(subscription.updated_ms, outside=outside)

    def clear(self) -> None:
        """Wait for no client."""
        for outside, timer in self._timers.items():
            self._clock.drop_of((self, outside))
            self._clock.cancel(timer)
            self._timers[outside] = None

    def _watch(self, updated_ms: int, *, outside: bool) -> None:
        timer = self._timers[outside]
        if timer is not None and timer.pending:
            return  # it is due for a client that was silent before
        config, clock = self._config, self._clock
        period_ms = max(config.lite_subscription_check_interval, LEAST_PERIOD_MS)
        tick_ms = next_tick_ms(
            updated_ms + config.lite_subscription_check_timeout_mills + 1,
            self._started_ms[outside],
            period_ms,
            period_ms,
        )
        self._timers[outside] = clock.call_later(
            max(0, tick_ms - clock.elapsed_ms(outside=outside)),
            lambda: self._look(outside),
            kind="lite_subscriptions",
            outside=outside,
        )

    def _look(self, outside: bool) -> None:
        self._timers[outside] = None
        self._clock.carry_out(self._look_at_each(outside), peer=(self, outside))

    def _look_at_each(self, outside: bool) -> Steps[None]:
        most_ms = self._config.lite_subscription_check_timeout_mills
        first_ms = None
        for client_id in self._subscriptions.client_ids():
            yield
            said_ms = self._said_ms(client_id, outside)
            if said_ms is None:
                continue
            if self._clock.elapsed_ms(outside=outside) - said_ms > most_ms:
                yield from self._subscriptions.remove_all(client_id)
            else:
                first_ms = said_ms if first_ms is None else min(first_ms, said_ms)
        if first_ms is not None:
            self._watch(first_ms, outside=outside)

    def _said_ms(self, client_id: str, outside: bool) -> int | None:
        """Return when a client has said something last; None if it is not on this axis."""
        found = self._subscriptions.find(client_id)
        return None if found is None or found.outside != outside else found.updated_ms
