"""Kinds of events of nodes, requests, messages, topics and groups.

Logs, assertions, failure reports, conformance diffs and the follow-one-message test use these
names. An event has no time and no number of its own: those are in the journal's `Entry`.

Fields of the same name mean the same in all kinds:

- ``peer`` is the ``host:port`` of the other end of a connection.
- ``queue_offset`` counts messages in a consume queue, from 0.
- ``phy_offset`` is the place of a record in the node's commit log, in bytes; ``from_phy_offset`` is
  that of the record from which it was made. Both connect the steps of a message's biography.
- ``msg_id`` is the unique id that the client gave the message; "" if it gave none.
- ``code`` and ``response_code`` are numbers of the protocol.
- ``how`` and ``why`` are short fixed texts, except `LinkClosed.why` and `StoreRepaired.why`.
"""

# Over 400 lines: kinds of events are a table, with a docstring for each kind and field.

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fakemq.errors import NO_MEMORY, StoreError


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag=True):
    """Something that happened at a node."""

    node: str
    """The name of the node, such as ``broker-a``; ``cluster`` for the cluster as a whole."""


# -- nodes, links and time --------------------------------------------------------------------


class NodeStarted(Event, frozen=True, kw_only=True, gc=False):
    """A node started; it answers requests at ``addr``."""

    addr: str


class NodeStopped(Event, frozen=True, kw_only=True, gc=False):
    """A node stopped, paused or resumed: ``how`` is ``stop``, ``kill``, ``pause`` or ``resume``.

    A ``stop`` is written when the node has stopped; a ``kill`` before its effects. A client of a
    simulation may also ``vanish``: none of its peers sees a connection close.
    """

    how: str


class RoleChanged(Event, frozen=True, kw_only=True, gc=False):
    """A running broker begins to be ``ASYNC_MASTER``, ``SYNC_MASTER`` or ``SLAVE``.

    Its slaves and its master are disconnected; its clients stay.
    """

    role: str
    broker_id: int
    epoch: int = 0
    """The epoch of the master whom a controller has named; 0 without a controller."""


class ReplicaStateChanged(Event, frozen=True, kw_only=True, gc=False):
    """A broker under a controller has come one step further, or ended.

    The states are, in this order: ``INITIAL``; ``FIRST_TIME_SYNC_CONTROLLER_METADATA_DONE``, it
    knows the leader; ``REGISTER_TO_CONTROLLER_DONE``, it has its id; ``RUNNING``, its group has a
    master, and it is no longer fenced; ``SHUTDOWN``.
    """

    state: str


class BrokerOnline(Event, frozen=True, kw_only=True, gc=False):
    """A broker whose slaves may act as masters is no longer isolated: it registers from now on.

    ``min_broker_id`` is the lowest id of its group, as far as it knows.
    """

    min_broker_id: int


class MinBrokerChanged(Event, frozen=True, kw_only=True, gc=False):
    """A slave that may act as master learns that another id is the lowest of its group.

    It ``acts_as_master`` from now on if that is its own: it delivers what is delayed, checks
    transactions and revives popped messages.
    """

    min_broker_id: int
    min_broker_addr: str
    acts_as_master: bool


class LinkOpened(Event, frozen=True, kw_only=True, gc=False):
    """A connection was opened, at this end of it."""

    peer: str
    outside: bool
    """Whether the peer is outside the cluster."""


class LinkClosed(Event, frozen=True, kw_only=True, gc=False):
    """A connection was closed, at this end of it; ``why`` is a text for people."""

    peer: str
    why: str


class ClockMoved(Event, frozen=True, kw_only=True, gc=False):
    """A test changed the cluster's clock.

    ``how`` is ``advance``, ``freeze``, ``unfreeze``, ``rate 10``, ``reset`` or ``jump``. A ``jump``
    moves the wall time only, forwards or backwards: no timer fires. If an ``advance`` ends early,
    ``give up`` follows it.
    """

    how: str
    by_ms: int
    """How far the time moved; for ``give up`` the rest of the advance, as a negative number."""


class RoutineSkipped(Event, frozen=True, kw_only=True, gc=False):
    """An ``advance`` skips time in which only routine is due; see `fakemq.clock.timers`."""

    ms: int
    """How long that is: part of what the advance moves the clock by."""


class ClockSkewed(Event, frozen=True, kw_only=True, gc=False):
    """From now on the node's clock is ``skew_ms`` ahead of the cluster's; behind it if negative."""

    skew_ms: int


class SnapshotRestored(Event, frozen=True, kw_only=True, gc=False):
    """The brokers were restored to the state that a snapshot contains."""


class Warned(Event, frozen=True, kw_only=True, gc=False):
    """A warning for the user; it is logged, too."""

    text: str


# -- requests ---------------------------------------------------------------------------------


class RequestReceived(Event, frozen=True, kw_only=True, gc=False):
    """A request arrived, before any check of it."""

    code: int
    peer: str
    opaque: int
    """The number that the peer gave the request, unique on its connection."""


class RequestHandled(Event, frozen=True, kw_only=True, gc=False):
    """A request has its result."""

    code: int
    peer: str
    response_code: int | None
    """None if the request gets no answer, as a one-way request does."""


class AccessRefused(Event, frozen=True, kw_only=True, gc=False):
    """Access control refused a request: its sender has no key or a wrong one, or lacks a right.

    Of many names ``groups`` and ``topics`` have the first ones.
    """

    peer: str
    host: str
    """The sender's address as the rules compare it: without a port."""
    groups: tuple[str, ...]
    """The groups for which the request asked."""
    topics: tuple[str, ...]
    why: str
    """The error's text."""
    user: str = ""
    """The user or account whose key the request names; "" for none."""
    resource: str = ""
    """The resource of auth 2.0 to which that user has no right; "" if it is not that."""
    actions: tuple[str, ...] = ()
    """The actions of which one would have to be allowed there."""
    code: int | None = None
    """The code of the request; None of a gRPC call."""
    sender: str = ""
    """The node or client of this cluster that sent it; "" for a peer outside."""


class HandlerFailed(Event, frozen=True, kw_only=True, gc=False):
    """A bug of fakemq: a handler raised an unexpected exception. It fails the test that sees it."""

    code: int | None
    """The code of the request that was handled; None for a timer or a link."""
    error: str
    traceback: str


def failure(node: str, code: int | None, error: BaseException) -> HandlerFailed | Warned:
    """Return the event for a caught exception.

    What a disk refuses is no bug of fakemq, and neither is a process without memory.
    """
    if isinstance(error, StoreError):
        return Warned(node=node, text=str(error))
    if isinstance(error, MemoryError):
        return Warned(node=node, text=NO_MEMORY)
    import traceback  # bugs are rare, starts are not

    text = "".join(traceback.format_exception(error))
    return HandlerFailed(node=node, code=code, error=repr(error), traceback=text)


# -- name server ------------------------------------------------------------------------------


class BrokerRegistered(Event, frozen=True, kw_only=True, gc=False):
    """A name server has a new broker: one that registered first, or again after it was removed."""

    broker_name: str
    broker_id: int
    broker_addr: str


class BrokerGone(Event, frozen=True, kw_only=True, gc=False):
    """A name server removed a broker.

    ``why`` is ``unregistered``, ``expired``, ``channel closed``, or ``outdated``: another broker
    with its id knows of a later master.
    """

    broker_name: str
    broker_id: int
    broker_addr: str
    why: str


class RouteRefused(Event, frozen=True, kw_only=True, gc=False):
    """A name server was asked where a topic is, and no living broker has registered it."""

    topic: str
    peer: str


class KvConfigPrinted(Event, frozen=True, kw_only=True, gc=False):
    """A name server printed its KV config, as every ten minutes; ``lines`` are Java's."""

    lines: tuple[str, ...]


# -- messages ---------------------------------------------------------------------------------


class MessageChecked(Event, frozen=True, kw_only=True, gc=False):
    """A message passed the broker's checks of a send; the store gets it next."""

    topic: str
    queue_id: int


class LogAppended(Event, frozen=True, kw_only=True, gc=False):
    """A record was appended to the commit log; it has ``size_bytes``."""

    topic: str
    queue_id: int
    queue_offset: int
    phy_offset: int
    size_bytes: int
    msg_id: str
    keys: str = ""
    """As the client gave them, with blanks between them."""


class AppendRefused(Event, frozen=True, kw_only=True, gc=False):
    """The store refused a message."""

    topic: str
    status: str
    """The name of a `PutMessageStatus`, such as ``MESSAGE_ILLEGAL``."""


class Dispatched(Event, frozen=True, kw_only=True, gc=False):
    """A record was added to its consume queue and to the index."""

    topic: str
    queue_id: int
    queue_offset: int
    phy_offset: int


class FilesExpired(Event, frozen=True, kw_only=True, gc=False):
    """The oldest ``log_files`` files of the commit log were deleted.

    The log now begins at ``min_phy_offset``.
    """

    log_files: int
    min_phy_offset: int


class StoreRepaired(Event, frozen=True, kw_only=True, gc=False):
    """A file of a store directory was damaged; the damage was cut off, deleted or skipped."""

    file: str
    offset: int
    """Where in the file the damage begins, in bytes."""
    cut_bytes: int
    """How many bytes from there on are gone."""
    why: str


class HalfStored(Event, frozen=True, kw_only=True, gc=False):
    """A half message was stored. A commit moves it to ``topic`` and ``queue_id``.

    One that has a delay level or a time is stored where messages wait for it: a commit does not
    find it there, and its topic is lost.
    """

    topic: str
    queue_id: int
    half_offset: int
    """Its offset in the queue where it is stored, which is that of half messages."""
    phy_offset: int
    msg_id: str


class TransactionEnded(Event, frozen=True, kw_only=True, gc=False):
    """A producer ended the transaction of a half message: ``how`` is ``commit`` or ``rollback``."""

    how: str
    topic: str
    half_offset: int
    phy_offset: int | None
    """The record that the commit stored; None for a rollback."""
    from_check: bool
    """Whether this is the reply to a check; else the producer sent it after its local work."""
    msg_id: str


class TransactionChecked(Event, frozen=True, kw_only=True, gc=False):
    """A half message was stored again, and a producer of its group was asked about it."""

    topic: str
    from_half_offset: int
    """Its offset in the queue of half messages before."""
    half_offset: int
    """Its new offset there."""
    times: int
    """How many checks of the message there were, this one included."""
    group: str
    peer: str | None
    """The asked producer; None if none of the group is connected, or the check cannot be sent."""
    msg_id: str


class TransactionDiscarded(Event, frozen=True, kw_only=True, gc=False):
    """A half message was moved to TRANS_CHECK_MAX_TIME_TOPIC: it is too old, or had all checks."""

    topic: str
    half_offset: int
    times: int
    """How many checks of the message there were."""
    msg_id: str


class PullHeld(Event, frozen=True, kw_only=True, gc=False):
    """A pull found no message and waits for one at ``queue_offset``."""

    topic: str
    queue_id: int
    queue_offset: int
    group: str


class PullWoken(Event, frozen=True, kw_only=True, gc=False):
    """A held pull is tried again.

    ``why`` is ``arrival`` (a message came), ``check`` (a periodic look) or ``timeout``.
    """

    topic: str
    queue_id: int
    queue_offset: int
    group: str
    why: str


class Scheduled(Event, frozen=True, kw_only=True, gc=False):
    """A message for ``topic`` was stored in the queue of a delay level, to wait there."""

    level: int
    """The delay level, from 1."""
    schedule_offset: int
    """Its offset in the level's queue of the schedule topic."""
    phy_offset: int
    due_at_ms: int
    """When the wait ends, by the node's own wall clock, in milliseconds since the epoch."""
    topic: str
    msg_id: str


class ScheduledDelivered(Event, frozen=True, kw_only=True, gc=False):
    """A delayed message was due and was stored in its real topic and queue."""

    level: int
    schedule_offset: int
    from_phy_offset: int
    phy_offset: int
    topic: str
    queue_id: int
    queue_offset: int
    msg_id: str


class ScheduledDiscarded(Event, frozen=True, kw_only=True, gc=False):
    """A delayed message was due and was dropped, because it can never be delivered.

    Example: a half message, whose delay Java drops.
    """

    level: int
    schedule_offset: int
    phy_offset: int
    topic: str
    """Its real topic; empty if it has none."""
    why: str
    """Why no topic can take it, a clause."""


class SentBack(Event, frozen=True, kw_only=True, gc=False):
    """A consumer sent a message back; it was stored for the group's retry topic."""

    group: str
    level: int
    """The delay level of the retry."""
    reconsume_times: int
    """That of the new record: how often the message was sent back, this time included."""
    from_phy_offset: int
    phy_offset: int
    origin_msg_id: str
    """The offset id of the record that was sent back first."""
    msg_id: str


class DeadLettered(Event, frozen=True, kw_only=True, gc=False):
    """A message had all its retries, or its consumer wants no more: it was stored in the DLQ."""

    group: str
    reconsume_times: int
    """That of the new record."""
    from_phy_offset: int | None
    """None if the client sent the retry as a message of its own, without the old offset."""
    phy_offset: int
    origin_msg_id: str
    """The offset id of the record that was sent back first."""
    msg_id: str


class Delivered(Event, frozen=True, kw_only=True, gc=False):
    """A broker sent a consumer the answer to a pull, with messages."""

    topic: str
    queue_id: int
    offsets: Sequence[int]
    """The messages' offsets in the queue: a range if they follow each other, to save memory."""
    next_offset: int
    """The offset of the consumer's next pull."""
    group: str
    peer: str


class PullMoved(Event, frozen=True, kw_only=True, gc=False):
    """A consumer pulled from an offset that the queue does not have, and was sent to another one.

    Java's clients then drop what they hold of the queue, and commit the other offset after 10 s.
    """

    group: str
    topic: str
    queue_id: int
    offset: int
    next_offset: int
    peer: str


class OffsetCommitted(Event, frozen=True, kw_only=True, gc=False):
    """A group's offset in a queue was stored: the next message to consume."""

    group: str
    topic: str
    queue_id: int
    offset: int


class CommitIgnored(Event, frozen=True, kw_only=True, gc=False):
    """A consumer committed an offset, its broker answered SUCCESS, and did not store it.

    A reset of the queue is pending: the group's next pull is sent to ``kept``.
    """

    group: str
    topic: str
    queue_id: int
    offset: int
    """What the consumer wanted to commit."""
    kept: int
    """The offset that is committed."""


class OffsetWentBack(Event, frozen=True, kw_only=True, gc=False):
    """A group's committed offset is smaller than before, without a commit.

    ``why`` is ``kill`` (the process lost what it had not written into its file), ``master`` (a
    slave took over the offsets of its master) or ``removed``.
    """

    group: str
    topic: str
    queue_id: int
    offset: int
    """The offset now; -1 for none."""
    before: int
    """The offset that was committed."""
    why: str


class ReplyFailed(Event, frozen=True, kw_only=True, gc=False):
    """A reply to a request message could not be pushed to the requester, so it was refused."""

    peer: str
    """The client that replies."""
    correlation_id: str
    """What the request message and its reply have in common; "" for none."""
    why: str
    """The text of the answer."""


class ChangesLost(Event, frozen=True, kw_only=True, gc=False):
    """A kill lost changes that a broker had not yet written into a config file.

    Without those of ``consumerOrderInfo.json`` groups can pop again what they have popped in order.
    """

    file: str
    since_ms: int
    """When the file was written last, by the cluster's wall time; 0 for never."""


class OffsetReset(Event, frozen=True, kw_only=True, gc=False):
    """An operator reset a group in a queue (code 222); noted before it takes effect.

    ``how`` is ``broker`` if the broker commits the offset, or ``members`` if it sends it to the
    members, and each commits it.
    """

    group: str
    topic: str
    queue_id: int
    offset: int
    """The new offset."""
    before: int
    """The committed offset; -1 for none."""
    end_offset: int
    """The end of the queue."""
    to_ms: int | None
    """The time to which the group was reset, by the operator's clock; negative for the end of the
    queue, None if the operator said an offset."""
    how: str


# -- topics, groups and members ---------------------------------------------------------------


class TopicChanged(Event, frozen=True, kw_only=True, gc=False):
    """A topic was changed: ``how`` is ``created``, ``updated`` or ``deleted``."""

    topic: str
    how: str


class GroupChanged(Event, frozen=True, kw_only=True, gc=False):
    """A subscription group was changed: ``how`` is ``created``, ``updated`` or ``deleted``."""

    group: str
    how: str


class MemberChanged(Event, frozen=True, kw_only=True, gc=False):
    """A client joined or left a group; ``kind`` is ``producer`` or ``consumer``.

    For a join ``how`` is ``registered``; for a leave ``unregistered``, ``closed`` or ``expired``.
    """

    kind: str
    group: str
    client_id: str
    peer: str
    """The client's address on the connection of its heartbeats; its pulls come from there."""
    how: str


class SubscriptionsDiffer(Event, frozen=True, kw_only=True, gc=False):
    """A member of a group subscribes to a topic otherwise than another one; noted once.

    The broker keeps one subscription for all members. An expression of None is no subscription.
    """

    group: str
    topic: str
    client_id: str
    expression: str | None
    other_client_id: str
    other_expression: str | None


class DifferenceEnded(Event, frozen=True, kw_only=True, gc=False):
    """One of two members no longer subscribes to a topic as `SubscriptionsDiffer` said of them."""

    group: str
    topic: str
    client_id: str
    other_client_id: str


class FilterChanged(Event, frozen=True, kw_only=True, gc=False):
    """A group's filter expression for a topic: ``how`` is ``registered``, ``refused`` (it could not
    be compiled), ``dead``, ``revived`` or ``removed``.
    """

    group: str
    topic: str
    how: str


class QueuesLocked(Event, frozen=True, kw_only=True, gc=False):
    """A client's locks on queues were changed: ``how`` is ``locked``, ``unlocked`` or ``expired``.

    Orderly consumers lock a queue before they pull from it.
    """

    group: str
    client_id: str
    count: int
    """How many queues."""
    how: str
