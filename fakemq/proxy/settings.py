"""The settings of clients: what they say, completed by what their group and the server say.

Source: proxy/grpc/v2/common/GrpcClientSettingsManager.java (5.5.0)
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from fakemq.clock.timers import next_tick_ms
from fakemq.protocol.bodies.group import (
    CustomizedRetryPolicy,
    ExponentialRetryPolicy,
    GroupRetryPolicy,
    SubscriptionGroupConfig,
)
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.grpc.messages import (
    CustomizedBackoff,
    ExponentialBackoff,
    Metric,
    Settings,
)
from fakemq.protocol.header import parse_long
from fakemq.protocol.java import int32
from fakemq.protocol.v5.lite import CLIENT_QUOTA
from fakemq.proxy.checks import LITE_TOPIC_MAX_BYTES, check_count
from fakemq.proxy.clients import CONSUMER_TYPES
from fakemq.proxy.status import java_error
from fakemq.proxy.times import duration_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.proxy.clients import Clients

# Source: proxy/config/ProxyConfig.java (5.5.0)
MESSAGE_MAX_BYTES: Final = 4 * 1024 * 1024
_PRODUCER_ATTEMPTS: Final = 3
_PRODUCER_INITIAL_MS, _PRODUCER_MAX_MS, _PRODUCER_MULTIPLIER = 10, 1_000, 2
_RECEIVE_BATCH: Final = 32
PART_BYTES: Final = 100
"""… and for each repeated field."""
UNUSED_PERIOD_MS: Final = 5_000
"""How often Java looks for settings of consumers that are gone."""
LONG_POLLING_MIN_MS: Final = 5_000
LONG_POLLING_MAX_MS: Final = 20_000
_LITE_QUOTA: Final = 2_000
_DEFAULT_GROUP: Final = SubscriptionGroupConfig(group_name="")

HELD_MAX_BYTES: Final = 64 * 1024 * 1024
"""The settings of all clients: a peer may call itself by any number of ids. Beyond that, the oldest
are forgotten, those of members of groups last."""
CLIENT_BYTES: Final = 4_000
"""What settings take in memory beyond their encoded form; a usual client's has 200 bytes there."""
BACKOFF_MS: Final = (
    *(1_000, 5_000, 10_000, 30_000, 60_000, 120_000, 180_000, 240_000, 300_000, 360_000),
    *(420_000, 480_000, 540_000, 600_000, 1_200_000, 1_800_000, 3_600_000, 7_200_000),
)
"""When a group's messages are tried again, if it says nothing of it.

Source: remoting/protocol/subscription/CustomizedRetryPolicy.java (5.5.0)
"""


def retry_delay_ms(policy: GroupRetryPolicy | None, reconsume_times: int) -> int:
    """Return how long to wait for the next attempt.

    Source: CustomizedRetryPolicy.java#nextDelayDuration, ExponentialRetryPolicy.java (5.5.0)
    """
    times = max(0, reconsume_times)
    if policy is not None and policy.type == "EXPONENTIAL":
        exponential = policy.exponential_retry_policy
        if exponential is not None:
            times = min(32, times)
            return min(exponential.max, exponential.initial * int(exponential.multiplier**times))
    delays: Sequence[int] = BACKOFF_MS
    if policy is not None and policy.customized_retry_policy is not None:
        delays = policy.customized_retry_policy.next or BACKOFF_MS
    return delays[min(times + 2, len(delays) - 1)]


class ClientSettings:
    """What each client has said of itself, by client id."""

    def __init__(
        self,
        clock: NodeClock,
        clients: Clients,
        group_config: Callable[[str], SubscriptionGroupConfig | None],
    ) -> None:
        self._clock = clock
        self._clients = clients
        self._group_config = group_config
        self._raw: dict[str, Settings] = {}
        self._sizes: dict[str, int] = {}
        self._accounts: dict[str, str | None] = {}
        self._held_bytes = 0
        self._unused: dict[str, Settings] = {}
        """Of consumers that were no members of their groups when they were last looked at."""
        self._started_ms = 0
        self._timer: Timer | None = None

    def start(self) -> None:
        """Let the grid of looks for unused settings begin now."""
        self._started_ms = self._clock.elapsed_ms()

    def put(
        self, client_id: str, settings: Settings, parts: int, account: str | None = None
    ) -> None:
        """Keep what a client says, in this number of parts; a consumer's gaps are filled.

        ``account`` is that of its call. Raise RpcError for too much.
        """
        kept = Settings()
        if settings.HasField("subscription"):
            _merge_group(kept, _DEFAULT_GROUP)
        kept.MergeFrom(settings)
        self.remove(client_id)
        self._raw[client_id] = kept
        self._accounts[client_id] = account
        self._sizes[client_id] = size_bytes = _size_bytes(client_id, kept, parts)
        self._held_bytes += size_bytes
        self._look_at(client_id, kept)
        if self._held_bytes > HELD_MAX_BYTES:
            self._make_room(client_id)

    def _make_room(self, newest: str) -> None:
        """Forget the oldest settings, those of members of groups last; never the newest."""
        find = self._clients.find
        others = (one for one in list(self._raw) if find(one) is None)
        for client_id in chain(others, list(self._raw)):
            if client_id != newest:
                self.remove(client_id)
                if self._held_bytes <= HELD_MAX_BYTES:
                    return

    def raw(self, client_id: str) -> Settings | None:
        """Return what a client has said; None for an unknown one."""
        return self._raw.get(client_id)

    def account(self, client_id: str) -> str | None:
        """Return the account that said it, as `Context.account`; None for an unknown client."""
        return self._accounts.get(client_id)

    def remove(self, client_id: str) -> Settings | None:
        """Forget a client; return what it had said."""
        settings = self._raw.pop(client_id, None)
        if settings is not None:
            self._held_bytes -= self._sizes.pop(client_id)
            del self._accounts[client_id]
            self._unused.pop(client_id, None)
        return settings

    def client_left(self, client_id: str) -> None:
        """Forget a producer; a consumer at the next look, unless it has come back."""
        settings = self._raw.get(client_id)
        if settings is not None and not self._look_at(client_id, settings):
            self.remove(client_id)

    def clear(self) -> None:
        """Forget all clients."""
        self._raw.clear()
        self._sizes.clear()
        self._accounts.clear()
        self._held_bytes = 0
        self._unused.clear()
        self._clock.cancel(self._timer)
        self._timer = None

    # -- forgetting ---------------------------------------------------------------------------

    def _look_at(self, client_id: str, settings: Settings) -> bool:
        """Return whether a client is a consumer; look later at one that is no member."""
        if settings.client_type not in CONSUMER_TYPES:
            return False
        if not self._is_used(client_id, settings):
            self._unused[client_id] = settings
            if self._timer is None:
                now_ms = self._clock.elapsed_ms()
                due_ms = next_tick_ms(now_ms + 1, self._started_ms, 0, UNUSED_PERIOD_MS)
                self._timer = self._clock.call_later(
                    due_ms - now_ms, self._forget_unused, kind="grpc_settings"
                )
        return True

    def _is_used(self, client_id: str, settings: Settings) -> bool:
        return self._clients.consumer(settings.subscription.group.name, client_id) is not None

    def _forget_unused(self) -> None:
        """Source: GrpcClientSettingsManager.java#onWaitEnd (5.5.0)"""
        unused, self._unused, self._timer = self._unused, {}, None
        self._clock.carry_out(self._forget_each(unused), peer=self)

    def _forget_each(self, unused: Mapping[str, Settings]) -> Steps[None]:
        for client_id, settings in unused.items():
            is_newest = self._raw.get(client_id) is settings
            if is_newest and not self._is_used(client_id, settings):
                self.remove(client_id)
            yield

    # -- what a client is given ---------------------------------------------------------------

    def merged(self, raw: Settings) -> Settings:
        """Return what a client is given: its settings, completed. Raise RpcError for too much."""
        merged = Settings()
        merged.CopyFrom(raw)
        if raw.HasField("publishing"):
            _merge_producer(merged)
        elif raw.HasField("subscription"):
            config = self._group_config(raw.subscription.group.name)
            if config is not None:
                _merge_group(merged, config)
        merged.metric.CopyFrom(Metric(on=False))
        return merged

    def consumption(self, raw: Settings) -> tuple[bool, int]:
        """Return whether a client consumes in order, and how often it gets a message at most."""
        if raw.HasField("publishing"):
            return False, _PRODUCER_ATTEMPTS
        config = None
        if raw.HasField("subscription"):
            config = self._group_config(raw.subscription.group.name)
        if config is None:
            return raw.subscription.fifo, raw.backoff_policy.max_attempts
        return bool(config.consume_message_orderly), int32(config.retry_max_times + 1)


def _size_bytes(client_id: str, settings: Settings, parts: int) -> int:
    return CLIENT_BYTES + len(client_id) + settings.ByteSize() + PART_BYTES * parts


def _merge_producer(settings: Settings) -> None:
    settings.backoff_policy.max_attempts = _PRODUCER_ATTEMPTS
    settings.backoff_policy.exponential_backoff.CopyFrom(
        _exponential(_PRODUCER_INITIAL_MS, _PRODUCER_MAX_MS, _PRODUCER_MULTIPLIER)
    )
    settings.publishing.validate_message_type = True
    settings.publishing.max_body_size = MESSAGE_MAX_BYTES


def _merge_group(settings: Settings, config: SubscriptionGroupConfig) -> None:
    subscription, backoff = settings.subscription, settings.backoff_policy
    subscription.receive_batch_size = _RECEIVE_BATCH
    subscription.long_polling_timeout.CopyFrom(duration_of(LONG_POLLING_MAX_MS))
    subscription.fifo = bool(config.consume_message_orderly)
    subscription.lite_subscription_quota = lite_quota(config)
    subscription.max_lite_topic_size = LITE_TOPIC_MAX_BYTES
    backoff.max_attempts = int32(config.retry_max_times + 1)
    policy = config.group_retry_policy or GroupRetryPolicy()
    if policy.type == "EXPONENTIAL":
        exponential = policy.exponential_retry_policy or ExponentialRetryPolicy()
        backoff.exponential_backoff.CopyFrom(
            _exponential(exponential.initial, exponential.max, exponential.multiplier)
        )
    else:
        customized = policy.customized_retry_policy or CustomizedRetryPolicy()
        delays = BACKOFF_MS if customized.next is None else customized.next
        check_count(len(delays), "delays of a group")
        backoff.customized_backoff.CopyFrom(
            CustomizedBackoff(next=[duration_of(delay) for delay in delays])
        )


def _exponential(initial_ms: int, max_ms: int, multiplier: int) -> ExponentialBackoff:
    return ExponentialBackoff(
        initial=duration_of(initial_ms), max=duration_of(max_ms), multiplier=multiplier
    )


def lite_quota(config: SubscriptionGroupConfig) -> int:
    """Return to how many lite topics a client of a group may subscribe; raise RpcError as Java.

    Source: SubscriptionGroupConfig.java#getLiteSubClientQuota (5.5.0)
    """
    said = (config.attributes or {}).get(CLIENT_QUOTA)
    if said is None:
        return _LITE_QUOTA
    try:
        quota = parse_long(said)
    except NumberFormatError as error:
        raise java_error(
            str(error),
            "NumberFormatException",
            "java.base/java.lang.NumberFormatException.forInputString"
            "(NumberFormatException.java:67)",
        ) from None
    if quota != int32(quota):
        place = "java.base/java.lang.Math.toIntExact(Math.java:1135)"
        raise java_error("integer overflow", "ArithmeticException", place)
    return quota
