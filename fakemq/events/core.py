"""Everything the journal can say, one class each.

Logs, assertions, failure reports, conformance diffs and the follow-one-message test all use these
names. Times and sequence numbers are the journal's, not the event's.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """Something that happened at a node."""

    node: str


# -- nodes, links and time --------------------------------------------------------------------


class NodeStarted(Event, frozen=True, kw_only=True, gc=False):
    addr: str


class NodeStopped(Event, frozen=True, kw_only=True, gc=False):
    """``how`` is ``stop``, ``kill``, ``pause`` or ``resume``; what a kill takes comes after it."""

    how: str


class LinkOpened(Event, frozen=True, kw_only=True, gc=False):
    peer: str
    outside: bool


class LinkClosed(Event, frozen=True, kw_only=True, gc=False):
    peer: str
    why: str


class ClockMoved(Event, frozen=True, kw_only=True, gc=False):
    """By hand: ``how`` is ``advance``, ``freeze``, ``unfreeze``, ``rate 10``, ``reset``, ``jump``.

    After a ``jump`` the wall is another, backwards maybe, and no time has passed. An ``advance``
    that ended early is followed by ``give up``, with as much below 0 as was left of it.
    """

    how: str
    by_ms: int


class ClockSkewed(Event, frozen=True, kw_only=True, gc=False):
    """A node's clock is ``skew_ms`` ahead of the cluster's from now on."""

    skew_ms: int


class SnapshotRestored(Event, frozen=True, kw_only=True, gc=False):
    """The brokers hold what they held when a snapshot was taken."""


class Warned(Event, frozen=True, kw_only=True, gc=False):
    """Something a user should read; also logged."""

    text: str


# -- requests ---------------------------------------------------------------------------------


class RequestReceived(Event, frozen=True, kw_only=True, gc=False):
    code: int
    peer: str
    opaque: int


class RequestHandled(Event, frozen=True, kw_only=True, gc=False):
    """The outcome left the handler; ``response_code`` is None where no answer is ever sent."""

    code: int
    peer: str
    response_code: int | None


class HandlerFailed(Event, frozen=True, kw_only=True, gc=False):
    """A bug of ours: a handler raised what no handler may. Fails the test that sees it.

    ``code`` is None where it was no request that was being handled, but a timer or a link.
    """

    code: int | None
    error: str
    traceback: str

    @classmethod
    def of(cls, node: str, code: int | None, error: BaseException) -> HandlerFailed:
        """The event of an exception that was caught."""
        import traceback  # bugs are rare, starts are not

        text = "".join(traceback.format_exception(error))
        return cls(node=node, code=code, error=repr(error), traceback=text)


# -- name server ------------------------------------------------------------------------------


class BrokerRegistered(Event, frozen=True, kw_only=True, gc=False):
    """A broker registered for the first time, or again after it was gone."""

    broker_name: str
    broker_id: int
    broker_addr: str


class BrokerGone(Event, frozen=True, kw_only=True, gc=False):
    """``why`` is ``unregistered``, ``expired`` or ``channel closed``."""

    broker_name: str
    broker_id: int
    broker_addr: str
    why: str


class KvConfigPrinted(Event, frozen=True, kw_only=True, gc=False):
    """The name server's ten-minute print of its KV config, in Java's lines."""

    lines: tuple[str, ...]


# -- messages ---------------------------------------------------------------------------------


class MessageChecked(Event, frozen=True, kw_only=True, gc=False):
    """A send passed the broker's checks and goes to the store."""

    topic: str
    queue_id: int


class LogAppended(Event, frozen=True, kw_only=True, gc=False):
    topic: str
    queue_id: int
    queue_offset: int
    phy_offset: int
    size_bytes: int
    msg_id: str
    """The unique id the client gave the message, or "" if it gave none."""


class AppendRefused(Event, frozen=True, kw_only=True, gc=False):
    topic: str
    status: str


class Dispatched(Event, frozen=True, kw_only=True, gc=False):
    """Reput put the record into its consume queue and the index."""

    topic: str
    queue_id: int
    queue_offset: int
    phy_offset: int


class FilesExpired(Event, frozen=True, kw_only=True, gc=False):
    """``log_files`` files of the commit log were deleted; it begins at ``min_phy_offset`` now."""

    log_files: int
    min_phy_offset: int


class StoreRepaired(Event, frozen=True, kw_only=True, gc=False):
    """Something in a store directory was not right and was cut off, dropped or passed over.

    ``offset`` is that in the file, ``cut_bytes`` how much of what stood from there on is gone.
    """

    file: str
    offset: int
    cut_bytes: int
    why: str


class HalfStored(Event, frozen=True, kw_only=True, gc=False):
    """A half message came; ``topic`` and ``queue_id`` are where it goes when it is committed."""

    topic: str
    queue_id: int
    half_offset: int
    msg_id: str


class TransactionEnded(Event, frozen=True, kw_only=True, gc=False):
    """A producer said what becomes of a half message: ``how`` is ``commit`` or ``rollback``."""

    how: str
    topic: str
    half_offset: int
    phy_offset: int | None
    """Of the record that a commit made; None for a rollback."""
    from_check: bool
    """It was asked; otherwise it said so by itself."""
    msg_id: str


class TransactionChecked(Event, frozen=True, kw_only=True, gc=False):
    """A half message was put back and its producer asked, for the ``times``-th time.

    ``half_offset`` is its new one; ``peer`` is None if no producer of the group was connected.
    """

    topic: str
    from_half_offset: int
    half_offset: int
    times: int
    group: str
    peer: str | None
    msg_id: str


class TransactionDiscarded(Event, frozen=True, kw_only=True, gc=False):
    """A half message went to TRANS_CHECK_MAX_TIME_TOPIC, as no producer will decide it any more."""

    topic: str
    half_offset: int
    times: int
    msg_id: str


class PullHeld(Event, frozen=True, kw_only=True, gc=False):
    topic: str
    queue_id: int
    queue_offset: int
    group: str


class PullWoken(Event, frozen=True, kw_only=True, gc=False):
    """``why`` is ``arrival``, ``check`` or ``timeout``."""

    topic: str
    queue_id: int
    queue_offset: int
    group: str
    why: str


class Scheduled(Event, frozen=True, kw_only=True, gc=False):
    """A message for ``topic`` was stored in the queue of a delay level, to wait there.

    Wherever an event names a record, ``phy_offset`` is its place in the node's commit log, and
    ``from_phy_offset`` that of the record it was made from: the links of a message's biography.
    """

    level: int
    schedule_offset: int
    """Its offset in the level's queue of the schedule topic."""
    phy_offset: int
    due_at_ms: int
    """By the node's own wall clock."""
    topic: str
    msg_id: str


class ScheduledDelivered(Event, frozen=True, kw_only=True, gc=False):
    """A delayed message was due and is now in its real topic and queue."""

    level: int
    schedule_offset: int
    from_phy_offset: int
    phy_offset: int
    topic: str
    queue_id: int
    queue_offset: int
    msg_id: str


class ScheduledDiscarded(Event, frozen=True, kw_only=True, gc=False):
    """A delayed message was due and had nowhere to go: a half message, above all."""

    level: int
    schedule_offset: int
    phy_offset: int
    topic: str


class SentBack(Event, frozen=True, kw_only=True, gc=False):
    """A consumer could not cope with a message, which goes to its group's retry topic.

    ``level`` is the delay level that the retry waits for, ``reconsume_times`` that of the new
    record. ``origin_msg_id`` is the offset id of the record that was first sent back.
    """

    group: str
    level: int
    reconsume_times: int
    from_phy_offset: int
    phy_offset: int
    origin_msg_id: str
    msg_id: str


class DeadLettered(Event, frozen=True, kw_only=True, gc=False):
    """A message was tried often enough, or is not to be tried again: it goes to the DLQ.

    ``from_phy_offset`` is None where a client sent the message itself, and did not say.
    """

    group: str
    reconsume_times: int
    from_phy_offset: int | None
    phy_offset: int
    origin_msg_id: str
    msg_id: str


class Delivered(Event, frozen=True, kw_only=True, gc=False):
    """A pull answer with messages left for a consumer; ``offsets`` are theirs in the queue.

    They are a range where none was left out between them: a journal keeps many.
    """

    topic: str
    queue_id: int
    offsets: Sequence[int]
    next_offset: int
    group: str
    peer: str


class OffsetCommitted(Event, frozen=True, kw_only=True, gc=False):
    group: str
    topic: str
    queue_id: int
    offset: int


# -- topics, groups and members ---------------------------------------------------------------


class TopicChanged(Event, frozen=True, kw_only=True, gc=False):
    """A topic was created, updated or deleted."""

    topic: str
    how: str


class GroupChanged(Event, frozen=True, kw_only=True, gc=False):
    """A subscription group was created, updated or deleted."""

    group: str
    how: str


class MemberChanged(Event, frozen=True, kw_only=True, gc=False):
    """A client joined or left a group; ``kind`` is ``producer`` or ``consumer``."""

    kind: str
    group: str
    client_id: str
    peer: str
    """The address at which the node knows the client; its pulls come from there."""
    how: str


class FilterChanged(Event, frozen=True, kw_only=True, gc=False):
    """A group's filter expression for a topic: ``how`` is ``registered``, ``refused`` (it could not
    be compiled), ``dead``, ``revived`` or ``removed``.
    """

    group: str
    topic: str
    how: str


class QueuesLocked(Event, frozen=True, kw_only=True, gc=False):
    group: str
    client_id: str
    count: int
    how: str
