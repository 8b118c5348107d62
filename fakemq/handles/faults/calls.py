"""The faults of `mq.faults` for calls: requests that brokers send to clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, Unpack

from fakemq.clock.durations import Duration, duration_ms
from fakemq.config import checked
from fakemq.errors import ConfigError
from fakemq.faults.plan import When
from fakemq.handles.faults.placing import Fault, FaultPlacing, Often, parted, when
from fakemq.handles.faults.requests import GateFault
from fakemq.handles.faults.scopes import Where, in_words, request_code, scope
from fakemq.protocol.codes import RequestCode, code_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.faults.points import CallAction

CallCode: TypeAlias = RequestCode | int | str
_MOST_COPIES = 1_000


class CallLimits(Where, Often, total=False):
    """The limits of a call fault: where it acts, and how often."""


class CallFaults(FaultPlacing):
    """Faults of calls: of the requests that brokers send to clients, such as transaction checks.

    ``call`` is one of CHECK_TRANSACTION_STATE (39), NOTIFY_CONSUMER_IDS_CHANGED (40),
    RESET_CONSUMER_CLIENT_OFFSET (220), GET_CONSUMER_STATUS_FROM_CLIENT (221),
    GET_CONSUMER_RUNNING_INFO (307), CONSUME_MESSAGE_DIRECTLY (309) and
    PUSH_REPLY_MESSAGE_TO_CLIENT (326), by member, name or number. ``limits`` are those of `Where`
    and `Often`; a fault acts once by default.

    Each method raises ConfigError for arguments that contradict each other or can never apply, and
    LookupError for a node that does not exist.
    """

    def drop_call(self, call: CallCode, **limits: Unpack[CallLimits]) -> Fault:
        """Lose the call. A caller that waits for the client's answer waits until its own timeout.

        Example: ``mq.faults.drop_call("CHECK_TRANSACTION_STATE")`` loses the next check.
        """
        from fakemq.broker.faults import DropCall

        return self._place_call_fault("drop call", call, DropCall(), limits)

    def delay_call(self, call: CallCode, by: Duration, **limits: Unpack[CallLimits]) -> Fault:
        """Send the call later; ``by`` is a time of the cluster's clock: ``"3s"``, or 3 seconds."""
        from fakemq.broker.faults import DelayCall

        ms = duration_ms(by, name="delay_call")
        if ms < 0:
            raise ConfigError(f"delay_call by {by!r}: expected a time from now on")
        return self._place_call_fault(f"delay call by {ms} ms", call, DelayCall(ms), limits)

    def duplicate_call(
        self, call: CallCode, copies: int = 2, **limits: Unpack[CallLimits]
    ) -> Fault:
        """Send the call ``copies`` times, from 2 to 1,000."""
        from fakemq.broker.faults import DuplicateCall

        checked.whole("copies", copies, 2, _MOST_COPIES)
        return self._place_call_fault(
            f"send call {copies} times", call, DuplicateCall(copies), limits
        )

    def reorder_calls(
        self, call: CallCode, count: int = 2, **limits: Unpack[CallLimits]
    ) -> GateFault:
        """Hold calls until there are ``count`` of them, then send them in reverse order.

        ``times`` counts such groups of ``count`` calls, not single calls. `GateFault.release`, or
        removing the fault, sends the held calls in their original order. A held call is lost when
        its client's connection or its broker ends. ConfigError for ``on_call``.
        """
        from fakemq.broker.faults import ReorderCalls

        checked.whole("count", count, 2)
        if "on_call" in limits:
            raise ConfigError("reorder_calls takes several calls: say times= or always=True")
        often = when(parted(limits)[1])
        if often.times is not None:  # the plan counts single calls, the test counts groups
            often = When(often.times * count, None, often.probability)
        action = ReorderCalls(count)
        fault = self._place_call_fault(
            f"reorder {count} calls", call, action, limits, often, action.end
        )
        return GateFault(self._running, fault._placed, action)

    def _place_call_fault(
        self,
        what: str,
        call: CallCode,
        action: CallAction,
        limits: CallLimits,
        often: When | None = None,
        on_end: Callable[[], None] = lambda: None,
    ) -> Fault:
        from fakemq.broker.faults import CALLS
        from fakemq.faults.points import TO_CLIENT

        names = ", ".join(one.name for one in CALLS)
        code = request_code(call, f"brokers send clients {names}")
        if code not in CALLS:
            raise ConfigError(f"brokers send no {code_name(code)} to clients; they send {names}")
        where, how_often = parted(limits)
        scoped = scope(self._core, (code,), **where)
        return self._place(
            TO_CLIENT,
            action,
            in_words(f"{what}, {code_name(code)}", scoped),
            scoped,
            when(how_often) if often is None else often,
            must_fire=how_often.get("must_fire", True),
            on_end=on_end,
        )
