"""The thread pools of a broker while faults keep them busy, and the requests in their queues.

A broker here has no threads. Without such a fault no request waits for one, and a broker has no
object of this module.

Source: broker/latency/BrokerFastFailure.java, broker/BrokerController.java#initialize and
#registerProcessor, remoting/netty/NettyRemotingAbstract.java#processRequestCommand (4.9.7)
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakemq.clock.timers import Timer, next_tick_ms
from fakemq.dispatch.answers import OVERLOAD, REJECTED, Reply
from fakemq.dispatch.faults import DeferredRequest, Intercepted, RequestFault, defer
from fakemq.events.faults import FlowControlled
from fakemq.faults.points import BEFORE_STORE
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name
from fakemq.protocol.command import FLAG_ONEWAY, SerializeType
from fakemq.store.held_lock import HeldLock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.faults.plan import ActiveFault
    from fakemq.faults.points import RequestAction
    from fakemq.store.store import MessageStore

FIRST_SCAN_MS: Final = 1_000
SCAN_PERIOD_MS: Final = 10

_CLEANED: Final = (
    "broker busy, start flow control for a while, period in queue: {}ms, size of queue: {}"
)
TIMED_OUT: Final = f"[TIMEOUT_CLEAN_QUEUE]{_CLEANED}"
PAGE_CACHE_BUSY: Final = f"[PCBUSY_CLEAN_QUEUE]{_CLEANED}"


class PoolRow(NamedTuple):
    """One thread pool: the requests that it handles, and the attributes of its config keys."""

    codes: frozenset[int]
    capacity: str | None = None
    """None: its queue has no limit."""
    wait: str | None = None
    """None: no request of its queue fails because of its age."""


_NAMED: Final = {
    "send": PoolRow(
        frozenset(
            {
                *(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2),
                *(RequestCode.SEND_BATCH_MESSAGE, RequestCode.CONSUMER_SEND_MSG_BACK),
            }
        ),
        "send_thread_pool_queue_capacity",
        "wait_time_mills_in_send_queue",
    ),
    "pull": PoolRow(
        frozenset({RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE}),
        "pull_thread_pool_queue_capacity",
        "wait_time_mills_in_pull_queue",
    ),
    "heartbeat": PoolRow(
        frozenset({RequestCode.HEART_BEAT}),
        "heartbeat_thread_pool_queue_capacity",
        "wait_time_mills_in_heartbeat_queue",
    ),
    "transaction": PoolRow(
        frozenset({RequestCode.END_TRANSACTION}),
        "end_transaction_pool_queue_capacity",
        "wait_time_mills_in_transaction_queue",
    ),
    "reply": PoolRow(
        frozenset({RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2}),
        "reply_thread_pool_queue_capacity",
    ),
    "query": PoolRow(
        frozenset({RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID}),
        "query_thread_pool_queue_capacity",
    ),
    "client": PoolRow(
        frozenset({RequestCode.UNREGISTER_CLIENT, RequestCode.CHECK_CLIENT_CONFIG}),
        "client_manager_thread_pool_queue_capacity",
    ),
    "consumer": PoolRow(
        frozenset(
            {
                *(RequestCode.GET_CONSUMER_LIST_BY_GROUP, RequestCode.UPDATE_CONSUMER_OFFSET),
                RequestCode.QUERY_CONSUMER_OFFSET,
            }
        ),
    ),
}
_ELSEWHERE: Final = frozenset(code for row in _NAMED.values() for code in row.codes)
POOLS: Final = _NAMED | {"admin": PoolRow(frozenset(RequestCode) - _ELSEWHERE)}
"""Name → pool. ``admin`` has every code that no other pool has."""
SEND: Final = "send"


class InPool(RequestFault):
    """Send a request through the queue of its pool. There are two kinds:

    1. All threads of the pool are busy with other work.
    2. One of them holds the lock of the log since ``lock_since_ms`` of elapsed time.
    """

    def __init__(self, pools: ThreadPools, pool: str, lock_since_ms: int | None = None) -> None:
        self.pools, self.pool, self.lock_since_ms = pools, pool, lock_since_ms

    def apply(self, intercepted: Intercepted) -> None:
        self.pools.arrive(self, intercepted)


class WaitingRequest(NamedTuple):
    """A request in the queue of a pool, since ``since_ms`` of elapsed time."""

    request: DeferredRequest
    intercepted: Intercepted
    since_ms: int


class ThreadPools:
    """The queues of one broker's thread pools."""

    def __init__(
        self, node: NodeContext[BrokerConfig], store: MessageStore, started_ms: Callable[[], int]
    ) -> None:
        self._node = node
        self._store = store
        self._started_ms = started_ms
        self._queues: dict[str, deque[WaitingRequest]] = {name: deque() for name in POOLS}
        self._lost = dict.fromkeys(POOLS, 0)
        """How many of the requests in each queue were lost."""
        self._at_lock: list[DeferredRequest] = []
        """Sends that have a thread, and wait for the lock of the log."""
        self._timer: Timer | None = None

    # -- how busy -----------------------------------------------------------------------------

    def size(self, pool: str) -> int:
        """Return how many requests wait in the queue of a pool, without those that were lost."""
        return len(self._live(pool)) - self._lost[pool]

    def head_wait_ms(self, pool: str) -> int:
        """Return how long the first request of a queue waits; 0 if the queue is empty.

        Source: broker/BrokerController.java#headSlowTimeMills (4.9.7)
        """
        queue = self._live(pool)
        return self._node.clock.elapsed_ms() - queue[0].since_ms if queue else 0

    def _live(self, pool: str) -> deque[WaitingRequest]:
        """Return a queue without the lost requests at its begin: their sender or broker ended."""
        queue = self._queues[pool]
        while queue and queue[0].request.gone:
            queue.popleft()
            self._lost[pool] -= 1
        return queue

    def _wait(self, pool: str, intercepted: Intercepted) -> None:
        request = defer(intercepted)
        request.on_lost = partial(self._count_lost, pool)
        self._queues[pool].append(
            WaitingRequest(request, intercepted, self._node.clock.elapsed_ms())
        )

    def _count_lost(self, pool: str) -> None:
        self._lost[pool] += 1

    def _occupied_by(self, pool: str) -> ActiveFault[RequestAction] | None:
        """Return the fault that keeps every thread of a pool busy."""
        for fault, action in self._faults():
            if action.lock_since_ms is None and action.pool == pool:
                return fault
        return None

    def _faults(self) -> Iterator[tuple[ActiveFault[RequestAction], InPool]]:
        for fault in self._node.faults.at(BEFORE_STORE):
            if isinstance(fault.action, InPool) and fault.action.pools is self:
                yield fault, fault.action

    def _held_lock(self, pool: str) -> HeldLock | None:
        return self._store.held_lock if pool == SEND else None

    def _has_thread(self, pool: str) -> bool:
        if self._occupied_by(pool) is not None:
            return False
        if self._held_lock(pool) is None:
            return True
        # The put that holds the lock has one thread, each that waits for the lock another.
        self._at_lock = [request for request in self._at_lock if not request.gone]
        return 1 + len(self._at_lock) < self._node.config.send_message_thread_pool_nums

    # -- requests -----------------------------------------------------------------------------

    def arrive(self, action: InPool, intercepted: Intercepted) -> None:
        """Handle a request, let it wait in its queue, or refuse it."""
        pool, lock = action.pool, self._held_lock(action.pool)
        rejected = lock is not None and lock.page_cache_busy
        decisive = lock.fault if lock is not None and rejected else self._occupied_by(pool)
        if decisive is None or decisive.action is action:
            self._take(pool, intercepted, rejected=rejected)
            return
        # Both kinds of faults are placed, and the other one was chosen for the request.
        on = f"{code_name(intercepted.command.code)} of {intercepted.session.remote_addr}"
        with self._node.journal.because(decisive.hit(self._node.name, on)):
            self._take(pool, intercepted, rejected=rejected)

    def _take(self, pool: str, intercepted: Intercepted, *, rejected: bool) -> None:
        queue, capacity = self._live(pool), POOLS[pool].capacity
        if rejected:
            self._refuse(pool, intercepted, REJECTED)
        elif not queue and self._has_thread(pool):
            self._run(pool, defer(intercepted))
        elif capacity is not None and self.size(pool) >= getattr(self._node.config, capacity):
            self._note(pool, intercepted, OVERLOAD)
            intercepted.answer(_busy(OVERLOAD))
        else:
            self._wait(pool, intercepted)
            self.plan()

    def _run(self, pool: str, request: DeferredRequest) -> None:
        lock = self._held_lock(pool)
        if lock is not None and not lock.page_cache_busy:
            self._at_lock.append(request)
        else:
            request.resume()

    def follow_faults(self) -> None:
        """Give free threads to the requests that wait; called when a fault begins or ends."""
        store = self._store
        store.held_lock = next(
            (
                HeldLock(self._node.config, self._node.clock, fault, action.lock_since_ms)
                for fault, action in self._faults()
                if action.lock_since_ms is not None
            ),
            None,
        )
        if store.held_lock is None:
            at_lock, self._at_lock = self._at_lock, []
            for request in at_lock:
                request.resume()
        for pool in POOLS:
            while self._live(pool) and self._has_thread(pool):
                self._run(pool, self._queues[pool].popleft().request)
        self.plan()

    # -- fast failure -------------------------------------------------------------------------

    def plan(self) -> None:
        """Set a timer for the next scan at which a request fails, by the present config."""
        clock = self._node.clock
        clock.cancel(self._timer)
        self._timer = None
        due_ms = self._next_failure_ms()
        if due_ms is not None:
            now_ms, start_ms = clock.elapsed_ms(), self._started_ms()
            due_ms = max(due_ms, now_ms + 1)
            tick_ms = next_tick_ms(due_ms, start_ms, FIRST_SCAN_MS, SCAN_PERIOD_MS)
            self._timer = clock.call_later(tick_ms - now_ms, self._scan, kind="fast_failure")

    def _next_failure_ms(self) -> int | None:
        if not self._node.config.broker_fast_failure_enable:
            return None
        dues = [
            queue[0].since_ms + getattr(self._node.config, row.wait)
            for pool, row in POOLS.items()
            if row.wait is not None and (queue := self._live(pool))
        ]
        lock = self._held_lock(SEND)
        if lock is not None and self._live(SEND):
            dues.append(lock.busy_at_ms)
        return min(dues, default=None)

    def _scan(self) -> None:
        """Source: broker/latency/BrokerFastFailure.java#cleanExpiredRequest (4.9.7)"""
        config, now_ms = self._node.config, self._node.clock.elapsed_ms()
        lock = self._held_lock(SEND)
        while lock is not None and lock.page_cache_busy and (queue := self._live(SEND)):
            lock.fault.hit(self._node.name, f"the queue of the {SEND} threads")
            self._fail(SEND, queue, PAGE_CACHE_BUSY)
        for pool, row in POOLS.items():
            if row.wait is None:
                continue
            longest_ms = getattr(config, row.wait)
            while (queue := self._live(pool)) and now_ms - queue[0].since_ms >= longest_ms:
                self._fail(pool, queue, TIMED_OUT)
        self.plan()

    def _fail(self, pool: str, queue: deque[WaitingRequest], text: str) -> None:
        waiting = queue.popleft()
        waited_ms = self._node.clock.elapsed_ms() - waiting.since_ms
        remark = text.format(waited_ms, self.size(pool))
        with waiting.request.end():
            self._refuse(pool, waiting.intercepted, remark)

    def _refuse(self, pool: str, intercepted: Intercepted, remark: str) -> None:
        """Answer with SYSTEM_BUSY; a one-way request, too, as in Java."""
        self._note(pool, intercepted, remark)
        intercepted.command.flag &= ~FLAG_ONEWAY
        intercepted.answer(_busy(remark))

    def _note(self, pool: str, intercepted: Intercepted, remark: str) -> None:
        self._node.journal.add(
            FlowControlled(
                node=self._node.name,
                code=intercepted.command.code,
                peer=intercepted.session.remote_addr,
                pool=pool,
                remark=remark,
            )
        )


def _busy(remark: str) -> Reply[Any]:
    # Java makes it outside the processor's callback, so in the server's own serialisation.
    return Reply(code=ResponseCode.SYSTEM_BUSY, remark=remark, serialize_type=SerializeType.JSON)
