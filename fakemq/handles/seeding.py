"""Checks what a test stores in a topic as if a producer had sent it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fakemq.config import checked
from fakemq.config.checked import TopicSpec, checked_topic, text, whole
from fakemq.core import inspection
from fakemq.errors import ConfigError
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_int
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    KEY_SEPARATOR,
    NAME_VALUE_SEPARATOR,
    PROPERTY_SEPARATOR,
)

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.core import views
    from fakemq.core.cluster import ClusterCore


def seeding(
    core: ClusterCore,
    topic: str,
    bodies: Iterable[bytes | str],
    tags: str,
    keys: str | Iterable[str],
    properties: Mapping[str, str],
    queue: int | None,
) -> Steps[list[views.Message]]:
    """Check what `StoredMessages.seed` was given, and return the steps that store it."""
    checked_topic(topic, TopicSpec(1))
    more, payloads = checked_properties(properties), checked.payloads(bodies)
    if queue is not None:
        whole("queue", queue, 0, INT_MAX)
    words = KEY_SEPARATOR.join(checked.several_texts("keys", keys))
    return inspection.seed(core, topic, payloads, text("tags", tags), words, more, queue)


def checked_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties as a dict; raise ConfigError for one that a message cannot have.

    Names and values must be texts without the separators (characters 1 and 2) of the wire format.
    The delay level must be a number.
    """
    if not isinstance(properties, Mapping):
        raise ConfigError(f"properties={properties!r}: expected names and values, both text")
    for name, value in properties.items():
        texts = name and all(isinstance(one, str) for one in (name, value))
        if not texts or not {NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR}.isdisjoint(name + value):
            raise ConfigError(
                f"property {name!r}={value!r}: expected two texts without \\1 and \\2"
            )
        for one in (name, value):
            text(f"property {name!r}", one)
    level = properties.get(DELAY_TIME_LEVEL, "0")
    try:
        parse_int(level)
    except NumberFormatError:
        raise ConfigError(
            f"property {DELAY_TIME_LEVEL}={level!r}: expected the number of a delay level,"
            ' such as "3", or "0" for none'
        ) from None
    return dict(properties)
