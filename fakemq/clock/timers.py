"""The kinds of timers, and the domain of each: which time it counts.

There are two domains:

1. *Deadlines* count the cluster's clock.
2. *Liveness* timers watch a peer: its I/O resets them, or they are the time-out of a request to it.
   For a peer inside the cluster they count the cluster's clock, for one outside real time.

Each timer of 4.9.7 that a client can notice has a kind. A polling loop of Java is a deadline here,
rounded to Java's grid if a client can see the difference.

*Routine* is work that a node repeats at a fixed period and that changes nothing but times as long
as nothing else happens. Example: a broker registers every 30 s, and the name server notes when.
A long advance skips it after two conditions have held for `SEEN_MS`:
1. Only routine was due, so all of it was carried out at least once, and whatever it could change is
   changed. A name server forgets a broker within 130 s of its last registration.
2. No fault is placed, and no node is paused: a fault or the silence may act at any time.

What is skipped is a multiple of `CYCLE_MS`, which is a multiple of every period, except where a
timer has a `Timer.grid_ms`. So all routine is due at the same times as without the skip.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from enum import Enum
from typing import Final, Protocol

from fakemq.errors import did_you_mean

SEEN_MS: Final = 180_000
CYCLE_MS: Final = 300_000


class Domain(Enum):
    """The time that a timer counts."""

    DEADLINE = "deadline"
    LIVENESS = "liveness"


DOMAINS: Final[dict[str, Domain]] = {
    # name server
    "broker_expiry": Domain.LIVENESS,  # scanNotActiveBroker, 120 s, scan 5 s / 10 s
    "kv_config_print": Domain.DEADLINE,  # printAllPeriodically, 1 min / 10 min
    # every connection
    "channel_idle": Domain.LIVENESS,  # IdleStateHandler, 120 s
    "rpc_timeout": Domain.LIVENESS,  # scanResponseTable
    "grpc_deadline": Domain.LIVENESS,  # the caller's `grpc-timeout`
    # Ours: how many warnings were withheld, 60 s. The kind is public: a value of `TimerFired.kind`.
    "offences": Domain.LIVENESS,
    # broker
    "register_broker": Domain.LIVENESS,  # registerBrokerAll, 10 s / 30 s
    "update_namesrv_addr": Domain.DEADLINE,  # updateNameServerAddressList, 10 s / 2 min
    "client_expiry": Domain.LIVENESS,  # ClientHousekeepingService, 120 s, scan 10 s / 10 s
    "pull_hold": Domain.LIVENESS,  # PullRequestHoldService, grid of 5 s
    "pop_hold": Domain.LIVENESS,  # PopLongPollingService (5.5.0), 50 ms before the end
    "pop_revive": Domain.DEADLINE,  # PopReviveService (5.5.0), 2 s after the invisible time
    # QueueLevelConsumerOrderInfoLockManager (5.5.0): a queue that is consumed in order is free
    "invisible": Domain.DEADLINE,
    "lite_events": Domain.LIVENESS,  # LiteEventDispatcher#scan (5.5.0), 10 s
    "lite_subscriptions": Domain.LIVENESS,  # LiteSubscriptionRegistryImpl, 3 min, scan 2 min
    "lite_expiry": Domain.DEADLINE,  # LiteLifecycleManager (5.5.0), 15 min / 2 min
    # controllers (5.5.0)
    "controller_append": Domain.DEADLINE,  # DLedgerController#appendToDLedgerAndWait, 5 s
    "controller_election": Domain.DEADLINE,  # Raft's timers, 7 to 9.2 s, jRaft 1 to 2 s
    "controller_expiry": Domain.LIVENESS,  # scanNotActiveBroker, 10 s, scan 2 s / 5 s
    "controller_scan": Domain.DEADLINE,  # scanInactiveMasterAndTriggerReelect, 5 s
    # gRPC front
    "grpc_cache": Domain.DEADLINE,  # routes and groups, expireAfterAccess, 300 s
    "grpc_client_expiry": Domain.LIVENESS,  # scanNotActiveChannel, 120 s, scan 10 s / 10 s
    "grpc_heartbeat": Domain.DEADLINE,  # TxHeartbeatServiceThread, 20 s
    "grpc_renew": Domain.DEADLINE,  # DefaultReceiptHandleManager#scheduleRenewTask, 5 s
    "grpc_settings": Domain.DEADLINE,  # GrpcClientSettingsManager#onWaitEnd, 5 s
    "grpc_transaction_data": Domain.DEADLINE,  # TransactionDataManager, 30 s
    "acl_watch": Domain.DEADLINE,  # AclFileWatchService, 5 s
    "protect_broker": Domain.DEADLINE,  # BrokerController#protectBroker, 3 min / 3 min
    "delay_level": Domain.DEADLINE,  # ScheduleMessageService, per level: delay_level_3
    "delay_offset_persist": Domain.DEADLINE,  # ScheduleMessageService, 10 s / 10 s
    "config_persist": Domain.DEADLINE,  # ConfigManager: offsets 10 s / 5 s, filters 10 s / 10 s
    "timer": Domain.DEADLINE,  # TimerMessageStore#dequeue, the end of each second (5.5.0)
    "timer_flush": Domain.DEADLINE,  # TimerFlushService, 1 s (5.5.0)
    "txn_check": Domain.DEADLINE,  # TransactionalMessageCheckService, 60 s / 60 s
    "txn_check_sleep": Domain.DEADLINE,  # SLEEP_WHILE_NO_OP within a check, 1 s (5.5.0)
    "transaction_ops": Domain.DEADLINE,  # TransactionalOpBatchService (5.5.0), 3 s
    "filter_data_clean": Domain.DEADLINE,  # ConsumerFilterManager, 10 s / 10 s
    "clean_files": Domain.DEADLINE,  # CleanCommitLogService, 60 s / 10 s
    "delete_files": Domain.DEADLINE,  # deleteCommitLogFilesInterval, 100 ms
    "slave_sync": Domain.LIVENESS,  # SlaveSynchronize, 3 s / 10 s
    # a broker under a controller (5.5.0), ReplicasManager
    "controller_addresses": Domain.LIVENESS,  # updateControllerAddr, 120 s / 120 s
    "controller_heartbeat": Domain.LIVENESS,  # scheduleSendHeartbeat, 1 s / 1 s
    "controller_leader": Domain.LIVENESS,  # updateControllerMetadata, 3 s / 10 s
    "controller_reach": Domain.LIVENESS,  # scanAvailableControllerAddresses, 3 s / 3 s
    "replica_metadata": Domain.LIVENESS,  # schedulingSyncBrokerMetadata, 3 s / 5 s
    "replica_start": Domain.LIVENESS,  # startBasicService: pauses of up to 1 s, and 5 s
    "sync_set_check": Domain.LIVENESS,  # schedulingCheckSyncStateSet, 3 s / 5 s
    # a broker whose slaves may act as masters (5.5.0), BrokerController
    "broker_heartbeat": Domain.LIVENESS,  # scheduleSendHeartbeat, 1 s / 1 s
    "member_group": Domain.LIVENESS,  # syncBrokerMemberGroup, 1 s / 1 s
    "pre_online": Domain.LIVENESS,  # BrokerPreOnlineService, 1 s
    # replication
    "ha_connect": Domain.LIVENESS,  # HAClient, 5 s
    "ha_transfer": Domain.LIVENESS,  # WriteSocketService without data, 100 ms
    "ha_heartbeat": Domain.LIVENESS,  # both ends, 5 s
    "ha_housekeeping": Domain.LIVENESS,  # ReadSocketService, 20 s
    "ha_ack_wait": Domain.LIVENESS,  # GroupTransferService, 1 s
    # store in a directory
    "flush_commit_log": Domain.DEADLINE,  # FlushRealTimeService, 500 ms
    "flush_consume_queue": Domain.DEADLINE,  # FlushConsumeQueueService, 1 s
    "disk_retry": Domain.DEADLINE,  # ours: try again what a full disk refused, 1 s
    "index_build": Domain.DEADLINE,  # ours: the index catches up in small steps, 5 ms apart
    "slow_flush": Domain.DEADLINE,  # ours: the fault of a flush that takes time
    "sync_flush_timeout": Domain.DEADLINE,  # FlushDiskWatcher, 5 s
    # faults
    "fast_failure": Domain.DEADLINE,  # BrokerFastFailure, 1 s / 10 ms
    "link_delivery": Domain.DEADLINE,  # ours: bytes on a link with latency or little bandwidth
    "connect_timeout": Domain.LIVENESS,  # ours: a connect into a partition, 3 s
    "late_by_fault": Domain.DEADLINE,  # ours: what a fault delays
    # client core
    "heartbeat": Domain.LIVENESS,  # MQClientInstance, 30 s
    "client_routes": Domain.LIVENESS,  # MQClientInstance, 30 s
    "client_persist": Domain.DEADLINE,  # MQClientInstance#persistAllConsumerOffset, 5 s
    "client_rebalance": Domain.DEADLINE,  # RebalanceService, 20 s
    "client_pull": Domain.DEADLINE,  # PullMessageService: a pull that comes later
    "client_consume": Domain.DEADLINE,  # ConsumeMessageService: a message that is tried again
    "client_lock": Domain.DEADLINE,  # ConsumeMessageOrderlyService#lockMQPeriodically, 1 s / 20 s
    "client_poll": Domain.DEADLINE,  # DefaultLitePullConsumerImpl#poll, 5 s
    "client_queues": Domain.DEADLINE,  # DefaultLitePullConsumerImpl#startScheduleTask, 10 s / 30 s
    "client_request": Domain.DEADLINE,  # DefaultMQProducerImpl#request: the time for a reply
    "client_trace": Domain.DEADLINE,  # AsyncTraceDispatcher, 500 ms
    "client_task": Domain.DEADLINE,  # what else a client does later
    # simulator
    "sim_fault": Domain.DEADLINE,  # ours: a fault begins or ends
}
"""Kind → domain; each later kind (retention, …) is a row here.

A kind of which there are several has a number: ``delay_level_3`` is a ``delay_level``.
"""


def base_kind(kind: str) -> str:
    """Return a kind without its number, if it has one: the row of `DOMAINS`."""
    row, _, number = kind.rpartition("_")
    return row if number.isdecimal() else kind


def domain_of(kind: str) -> Domain:
    """Return the domain of a kind, with or without a number; raise KeyError if it has no row."""
    return DOMAINS[base_kind(kind)]


def next_tick_ms(elapsed_ms: int, start_ms: int, first_ms: int, period_ms: int) -> int:
    """Return the first tick at or after ``elapsed_ms``, of a loop that began at ``start_ms``.

    Ticks are at ``start_ms + first_ms + n * period_ms``: Java's polling grid.
    """
    origin_ms = start_ms + first_ms
    if elapsed_ms <= origin_ms:
        return origin_ms
    return origin_ms + -(-(elapsed_ms - origin_ms) // period_ms) * period_ms


class Routine(Protocol):
    """What the routine of a timer notes."""

    def __call__(self, ms: int, /) -> None:
        """Move the times that the routine would have noted while ``ms`` were skipped."""


def notes_nothing(ms: int) -> None:
    """Move nothing: the `Routine` of a timer that notes no times."""


LEAST_PERIOD_MS: Final = 10
"""A shorter period of a config counts as this: time must pass between two ticks."""


def is_regular(period_ms: int) -> bool:
    """Return whether work of this period can be routine."""
    return 0 < period_ms <= SEEN_MS and CYCLE_MS % period_ms == 0


class Timer:
    """A callback that is due at ``due_ms`` of its axis."""

    __slots__ = (
        "_callback",
        "domain",
        "due_ms",
        "grid_ms",
        "kind",
        "outside",
        "owner",
        "routine",
        "seq",
    )

    def __init__(
        self,
        due_ms: int,
        seq: int,
        callback: Callable[[], None],
        kind: str,
        owner: str,
        domain: Domain,
        outside: bool,
        routine: Routine | None = None,
        grid_ms: int = 0,
    ) -> None:
        self.due_ms = due_ms
        self.seq = seq
        self.kind = kind
        self.owner = owner
        self.domain = domain
        self.outside = outside
        self.routine = routine
        """Moves the times that the callback notes, if it is routine; otherwise None."""
        self.grid_ms = grid_ms
        """The period of routine whose period need not divide `CYCLE_MS`; otherwise 0."""
        self._callback: Callable[[], None] | None = callback

    @property
    def pending(self) -> bool:
        return self._callback is not None

    def cancel(self) -> None:
        """Cancel the timer; one that has fired or was cancelled stays as it is."""
        self._callback = self.routine = None

    def take(self) -> Callable[[], None] | None:
        """Return the callback, the first time only; None if it was cancelled."""
        callback, self._callback, self.routine = self._callback, None, None
        return callback

    @property
    def place(self) -> tuple[int, int]:
        """Its place in the order in which timers of its axis fire."""
        return self.due_ms, self.seq

    def __repr__(self) -> str:
        where = " outside" if self.outside else ""
        return f"<{self.kind} of {self.owner} due at {self.due_ms} ms{where}>"


SWEEP_AT: Final = 256
"""Cancelled timers stay in a heap until due; past this many it is rebuilt without them."""


class Timeline:
    """Pending timers of one elapsed axis, in (deadline, insertion) order."""

    def __init__(self) -> None:
        # Deadline, number and timer: tuples compare without a call of Python.
        self._heap: list[tuple[int, int, Timer]] = []
        self._sweep_at = SWEEP_AT

    def push(self, timer: Timer) -> bool:
        """Add a timer; return whether it is the first one due now."""
        if len(self._heap) >= self._sweep_at:
            self._sweep()
            self._sweep_at = max(SWEEP_AT, 2 * len(self._heap))
        heapq.heappush(self._heap, (timer.due_ms, timer.seq, timer))
        return self._first() is timer

    def next_due_ms(self) -> int | None:
        """Return when the first pending timer is due; None if there is none."""
        first = self._first()
        return None if first is None else first.due_ms

    def pop_due(self, until_ms: int) -> Timer | None:
        """Remove and return the first timer due by ``until_ms``; None if there is none."""
        first = self._first()
        if first is None or first.due_ms > until_ms:
            return None
        return heapq.heappop(self._heap)[2]

    def _first(self) -> Timer | None:
        # Cancelled timers before it are removed on the way: a few one by one, many at once.
        heap, removed = self._heap, 0
        while heap:
            first = heap[0][2]
            if first._callback is not None:  # as `pending`, which costs a call
                return first
            heapq.heappop(heap)
            removed += 1
            if removed == SWEEP_AT:
                self._sweep()
                heap = self._heap
        return None

    def _sweep(self) -> None:
        """Remove all cancelled timers."""
        self._heap = [entry for entry in self._heap if entry[2].pending]
        heapq.heapify(self._heap)

    def next_without_routine_ms(self) -> int | None:
        """Return when the first pending timer that is no routine is due; None if there is none."""
        return min(
            (due_ms for due_ms, _, timer in self._heap if timer.pending and timer.routine is None),
            default=None,
        )

    def skip_routine(self, at_ms: int, ms: int) -> None:
        """Let all routine be due later, as if it was carried out for ``ms`` after ``at_ms``."""
        for timer in self.pending():
            if timer.routine is not None:
                later_ms = _left_on_grid_ms(timer, at_ms + ms) if timer.grid_ms else ms
                timer.due_ms += later_ms
                timer.routine(later_ms)
        self._heap = [
            (timer.due_ms, timer.seq, timer) for _, _, timer in self._heap if timer.pending
        ]
        heapq.heapify(self._heap)

    def pending(self) -> list[Timer]:
        """Return the pending timers in firing order."""
        # Sorted as tuples: a comparison of timers is a call of Python.
        return [timer for _, _, timer in sorted(self._heap) if timer.pending]

    def clear(self) -> None:
        self._heap.clear()


def _left_on_grid_ms(timer: Timer, now_ms: int) -> int:
    """Return how much later a timer with a grid is due, so that it is at or after ``now_ms``."""
    return max(0, -(-(now_ms - timer.due_ms) // timer.grid_ms) * timer.grid_ms)


def pending_of(kind: str, timers: list[Timer]) -> list[Timer]:
    """Return the timers of ``kind``, with any number or none; at least one.

    Raise LookupError if there is none. Its text has the kinds that are pending, and a suggestion
    for an unknown kind.
    """
    pending = [timer for timer in timers if kind in (timer.kind, base_kind(timer.kind))]
    if not pending:
        kinds = ", ".join(sorted({timer.kind for timer in timers})) or "none"
        exists = base_kind(kind) in DOMAINS
        hint = "" if exists else did_you_mean(kind, DOMAINS, cutoff=0.5, lists=False)
        raise LookupError(f"no {kind!r} is pending; pending are: {kinds}{hint}")
    return pending
