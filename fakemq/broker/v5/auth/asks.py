"""What each request asks for in auth 2.0: a resource, and actions of which one must be allowed.

The holes are those of 5.5.0: a code without a row needs the key of a user and nothing else, such as
the replies, BATCH_ACK_MESSAGE, and what changes the config. docs/rights.md is made from the table.

Source: auth/authorization/builder/DefaultAuthorizationContextBuilder.java,
remoting/protocol/header/, the annotations RocketMQAction and RocketMQResource (5.5.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from fakemq.broker.v5.auth.errors import AuthError
from fakemq.broker.v5.auth.model import (
    CLUSTER,
    CREATE,
    DELETE,
    GET,
    GROUP,
    PUB,
    SUB,
    TOPIC,
    UPDATE,
    Resource,
    is_blank,
)
from fakemq.dispatch.outcomes import readable_json
from fakemq.protocol.bodies.queue import UnlockBatchRequestBody
from fakemq.protocol.bodies.topic import TOPIC_FILTER_TYPES
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.errors import BodyError, NullFieldError
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.protocol.v5.bodies.heartbeat import HeartbeatData5
from fakemq.protocol.v5.codes import RequestCode5

if TYPE_CHECKING:
    from fakemq.protocol.bodies.body import Body
    from fakemq.protocol.command import RemotingCommand

Actions: TypeAlias = tuple[str, ...]


class Ask(NamedTuple):
    """One thing that a request asks for."""

    resource: Resource
    actions: Actions
    """Of these one must be allowed."""


Asks: TypeAlias = Iterator[Ask]


class AskRule(NamedTuple):
    """What a request asks for."""

    says: str
    """In words."""
    asks: Callable[[RemotingCommand, str], Asks]
    """Takes the name of the broker's cluster, too; raises AuthError for what cannot be read."""
    of_body: bool = False
    """Whether the body names what it asks for: that may be very much."""
    of_header: bool = False
    """Whether it comes from annotations of a header, which Java's proxy does not read."""
    list_field: str = ""
    """A field that may name very much; "" for none."""


# -- by the fields of a header ------------------------------------------------------------------


def _is_retry(topic: str | None) -> bool:
    """Source: remoting/protocol/NamespaceUtil.java#isRetryTopic (5.5.0)"""
    return topic is not None and topic.startswith(RETRY_PREFIX)


def _named(kind: str, name: str | None) -> Resource:
    """Return the resource of a topic or group; that of a retry topic is its group."""
    is_retry = kind == TOPIC and _is_retry(name)
    return Resource.of_group(name) if is_retry else Resource(kind, name)


def _names(command: RemotingCommand, place: str) -> list[str]:
    """Return what a field names; nothing for one that is not there."""
    if place[-1] in ",;":
        return [name for name in command.ext_fields.get(place[:-1], "").split(place[-1]) if name]
    value = command.ext_fields.get(place)
    return [] if value is None else [value]


def fields(*places: tuple[str, str], actions: Actions) -> AskRule:
    """Ask for what annotated fields name, in their order; a field that is not there asks nothing.

    A place is a kind and a field, with a separator behind it where the field has several names.
    """

    def asks(command: RemotingCommand, _: str) -> Asks:
        for kind, place in places:
            for name in _names(command, place):
                yield Ask(_named(kind, name), actions)

    kinds = dict.fromkeys(kind.lower() for kind, _ in places)
    of = " and ".join(f"the {kind}" for kind in kinds)
    lists = [place[:-1] for _, place in places if place[-1] in ",;"]
    return AskRule(
        f"{_or(actions)} for {of}", asks, of_header=True, list_field=lists[0] if lists else ""
    )


def _or(actions: Actions) -> str:
    return " or ".join(actions)


def cluster(action: str) -> AskRule:
    """Ask for an action on the cluster."""

    def asks(_: RemotingCommand, cluster_name: str) -> Asks:
        yield Ask(Resource(CLUSTER, cluster_name), (action,))

    return AskRule(f"{action} for the cluster", asks, of_header=True)


def send(field: str) -> AskRule:
    """Ask for the topic, or the group of a retry topic."""

    def asks(command: RemotingCommand, _: str) -> Asks:
        resource = _named(TOPIC, command.ext_fields.get(field))
        yield Ask(resource, (SUB,) if resource.kind == GROUP else (PUB,))

    return AskRule("Pub for the topic; for a retry topic Sub for its group", asks)


def read(topic: str = "", group: str = "", *, actions: Actions = (SUB,)) -> AskRule:
    """Ask for a topic that is no retry topic, and for a group, whether or not they are named."""

    def asks(command: RemotingCommand, _: str) -> Asks:
        if topic:
            name = command.ext_fields.get(topic)
            if not _is_retry(name):
                yield Ask(Resource(TOPIC, name), actions)
        if group:
            yield Ask(Resource.of_group(command.ext_fields.get(group)), actions)

    parts = [f"the {kind}" for kind, is_named in (("topic", topic), ("group", group)) if is_named]
    return AskRule(f"{_or(actions)} for {' and '.join(parts)}", asks)


def any_topic(*actions: str) -> AskRule:
    """Ask for a topic, whether or not one is named, and for a retry topic as for any other."""

    def asks(command: RemotingCommand, _: str) -> Asks:
        yield Ask(Resource(TOPIC, command.ext_fields.get("topic")), actions)

    return AskRule(f"{_or(actions)} for the topic", asks)


def _route(command: RemotingCommand, _: str) -> Asks:
    resource = _named(TOPIC, command.ext_fields.get("topic"))
    yield Ask(resource, (SUB, GET) if resource.kind == GROUP else (PUB, SUB, GET))


def _end_transaction(command: RemotingCommand, _: str) -> Asks:
    name = command.ext_fields.get("topic")
    if not is_blank(name):
        yield Ask(Resource(TOPIC, name), (PUB,))


def _unregister(command: RemotingCommand, _: str) -> Asks:
    name = command.ext_fields.get("consumerGroup")
    if not is_blank(name):
        yield Ask(Resource.of_group(name), (SUB,))


def _create_topic(command: RemotingCommand, cluster_name: str) -> Asks:
    # The only one of these headers that Java checks when it decodes it.
    if command.ext_fields.get("topicFilterType") not in TOPIC_FILTER_TYPES:
        raise _unreadable()
    return fields((TOPIC, "topic"), actions=(CREATE,)).asks(command, cluster_name)


# -- by the body ----------------------------------------------------------------------------------


def _heartbeat(command: RemotingCommand, _: str) -> Asks:
    for data in _decoded(HeartbeatData5, command).consumer_data_set:
        yield Ask(Resource.of_group(data.group_name), (SUB,))
        for subscription in data.subscription_data_set:
            if not _is_retry(subscription.topic):
                yield Ask(Resource(TOPIC, subscription.topic), (SUB,))


def _locks(command: RemotingCommand, _: str) -> Asks:
    body = _decoded(UnlockBatchRequestBody, command)  # the body of a lock has the same fields
    yield Ask(Resource.of_group(body.consumer_group), (SUB,))
    for queue in body.mq_set or ():
        if not _is_retry(queue.topic):
            yield Ask(Resource(TOPIC, queue.topic), (SUB,))


def _decoded(kind: type[Body], command: RemotingCommand) -> Any:
    try:
        bean = command.decoded = kind.decode(readable_json(command.body))
    except (BodyError, NullFieldError):
        raise _unreadable() from None
    return bean


def _unreadable() -> AuthError:
    return AuthError("parse authorization context error.")


_OFFSET = read("topic", "consumerGroup")
_GET_TOPIC = fields((TOPIC, "topic"), actions=(GET,))
_SUB_GROUP_TOPIC = fields((GROUP, "consumerGroup"), (TOPIC, "topic"), actions=(SUB,))
_GET_GROUP = fields((GROUP, "consumerGroup"), actions=(GET,))
_GROUP_TOPIC = ((GROUP, "group"), (TOPIC, "topic"))
_LOCKS = AskRule("Sub for the group and the topics of its queues", _locks, of_body=True)
_GET_CLUSTER, _UPDATE_CLUSTER = cluster(GET), cluster(UPDATE)

BROKER: Final[Mapping[int, AskRule]] = {
    # messages
    RequestCode.SEND_MESSAGE: send("topic"),
    RequestCode.SEND_MESSAGE_V2: send("b"),
    RequestCode.SEND_BATCH_MESSAGE: send("b"),
    RequestCode5.RECALL_MESSAGE: any_topic(PUB),
    RequestCode.END_TRANSACTION: AskRule("Pub for the topic, if one is named", _end_transaction),
    RequestCode.CONSUMER_SEND_MSG_BACK: read(group="group"),
    RequestCode.PULL_MESSAGE: _OFFSET,
    RequestCode.QUERY_MESSAGE: any_topic(SUB, GET),
    RequestCode.VIEW_MESSAGE_BY_ID: _GET_TOPIC,
    RequestCode.CONSUME_MESSAGE_DIRECTLY: _SUB_GROUP_TOPIC,
    RequestCode.RESUME_CHECK_HALF_MESSAGE: fields((TOPIC, "topic"), actions=(UPDATE,)),
    # pops
    RequestCode5.POP_MESSAGE: _SUB_GROUP_TOPIC,
    RequestCode5.PEEK_MESSAGE: fields((TOPIC, "topic"), (GROUP, "consumerGroup"), actions=(SUB,)),
    RequestCode5.ACK_MESSAGE: _SUB_GROUP_TOPIC,
    RequestCode5.CHANGE_MESSAGE_INVISIBLETIME: _SUB_GROUP_TOPIC,
    RequestCode5.NOTIFICATION: _SUB_GROUP_TOPIC,
    RequestCode5.POLLING_INFO: fields((GROUP, "consumerGroup"), (TOPIC, "topic"), actions=(GET,)),
    # clients
    RequestCode.HEART_BEAT: AskRule(
        "Sub for each consumer group and its topics", _heartbeat, of_body=True
    ),
    RequestCode.UNREGISTER_CLIENT: AskRule(
        "Sub for the consumer group, if one is named", _unregister
    ),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: read(group="consumerGroup", actions=(SUB, GET)),
    RequestCode.GET_CONSUMER_CONNECTION_LIST: _GET_GROUP,
    RequestCode.GET_PRODUCER_CONNECTION_LIST: _GET_CLUSTER,
    RequestCode.GET_ALL_PRODUCER_INFO: _GET_CLUSTER,
    RequestCode.GET_CONSUMER_RUNNING_INFO: _GET_GROUP,
    RequestCode.LOCK_BATCH_MQ: _LOCKS,
    RequestCode.UNLOCK_BATCH_MQ: _LOCKS,
    # offsets
    RequestCode.QUERY_CONSUMER_OFFSET: read("topic", "consumerGroup", actions=(SUB, GET)),
    RequestCode.UPDATE_CONSUMER_OFFSET: read("topic", "consumerGroup", actions=(SUB, UPDATE)),
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: _GET_TOPIC,
    RequestCode.GET_MAX_OFFSET: _GET_TOPIC,
    RequestCode.GET_MIN_OFFSET: _GET_TOPIC,
    RequestCode.GET_EARLIEST_MSG_STORETIME: _GET_TOPIC,
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: fields(*_GROUP_TOPIC, actions=(UPDATE,)),
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: fields(
        (TOPIC, "topic"), (GROUP, "group"), actions=(GET,)
    ),
    RequestCode.CLONE_GROUP_OFFSET: fields(
        (GROUP, "destGroup"), (TOPIC, "topic"), actions=(UPDATE,)
    ),
    RequestCode.QUERY_CORRECTION_OFFSET: fields(
        (GROUP, "filterGroups,"), (GROUP, "compareGroup"), (TOPIC, "topic"), actions=(GET,)
    ),
    RequestCode.QUERY_CONSUME_QUEUE: fields(
        (TOPIC, "topic"), (GROUP, "consumerGroup"), actions=(GET,)
    ),
    RequestCode.QUERY_CONSUME_TIME_SPAN: fields((TOPIC, "topic"), (GROUP, "group"), actions=(GET,)),
    RequestCode.GET_CONSUME_STATS: fields(
        (GROUP, "consumerGroup"), (TOPIC, "topic"), (TOPIC, "topicList;"), actions=(GET,)
    ),
    RequestCode5.QUERY_TOPICS_BY_CONSUMER: fields((GROUP, "group"), actions=(GET,)),
    RequestCode5.QUERY_SUBSCRIPTION_BY_CONSUMER: fields(*_GROUP_TOPIC, actions=(GET,)),
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: _GET_TOPIC,
    # topics and groups
    RequestCode.GET_TOPIC_STATS_INFO: _GET_TOPIC,
    RequestCode5.GET_TOPIC_CONFIG: _GET_TOPIC,
    RequestCode5.GET_SUBSCRIPTIONGROUP_CONFIG: fields((GROUP, "group"), actions=(GET,)),
    RequestCode.UPDATE_AND_CREATE_TOPIC: AskRule(
        "Create for the topic", _create_topic, of_header=True
    ),
    RequestCode.DELETE_TOPIC_IN_BROKER: fields((TOPIC, "topic"), actions=(DELETE,)),
    RequestCode.DELETE_SUBSCRIPTIONGROUP: fields((GROUP, "groupName"), actions=(DELETE,)),
    RequestCode5.UPDATE_AND_GET_GROUP_FORBIDDEN: fields(*_GROUP_TOPIC, actions=(UPDATE,)),
    # the broker
    RequestCode5.NOTIFY_BROKER_ROLE_CHANGED: _UPDATE_CLUSTER,
    RequestCode5.NOTIFY_MIN_BROKER_ID_CHANGE: _UPDATE_CLUSTER,
    RequestCode5.EXCHANGE_BROKER_HA_INFO: _UPDATE_CLUSTER,
    RequestCode5.RESET_MASTER_FLUSH_OFFSET: _UPDATE_CLUSTER,
    RequestCode.VIEW_BROKER_STATS_DATA: _GET_CLUSTER,
    RequestCode.GET_BROKER_CONSUME_STATS: _GET_CLUSTER,
    # users and rights
    RequestCode5.AUTH_CREATE_USER: _UPDATE_CLUSTER,
    RequestCode5.AUTH_UPDATE_USER: _UPDATE_CLUSTER,
    RequestCode5.AUTH_DELETE_USER: _UPDATE_CLUSTER,
    RequestCode5.AUTH_GET_USER: _GET_CLUSTER,
    RequestCode5.AUTH_LIST_USER: _GET_CLUSTER,
    RequestCode5.AUTH_CREATE_ACL: _UPDATE_CLUSTER,
    RequestCode5.AUTH_UPDATE_ACL: _UPDATE_CLUSTER,
    RequestCode5.AUTH_DELETE_ACL: _UPDATE_CLUSTER,
    RequestCode5.AUTH_GET_ACL: _GET_CLUSTER,
    RequestCode5.AUTH_LIST_ACL: _GET_CLUSTER,
}


FRONT: Final[Mapping[int, AskRule]] = {
    **{code: rule for code, rule in BROKER.items() if not rule.of_header},
    RequestCode.GET_ROUTEINFO_BY_TOPIC: AskRule("Pub, Sub or Get for the topic", _route),
}
"""What Java's proxy asks for at its port for remoting: it does not read annotations of headers."""


def asks_of(
    command: RemotingCommand, cluster_name: str, rules: Mapping[int, AskRule] = BROKER
) -> Asks:
    """Return what a request asks for; nothing for one without a field, as in Java.

    Raise AuthError, at once or later, if that cannot be read.
    """
    rule = rules.get(command.code)
    if rule is not None and command.usual is not None:  # without a key: few are let in so far
        fields = {name: str(value) for name, value in msgspec.to_builtins(command.usual).items()}
        command = msgspec.structs.replace(command, ext_fields=fields)
    if rule is None or not command.ext_fields:
        return iter(())
    return rule.asks(command, cluster_name)
