"""Namespaces: one cluster for several tenants, whose topics and groups have a name before them.

A name in a namespace is ``namespace%topic``; a prefix of RocketMQ stays in front, as in
``%RETRY%namespace%group``.

Source: common/protocol/NamespaceUtil.java (4.9.7)
"""

from __future__ import annotations

from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX, is_system_topic

SEPARATOR = "%"
_SYSTEM_GROUP_PREFIX = "CID_RMQ_SYS_"


def wrap(namespace: str, name: str) -> str:
    """Return a topic or group in a namespace; a name of RocketMQ itself stays as it is.

    Source: NamespaceUtil.java#wrapNamespace (4.9.7)
    """
    if not namespace or not name or _is_system(name) or is_in(namespace, name):
        return name
    prefix, rest = _prefixed(name)
    return f"{prefix}{namespace}{SEPARATOR}{rest}"


def unwrap(name: str, namespace: str | None = None) -> str:
    """Return a topic or group without its namespace, or without ``namespace`` if that is its one.

    Source: NamespaceUtil.java#withoutNamespace (4.9.7)
    """
    if namespace is not None and (not namespace or not _begins_with(name, namespace)):
        return name
    if not name or _is_system(name):
        return name
    prefix, rest = _prefixed(name)
    at = rest.find(SEPARATOR)
    return prefix + rest[at + 1 :] if at > 0 else name


def is_in(namespace: str, name: str) -> bool:
    """Return whether a topic or group is in a namespace.

    Source: NamespaceUtil.java#isAlreadyWithNamespace (4.9.7)
    """
    return bool(namespace and name) and not _is_system(name) and _begins_with(name, namespace)


def namespace_of(name: str) -> str:
    """Return the namespace of a topic or group; empty if it has none.

    Source: NamespaceUtil.java#getNamespaceFromResource (4.9.7)
    """
    if not name or _is_system(name):
        return ""
    _, rest = _prefixed(name)
    at = rest.find(SEPARATOR)
    return rest[:at] if at > 0 else ""


def wrap_queue(namespace: str, queue: MessageQueue) -> MessageQueue:
    """Return a queue whose topic is in a namespace.

    Source: client/ClientConfig.java#queueWithNamespace (4.9.7)
    """
    if not namespace:
        return queue
    topic = wrap(namespace, queue.topic or "")
    return MessageQueue(topic=topic, broker_name=queue.broker_name, queue_id=queue.queue_id)


def unwrap_queue(queue: MessageQueue, namespace: str) -> MessageQueue:
    """Return a queue whose topic is without the namespace."""
    if not namespace:
        return queue
    topic = unwrap(queue.topic or "", namespace)
    return MessageQueue(topic=topic, broker_name=queue.broker_name, queue_id=queue.queue_id)


def _prefixed(name: str) -> tuple[str, str]:
    """Return the prefix for retries or dead letters, if a name has one, and the rest."""
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if name.startswith(prefix):
            return prefix, name[len(prefix) :]
    return "", name


def _begins_with(name: str, namespace: str) -> bool:
    return _prefixed(name)[1].startswith(namespace + SEPARATOR)


def _is_system(name: str) -> bool:
    return is_system_topic(name) or name.startswith(_SYSTEM_GROUP_PREFIX)
