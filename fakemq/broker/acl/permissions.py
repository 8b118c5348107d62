"""What a request needs, and whether an account has it.

A group is named by its retry topic: one table has the permissions for topics and groups.

Source: acl/common/Permission.java, acl/plain/PlainAccessValidator.java#parse (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntFlag
from typing import TYPE_CHECKING, TypeAlias

from fakemq.broker.acl.errors import AclError
from fakemq.dispatch.java_errors import readable_json
from fakemq.protocol.bodies.heartbeat import HeartbeatData
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.errors import BodyError, NullFieldError
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.topics import RETRY_PREFIX, retry_topic

if TYPE_CHECKING:
    from fakemq.protocol.command import RemotingCommand


class Perm(IntFlag):
    """Permissions for one topic or group."""

    DENY = 1
    ANY = 1 << 1
    PUB = 1 << 2
    SUB = 1 << 3


_BY_TEXT = {
    "PUB": Perm.PUB,
    "SUB": Perm.SUB,
    "PUB|SUB": Perm.PUB | Perm.SUB,
    "SUB|PUB": Perm.PUB | Perm.SUB,
}

ADMIN_CODES = frozenset(
    {
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        RequestCode.UPDATE_BROKER_CONFIG,
        RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.DELETE_SUBSCRIPTIONGROUP,
    }
)
"""The requests that need an admin; every account may send all others."""


def perm_of(text: str | None) -> Perm:
    """Return the permissions that a text names; any other text denies."""
    return Perm.DENY if text is None else _BY_TEXT.get(text.strip(), Perm.DENY)


def allows(owned: Perm, needed: Perm) -> bool:
    """Return whether an account with ``owned`` may do what needs ``needed``."""
    if owned & Perm.DENY:
        return False
    if needed & Perm.ANY:
        return bool(owned & (Perm.PUB | Perm.SUB))
    return bool(owned & needed)


def perms_of(entries: Iterable[str] | None, *, of_topics: bool) -> dict[str, Perm]:
    """Return the permissions of a list such as ``["orders=PUB"]``; raise AclError for others.

    Source: acl/common/Permission.java#parseResourcePerms (4.9.7)
    """
    perms: dict[str, Perm] = {}
    for entry in entries or ():
        items = _split(entry)
        if len(items) != 2:
            kind = "topic" if of_topics else "group"
            raise AclError(f"Parse resource permission failed for {kind}:{entry}")
        name = items[0].strip()
        perms[name if of_topics else retry_topic(name)] = perm_of(items[1])
    return perms


def check_entries(entries: Iterable[str] | None) -> None:
    """Raise AclError for a list of permissions that an operator may not set.

    Source: acl/common/Permission.java#checkResourcePerms (4.9.7)
    """
    for entry in entries or ():
        items = _split(entry)
        if len(items) != 2:
            raise AclError(
                f"Parse Resource format error for {entry}.\n"
                "The expected resource format is 'Res=Perm'. For example: topicA=SUB"
            )
        if items[1].strip() != "DENY" and perm_of(items[1]) is Perm.DENY:
            raise AclError(
                f"Parse resource permission error for {entry}.\n"
                "The expected permissions are 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB'."
            )


def _split(entry: str) -> list[str]:
    return [item for item in entry.split("=") if item]


def shown(resource: str) -> str:
    """Return a topic or group as Java's errors name it."""
    if resource.startswith(RETRY_PREFIX):
        return f"group:{resource.removeprefix(RETRY_PREFIX)}"
    return f"topic:{resource}"


# -- what requests need -----------------------------------------------------------------------

_Need: TypeAlias = tuple["str | None", Perm]
"""A topic, or the retry topic of a group, and what is needed for it; None needs nothing."""


def needed(command: RemotingCommand) -> dict[str, Perm]:
    """Return what a request needs, in the order in which Java checks it; raise AclError.

    Batches, replies, ends of transactions, queries by id and queries of offsets need nothing.
    """
    rule = _RULES.get(command.code)
    if rule is None:
        return {}
    needs = {name: perm for name, perm in rule(command) if name is not None}
    if len(needs) < 2:
        return needs
    return {name: needs[name] for name in java_hash_map_order(needs)}


def _group(name: str | None) -> str | None:
    return None if name is None else retry_topic(name)


def _send(topic: str, group: str) -> Callable[[RemotingCommand], Iterator[_Need]]:
    def rule(command: RemotingCommand) -> Iterator[_Need]:
        name = command.ext_fields.get(topic)
        if name is not None and name.startswith(RETRY_PREFIX):
            yield _group(command.ext_fields.get(group)), Perm.SUB
        else:
            yield name, Perm.PUB

    return rule


def _read(*, topic: str = "", group: str = "") -> Callable[[RemotingCommand], Iterator[_Need]]:
    def rule(command: RemotingCommand) -> Iterator[_Need]:
        if topic:
            yield command.ext_fields.get(topic), Perm.SUB
        if group:
            yield _group(command.ext_fields.get(group)), Perm.SUB

    return rule


def _heartbeat(command: RemotingCommand) -> Iterator[_Need]:
    if not command.body:
        raise _unreadable('Cannot read the array length because "bytes" is null')
    try:
        heartbeat = HeartbeatData.decode(readable_json(command.body))
    except (BodyError, NullFieldError) as error:
        raise _unreadable(str(error)) from error
    for data in heartbeat.consumer_data_set:
        yield _group(data.group_name), Perm.SUB
        for subscription in data.subscription_data_set:
            yield subscription.topic, Perm.SUB


def _unreadable(message: str) -> AclError:
    return AclError(message, "PlainAccessValidator.parse", 134)


_RULES: Mapping[int, Callable[[RemotingCommand], Iterator[_Need]]] = {
    RequestCode.SEND_MESSAGE: _send("topic", "group"),
    RequestCode.SEND_MESSAGE_V2: _send("b", "a"),
    RequestCode.CONSUMER_SEND_MSG_BACK: _read(group="group"),
    RequestCode.PULL_MESSAGE: _read(topic="topic", group="consumerGroup"),
    RequestCode.QUERY_MESSAGE: _read(topic="topic"),
    RequestCode.HEART_BEAT: _heartbeat,
    RequestCode.UNREGISTER_CLIENT: _read(group="consumerGroup"),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: _read(group="consumerGroup"),
    RequestCode.UPDATE_CONSUMER_OFFSET: _read(topic="topic", group="consumerGroup"),
}
