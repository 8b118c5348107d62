"""Held pulls: they found no message and wait for one (long polling).

Java checks all held pulls every 5 s, and those of a queue whenever a message arrives there. Here a
held pull has a deadline on that 5 s grid: the first tick at which the check would answer it. Pulls
of the same tick share one timer, so that a thousand idle consumers cost nothing.

Source: broker/longpolling/PullRequestHoldService.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from fakemq.broker.pulling.held_queue import Check, HeldPull, HeldQueue
from fakemq.clock.slices import Steps, leaving
from fakemq.clock.timers import next_tick_ms
from fakemq.dispatch.answers import OVERLOAD, Parked, Refused
from fakemq.dispatch.outcomes import outcome_of
from fakemq.events.core import PullHeld, PullWoken
from fakemq.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fakemq.broker.filters.expressions import PullFilter
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.answers import Reply, Request
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import Session
    from fakemq.protocol.headers.pull import PullMessageRequestHeader, PullMessageResponseHeader
    from fakemq.store.results import LogRecord
    from fakemq.store.store import MessageStore

CHECK_PERIOD_MS = 5_000
"""The period of the checks, and the time before the first one."""

_ParkedPull: TypeAlias = "Parked[PullMessageResponseHeader]"


class Held(msgspec.Struct, frozen=True, gc=False):
    """A held pull, as a test sees it."""

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    peer: str
    due_in_ms: int
    """The latest time of its answer, on the time axis of its peer."""


class PullRequestHoldService:
    """All held pulls of one broker, by queue, connection and deadline."""

    def __init__(self, node: NodeContext[BrokerConfig], store: MessageStore) -> None:
        self._node = node
        self._store = store
        self.by_queue: dict[tuple[str, int], HeldQueue] = {}
        """The held pulls by topic and queue id; a queue without held pulls is not listed."""
        self._by_session: dict[Session, dict[HeldPull, None]] = {}
        self._checks: dict[tuple[bool, int], Check] = {}
        self._count = self._last_number = 0
        self._started_ms: dict[bool, int] = {}
        self.start()

    def start(self) -> None:
        """Let the grid of checks begin now, on both time axes."""
        clock = self._node.clock
        self._started_ms = {outside: clock.elapsed_ms(outside=outside) for outside in (False, True)}

    def suspend(
        self,
        request: Request[PullMessageRequestHeader],
        message_filter: PullFilter | None,
        timeout_ms: int,
        *,
        again: Callable[[], Reply[PullMessageResponseHeader]],
    ) -> _ParkedPull:
        """Hold a pull for ``timeout_ms``; it is answered up to one check period later.

        ``again`` is called once, when the pull is answered: it looks into the queue a second time
        and returns the answer.

        Raise Refused if pullThreadPoolQueueCapacity pulls are held. In Java that limits the pulls
        that wait for a thread; held pulls have no limit there.

        Source: PullRequestHoldService.java#suspendPullRequest, and what
        remoting/netty/NettyRemotingAbstract.java#processRequestCommand on a full queue
        """
        if self._count >= self._node.config.pull_thread_pool_queue_capacity:
            raise Refused(ResponseCode.SYSTEM_BUSY, OVERLOAD)
        self._count += 1
        now_ms = self._now_ms(request.session)
        self._last_number += 1
        expires_ms = now_ms + max(0, timeout_ms)
        pull = HeldPull(request, message_filter, expires_ms, again, self._last_number)
        queue = self.by_queue.get(pull.queue)
        if queue is None:
            queue = self.by_queue[pull.queue] = HeldQueue(
                self._node.clock, answer=self._answer, check_soon=self._check_soon
            )
        queue.add(pull)
        self._by_session.setdefault(request.session, {})[pull] = None
        # Without notification of arrivals every check has to read the queue.
        self._check_at(pull, pull.expires_ms if self._notified_of_arrivals else now_ms + 1)
        header = request.header
        self._node.journal.add(
            PullHeld(
                node=self._node.name,
                topic=header.topic,
                queue_id=header.queue_id,
                queue_offset=header.queue_offset,
                group=header.consumer_group,
            )
        )
        return pull.parked

    def arrived(self, records: Sequence[LogRecord]) -> None:
        """Answer the pulls that wait for the records of a put, which have just reached their queue.

        Without long polling, and on a slave, arrivals wake no pull.

        Source: PullRequestHoldService.java#notifyMessageArriving (4.9.7)
        """
        queue = self.by_queue.get((records[0].topic, records[0].queue_id))
        if queue is not None and self._notified_of_arrivals:
            queue.arrived(records)

    def master_online(self) -> None:
        """Answer every held pull, for the master is there again.

        Source: PullRequestHoldService.java#notifyMasterOnline (5.5.0)
        """
        for pulls in list(self._by_session.values()):
            for pull in list(pulls):
                self._answer(pull, "master")

    def session_closed(self, session: Session) -> None:
        """Remove the held pulls of a closed connection."""
        if session in self._by_session:
            self._node.clock.carry_out(self._remove_of(session), peer=leaving(session))

    def _remove_of(self, session: Session) -> Steps[None]:
        while pulls := self._by_session.get(session):
            self._remove(next(reversed(pulls)))
            yield

    def reset(self) -> None:
        """Answer pulls that wait behind offset 0, as every queue is empty after a reset.

        Pulls of closed connections are removed.
        """
        for session, pulls in list(self._by_session.items()):
            if session.closed:
                self.session_closed(session)
                continue
            for pull in list(pulls):
                if pull.request.header.queue_offset != 0:
                    self._answer(pull, "check")

    def snapshot(self) -> tuple[Held, ...]:
        """Return all held pulls, by queue and in the order of their arrival."""
        return tuple(
            Held(
                group=(header := pull.request.header).consumer_group,
                topic=header.topic,
                queue_id=header.queue_id,
                queue_offset=header.queue_offset,
                peer=pull.request.session.remote_addr,
                due_in_ms=pull.check.due_ms - self._now_ms(pull.request.session),
            )
            for queue in self.by_queue.values()
            for pull in queue.pulls
            if pull.check is not None
        )

    # -- inside -------------------------------------------------------------------------------

    def _now_ms(self, session: Session) -> int:
        return self._node.clock.elapsed_ms(outside=session.outside)

    @property
    def _notified_of_arrivals(self) -> bool:
        return self._node.config.long_polling_enable and not self._store.role.is_slave

    def _check_at(self, pull: HeldPull, at_ms: int) -> None:
        """Add the pull to the first check at or after ``at_ms``, unless an earlier one has it."""
        config = self._node.config
        outside = pull.request.session.outside
        period_ms = (
            CHECK_PERIOD_MS if config.long_polling_enable else config.short_polling_time_mills
        )
        due_ms = next_tick_ms(at_ms, self._started_ms[outside], period_ms, period_ms)
        if pull.check is not None:
            if pull.check.due_ms <= due_ms:
                return
            self._leave_check(pull)
        check = self._checks.get((outside, due_ms))
        if check is None:
            check = self._checks[outside, due_ms] = self._new_check(outside, due_ms)
        check.pulls[pull] = None
        pull.check = check

    def _check_soon(self, pull: HeldPull) -> None:
        self._check_at(pull, self._now_ms(pull.request.session))

    def _new_check(self, outside: bool, due_ms: int) -> Check:
        check = Check(outside, due_ms)
        clock = self._node.clock
        check.timer = clock.call_later(
            due_ms - clock.elapsed_ms(outside=outside),
            lambda: self._run(check),
            kind="pull_hold",
            outside=outside,
        )
        return check

    def _run(self, check: Check) -> None:
        self._forget(check)  # a pull that is added to this very tick from now on needs a new check
        self._node.clock.carry_out(self._look_at(check), peer=self)

    def _look_at(self, check: Check) -> Steps[None]:
        store = self._store
        for pull in list(check.pulls):
            if pull.check is not check:
                continue  # an earlier answer of this check has led to its answer
            now_ms = self._now_ms(pull.request.session)
            # 1. A message is there. 2. The pull's time is over. 3. Neither: the next tick looks
            # again, as arrivals may wake no pull here.
            if store.max_offset_in_queue(*pull.queue) > pull.request.header.queue_offset:
                self._answer(pull, "check")
            elif now_ms >= pull.expires_ms:
                self._answer(pull, "timeout")
            else:
                self._leave_check(pull)
                self._check_at(pull, now_ms + 1)
            yield

    def _answer(self, pull: HeldPull, why: str) -> None:
        if pull.check is None:
            return  # an earlier answer of this check has led to its answer
        # Before the answer, which may lead to the peer's next pull of this queue.
        self._remove(pull)
        if pull.request.session.closed:
            return  # it is one of many that are being removed
        header = pull.request.header
        self._node.journal.add(
            PullWoken(
                node=self._node.name,
                topic=header.topic,
                queue_id=header.queue_id,
                queue_offset=header.queue_offset,
                group=header.consumer_group,
                why=why,
            )
        )
        pull.parked.resolve(outcome_of(self._node, pull.request.command.code, pull.again))

    def _remove(self, pull: HeldPull) -> None:
        self._count -= 1
        self._leave_check(pull)
        queue = self.by_queue[pull.queue]
        queue.remove(pull)
        if not queue.pulls:
            del self.by_queue[pull.queue]
        pulls = self._by_session[pull.request.session]
        del pulls[pull]
        if not pulls:
            del self._by_session[pull.request.session]

    def _leave_check(self, pull: HeldPull) -> None:
        check, pull.check = pull.check, None
        if check is None:
            return
        del check.pulls[pull]
        if not check.pulls:
            self._forget(check)
            self._node.clock.cancel(check.timer)

    def _forget(self, check: Check) -> None:
        key = (check.outside, check.due_ms)
        if self._checks.get(key) is check:
            del self._checks[key]
