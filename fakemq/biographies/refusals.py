"""What access control refused, for the diagnosis; a part of the chronicle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fakemq.core import inspection
from fakemq.errors import printable
from fakemq.events.core import AccessRefused
from fakemq.journal.entries import Entry
from fakemq.journal.journal import clock_text
from fakemq.protocol.codes import code_name

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore

_KEPT_AT_MOST = 1_000
"""How many groups, and topics, are kept: a peer without a key may name any number."""
_TOPICS_AT_MOST = 8
"""How many topics of a group are kept."""
_GROUPS_AT_MOST = 3
"""How many refused groups of a topic, and how many besides, are named."""
_TOPICS_NAMED = 3
"""Of how many topics refused requests without a group are named besides."""


class _OfGroup(NamedTuple):
    refused: AccessRefused
    """The last one."""
    topics: tuple[str, ...]


class Refusals:
    """What access control refused last of each group, and of each topic without a group."""

    def __init__(self) -> None:
        self._groups: dict[str, _OfGroup] = {}
        self._topics: dict[str, Entry] = {}
        self._others: dict[tuple[str, str], Entry] = {}
        """Node and sender → the last request of a node of the cluster for neither."""

    def add(self, entry: Entry) -> None:
        """Add a refused request."""
        event = entry.event
        assert isinstance(event, AccessRefused)
        for group in event.groups:
            before = self._groups.pop(group, None)
            known = () if before is None else before.topics
            topics = tuple(dict.fromkeys((*event.topics, *known)))[:_TOPICS_AT_MOST]
            self._groups[group] = _OfGroup(event, topics)
            _shorten(self._groups)
        for topic in () if event.groups else event.topics:
            self._topics.pop(topic, None)
            self._topics[topic] = entry
            _shorten(self._topics)
        if event.sender and not (event.groups or event.topics):
            self._others[event.node, event.sender] = entry
            _shorten(self._others)

    def joined(self, group: str) -> None:
        """Note that a member of a group is allowed: what was refused before explains nothing."""
        self._groups.pop(group, None)

    def groups(self, topic: str) -> list[str]:
        """Return some groups whose requests for a topic were refused."""
        found = [group for group, of_group in self._groups.items() if topic in of_group.topics]
        return found[:_GROUPS_AT_MOST]

    def of_group(self, group: str, topic: str | None = None) -> str | None:
        """Return which requests of a group are refused, for one topic if it is given; None if none
        were since a member joined."""
        found = self._groups.get(group)
        if found is None or (topic is not None and topic not in found.topics):
            return None
        refused = found.refused
        return (
            f"requests of {refused.host} for group {group} are refused by access control:"
            f" {_why(refused)}"
        )

    def unnamed(
        self, core: ClusterCore, topic: str | None, group: str | None, found: Sequence[str]
    ) -> list[str]:
        """Return a line for some refused groups without members that the findings do not name.

        A message that another group has consumed is no finding, but the refused group lacks it.
        ``topic`` and ``group`` limit the groups; None stands for all.
        """
        named, lines = "\n".join(found), list[str]()
        for one in self._groups if group is None else (group,):
            text = self.of_group(one, topic)
            line = None if text is None else printable(text)
            if line and line not in named and not inspection.members(core, one):
                lines.append(line)
                if len(lines) == _GROUPS_AT_MOST:
                    break
        return lines

    def of_nodes(self) -> list[str]:
        """Return a line for each node whose requests another one refuses, such as a slave that
        has no keys."""
        lines = []
        for (node, sender), entry in self._others.items():
            event = entry.event
            assert isinstance(event, AccessRefused)
            lines.append(
                f"access control of {node} refused {code_name(event.code or 0)} of {sender} at"
                f" {clock_text(entry.at_ms)}: {_why(event)}"
            )
        return [*map(printable, lines[-_GROUPS_AT_MOST:])]

    def besides(
        self,
        core: ClusterCore,
        topic: str | None,
        group: str | None,
        found: Sequence[str],
        wants: Callable[[str], bool],
    ) -> list[str]:
        """Return all lines of what the findings do not name: of groups, nodes and last sends."""
        lines = self.unnamed(core, topic, group, found) + self.of_nodes()
        sends = self.of_topics(wants) if group is None else []
        return lines + [one for one in sends if one not in found][-_TOPICS_NAMED:]

    def of_topics(self, wants: Callable[[str], bool]) -> list[str]:
        """Return one line for each wanted topic for which a request without a group was refused,
        such as a send."""
        lines = []
        for topic, entry in self._topics.items():
            event = entry.event
            assert isinstance(event, AccessRefused)
            if wants(topic):
                lines.append(
                    f"access control refused a request of {event.host} for topic {topic} at"
                    f" {clock_text(entry.at_ms)}: {_why(event)}"
                )
        return [*map(printable, lines)]


def _why(refused: AccessRefused) -> str:
    """Return Java's text, with the user if it names none, and with what would be enough."""
    text, more = refused.why, []
    if refused.user and refused.user not in text:
        more.append(f"key of {refused.user}")
    if refused.actions:
        more.append(f"it takes {' or '.join(refused.actions)} for {refused.resource}")
    return f"{text} ({', '.join(more)})" if more else text


def _shorten(kept: dict[Any, Any]) -> None:
    """Remove the oldest one of too many."""
    if len(kept) > _KEPT_AT_MOST:
        del kept[next(iter(kept))]
