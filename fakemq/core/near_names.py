"""Names of topics and groups that do not exist, and are almost like names that do.

A question about such a name is most likely a typing error, and its answer (no message, no lag)
would let a test pass that tests nothing. Other unknown names may come to exist later.
"""

from __future__ import annotations

from bisect import bisect
from typing import TYPE_CHECKING

from fakemq.config.almost_like import almost_like
from fakemq.core import inspection
from fakemq.core.views import NODE
from fakemq.errors import did_you_mean, printable
from fakemq.events.core import Warned
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore

_NEIGHBOURS = 200


def check_topic(core: ClusterCore, topic: str, *, may_come: bool = True) -> None:
    """Raise LookupError for a topic that does not exist.

    With ``may_come`` raise it only if the name is almost like an existing one.
    """
    if inspection.has_topic(core, topic):
        return
    for prefix in (DLQ_PREFIX, RETRY_PREFIX):
        if topic.startswith(prefix):
            check_group(core, topic.removeprefix(prefix))
    there = inspection.topics(core)
    meant = almost_like(topic, there)
    if meant is not None:
        declare = f" If it comes later, declare it: topics={{{topic!r}: 8}}" if may_come else ""
        raise LookupError(f"no topic {topic!r}; did you mean {meant}?{declare}")
    if not may_come:
        hint = did_you_mean(topic, there, cutoff=0.8, lists=False)
        hint = hint or f"; there are: {', '.join(there)}"
        raise LookupError(f"no topic {topic!r}{hint}")


def warn_of_new_topic(core: ClusterCore, topic: str) -> None:
    """Warn that a topic comes to exist whose name is almost like an existing one.

    It is no error, because it may be meant. Only the nearest names in the alphabet are compared: a
    test may make thousands of topics.
    """
    there = sorted(inspection.topics(core))
    at = bisect(there, topic)
    meant = almost_like(topic, there[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS])
    if meant is not None:
        text = (
            f"messages are seeded into a new topic {topic!r}; did you mean {meant}?"
            f" If not, declare it: topics={{{topic!r}: 8}}"
        )
        core.journal.add(Warned(node=NODE, text=printable(text)))


def no_master_has(core: ClusterCore, topic: str) -> LookupError:
    """Return the error for a change of a topic that no running master has."""
    meant = None
    if not inspection.has_topic(core, topic):
        meant = almost_like(topic, inspection.topics(core))
    hint = "" if meant is None else f"; did you mean {meant}?"
    return LookupError(f"no running master has a topic {topic}{hint}")


def check_group(core: ClusterCore, group: str) -> None:
    """Raise LookupError for a group that no broker has and whose name is almost like another's."""
    brokers = core.brokers.values()
    # Most groups exist, and are asked for often, as by the predicate of a wait.
    if any(group in one.groups or one.consumers.members(group) for one in brokers):
        return
    there: set[str] = set()
    for broker in brokers:
        there.update(broker.groups.snapshot(), broker.consumers.snapshot())
        there.update(key.partition("@")[2] for key in broker.offsets.snapshot())
    if group in there:
        return
    meant = almost_like(group, sorted(there))
    if meant is not None:
        raise LookupError(f"no group {group!r}; did you mean {meant}?")
