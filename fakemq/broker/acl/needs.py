"""What one request asks for: rules that read it, and the words in which docs/rights.md says so.

A group is named by its retry topic: one table has the permissions for topics and groups.

Source: acl/plain/PlainAccessValidator.java#parse (4.9.7),
auth/authorization/builder/DefaultAuthorizationContextBuilder.java (5.5.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from fakemq.broker.acl.errors import AclError
from fakemq.broker.acl.permissions import Perm
from fakemq.dispatch.outcomes import readable_json
from fakemq.protocol.bodies.heartbeat import HeartbeatData
from fakemq.protocol.bodies.pop import BatchAckMessageRequestBody, QueryAssignmentRequestBody
from fakemq.protocol.bodies.queue import UnlockBatchRequestBody
from fakemq.protocol.errors import BodyError, NullFieldError, NumberFormatError, RemoteProtocolError
from fakemq.protocol.header import parse_long
from fakemq.protocol.message_id import decode_offset_id
from fakemq.protocol.topics import REPLY_POSTFIX, RETRY_PREFIX, retry_topic

if TYPE_CHECKING:
    from fakemq.protocol.bodies.body import Body
    from fakemq.protocol.command import RemotingCommand

Need: TypeAlias = tuple["str | None", Perm]
"""A topic, or the retry topic of a group, and what is needed for it; None needs nothing."""
Needs: TypeAlias = Iterable[Need]
Stored: TypeAlias = Callable[[int], "str | None"]
"""Return the topic of the record at an offset of the log, of a half message its real one.

None: there is no record; "": there are bytes that are no record.
"""

_POP_SEPARATORS = ("_", "+")


class Rule(NamedTuple):
    """What a request asks for."""

    asks: str
    """In words: what it asks for, or why it asks for nothing."""
    needs: Callable[[RemotingCommand, Stored], Needs] | None = None
    """None asks for no permission."""
    admin: bool = False
    """Whether it asks for an admin."""
    of_body: bool = False
    """Whether the body names what it asks for: that may be very much."""


ADMIN = Rule("an admin", admin=True)


def nothing(why: str) -> Rule:
    """Return the rule of a request that asks for a key and nothing else."""
    return Rule(f"nothing: {why}")


def group_of(name: str | None) -> str | None:
    """Return how a group is named among permissions."""
    return None if name is None else retry_topic(name)


# -- requests whose header names topics and groups --------------------------------------------


def send_4_9_7(topic: str, group: str) -> Rule:
    """Of a retry topic the group of the sender counts, whatever the topic's group is."""

    def needs(command: RemotingCommand, _: Stored) -> Iterator[Need]:
        name = command.ext_fields.get(topic)
        if name is not None and name.startswith(RETRY_PREFIX):
            yield group_of(command.ext_fields.get(group)), Perm.SUB
        else:
            yield name, Perm.PUB

    return Rule("PUB for the topic; for a retry topic SUB for the sender's group", needs)


def send(topic: str, *, replies: bool = False) -> Rule:
    """Of a retry topic its own group counts. With ``replies`` a topic of replies is free."""

    def needs(command: RemotingCommand, _: Stored) -> Iterator[Need]:
        name = command.ext_fields.get(topic, "")
        if not (replies and name.endswith(REPLY_POSTFIX)):
            yield name, Perm.SUB if name.startswith(RETRY_PREFIX) else Perm.PUB

    free = ", not for the topic of replies" if replies else ""
    return Rule(f"PUB for the topic{free}; for a retry topic SUB for its group", needs)


def read(*, topic: str = "", group: str = "", perm: Perm = Perm.SUB, say: str = "") -> Rule:
    """Ask ``perm`` for the topic, and SUB for the group, that header fields name."""

    def needs(command: RemotingCommand, _: Stored) -> Iterator[Need]:
        if topic:
            yield command.ext_fields.get(topic), perm
        if group:
            yield group_of(command.ext_fields.get(group)), Perm.SUB

    return Rule(say or _read_says(bool(topic), bool(group), perm), needs)


def _read_says(topic: bool, group: bool, perm: Perm) -> str:
    of_topic = "PUB or SUB for the topic" if perm is Perm.ANY else f"{perm.name} for the topic"
    if not topic:
        return "SUB for the group"
    if not group:
        return of_topic
    same = perm is Perm.SUB
    return "SUB for the topic and the group" if same else f"{of_topic}, SUB for the group"


def popped(topic: str, group: str) -> Rule:
    """Ask SUB for the topic and the group; a retry topic of pops stands for the topic behind it."""

    def needs(command: RemotingCommand, _: Stored) -> Iterator[Need]:
        group_name = command.ext_fields.get(group)
        yield group_of(group_name), Perm.SUB
        yield _popped_topic(command.ext_fields.get(topic), group_name), Perm.SUB

    return Rule(_read_says(True, True, Perm.SUB), needs)


def _popped_topic(name: str | None, group: str | None) -> str | None:
    """Return the topic whose messages a group gets again from its retry topic of pops."""
    for separator in _POP_SEPARATORS:
        name = name and name.removeprefix(f"{RETRY_PREFIX}{group}{separator}")
    return name


def statistics(command: RemotingCommand, _: Stored) -> Iterator[Need]:
    """Of a group, for all of its topics, one, or those of a list."""
    fields = command.ext_fields
    yield group_of(fields.get("consumerGroup")), Perm.SUB
    for name in (fields.get("topic"), *fields.get("topicList", "").split(";")):
        if name:
            yield name, Perm.ANY


# -- requests that name a stored message ------------------------------------------------------


def of_stored(offset: Callable[[RemotingCommand], int | None], perm: Perm, also: Rule) -> Rule:
    """Ask what ``also`` asks, and ``perm`` for the topic of the message that a request names."""

    def needs(command: RemotingCommand, stored: Stored) -> Iterator[Need]:
        if also.needs is not None:
            yield from also.needs(command, stored)
        place = offset(command)
        if place is not None:
            name = stored(place)
            if name == "":
                yield f"<no message begins at offset {place}>", Perm.DENY
            else:
                # Of the two forms of a retry topic of pops only this one has a single meaning.
                group = command.ext_fields.get("group")
                yield name and name.removeprefix(f"{RETRY_PREFIX}{group}+"), perm

    first = f"{also.asks}; " if also.needs is not None else ""
    return Rule(f"{first}{perm.name} for the topic of the stored message", needs)


def offset_in(field: str) -> Callable[[RemotingCommand], int | None]:
    """Return what reads an offset of the log from a header field; None for no number."""

    def offset(command: RemotingCommand) -> int | None:
        try:
            return parse_long(command.ext_fields.get(field, ""))
        except NumberFormatError:
            return None  # refused by its handler

    return offset


def offset_in_id(command: RemotingCommand) -> int | None:
    """Return the offset that the id of a message contains."""
    try:
        return decode_offset_id(command.ext_fields.get("msgId", "")).physical_offset
    except RemoteProtocolError:
        return None


# -- requests whose body names topics and groups ----------------------------------------------


def heartbeat(command: RemotingCommand, _: Stored) -> Iterator[Need]:
    """Each consumer group, and the topics that it subscribes to."""
    return _of_heartbeat(HeartbeatData, command)


def heartbeat_v5(command: RemotingCommand, _: Stored) -> Iterator[Need]:
    """As `heartbeat`, in the form that the handler of 5.5.0 decodes."""
    from fakemq.protocol.v5.bodies.heartbeat import HeartbeatData5  # 4.9.7 has none

    return _of_heartbeat(HeartbeatData5, command)


def _of_heartbeat(kind: type[HeartbeatData], command: RemotingCommand) -> Iterator[Need]:
    if not command.body:
        raise _unreadable('Cannot read the array length because "bytes" is null')
    for data in _decoded(kind, command).consumer_data_set:
        yield group_of(data.group_name), Perm.SUB
        for subscription in data.subscription_data_set:
            yield subscription.topic, Perm.SUB


def locks(command: RemotingCommand, _: Stored) -> Iterator[Need]:
    """The group, and the topics of its queues."""
    body = _decoded(UnlockBatchRequestBody, command)  # the body of a lock has the same fields
    yield group_of(body.consumer_group), Perm.SUB
    for queue in body.mq_set or ():
        yield queue.topic, Perm.SUB


def assignment(command: RemotingCommand, _: Stored) -> Iterator[Need]:
    """The group, and the topic whose queues are asked for."""
    body = _decoded(QueryAssignmentRequestBody, command)
    yield group_of(body.consumer_group), Perm.SUB
    yield body.topic, Perm.SUB


def acknowledgements(command: RemotingCommand, _: Stored) -> Iterator[Need]:
    """The group and the topic of each pop."""
    for ack in _decoded(BatchAckMessageRequestBody, command).acks or ():
        yield group_of(ack.group), Perm.SUB
        yield ack.topic, Perm.SUB


def _decoded(kind: type[Body], command: RemotingCommand) -> Any:
    if not command.body:
        return kind()
    try:
        bean = command.decoded = kind.decode(readable_json(command.body))
        return bean
    except (BodyError, NullFieldError) as error:
        raise _unreadable(str(error)) from error


def _unreadable(message: str) -> AclError:
    return AclError(message, "PlainAccessValidator.parse", 134)


# -- calls of the gRPC front ------------------------------------------------------------------


class RpcRule(NamedTuple):
    """What an RPC asks for. All but the free ones also ask for the caller's own client id."""

    asks: str
    needs: Callable[[Any], Needs] | None = None


def rpc_send(request: Any) -> Iterator[Need]:
    """The topic of each message."""
    return ((message.topic.name, Perm.PUB) for message in request.messages)


def rpc_publish(request: Any) -> Iterator[Need]:
    """The topic."""
    yield request.topic.name, Perm.PUB


def rpc_find(request: Any) -> Iterator[Need]:
    """The topic, to send or to receive."""
    yield request.topic.name, Perm.ANY


def rpc_consume(request: Any) -> Iterator[Need]:
    """The topic and the group."""
    yield request.topic.name, Perm.SUB
    yield retry_topic(request.group.name), Perm.SUB


def rpc_receive(request: Any) -> Iterator[Need]:
    """The topic of the queue, and the group."""
    yield request.message_queue.topic.name, Perm.SUB
    yield retry_topic(request.group.name), Perm.SUB


def rpc_group(request: Any) -> Iterator[Need]:
    """The group; a producer names none."""
    if request.group.name:
        yield retry_topic(request.group.name), Perm.SUB


def rpc_telemetry(command: Any) -> Iterator[Need]:
    """What settings name; the other commands answer what the front has asked."""
    if command.WhichOneof("command") != "settings":
        return
    settings = command.settings
    for topic in settings.publishing.topics:
        yield topic.name, Perm.PUB
    if settings.HasField("subscription"):
        yield retry_topic(settings.subscription.group.name), Perm.SUB
        for entry in settings.subscription.subscriptions:
            yield entry.topic.name, Perm.SUB
