"""Lite topics: many short-lived topics below a parent, each of which is a light queue.

Source: common/lite/LiteUtil.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.protocol.message_types import MESSAGE_TYPE
from fakemq.protocol.topics import LMQ_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

LITE_TYPE: Final = "LITE"
"""The message type of a parent topic."""
LITE_PREFIX: Final = f"{LMQ_PREFIX}$"

# Attributes. Source: common/TopicAttributes.java, SubscriptionGroupAttributes.java (5.5.0)
EXPIRATION: Final = "lite.topic.expiration"
BIND_TOPIC: Final = "lite.bind.topic"
"""Of a group: the topic whose lite topics it consumes."""
SUB_MODEL: Final = "lite.sub.model"
EXCLUSIVE: Final = "Exclusive"
SHARED: Final = "Shared"
RESET_EXCLUSIVE: Final = "lite.sub.reset.offset.exclusive"
RESET_UNSUBSCRIBE: Final = "lite.sub.reset.offset.unsubscribe"
CLIENT_QUOTA: Final = "lite.sub.client.quota"
MAX_EVENT_COUNT: Final = "lite.sub.client.max.event.cnt"
WILDCARD: Final = "lite.sub.wildcard"

_SEPARATOR: Final = "$"


def is_parent_type(attributes: Mapping[str, str] | None) -> bool:
    """Return whether a topic with these attributes is the parent of lite topics."""
    return attributes is not None and attributes.get(MESSAGE_TYPE) == LITE_TYPE


def lite_queue(parent: str, lite: str) -> str | None:
    """Return the name of the light queue of a lite topic; None if a name is empty."""
    return f"{LITE_PREFIX}{parent}{_SEPARATOR}{lite}" if parent and lite else None


def is_lite_queue(topic: str) -> bool:
    """Return whether a name begins as that of the light queue of a lite topic."""
    return topic.startswith(LITE_PREFIX)


def parent_and_lite(queue: str) -> tuple[str, str] | None:
    """Return the parent topic and the lite topic of a light queue; None if it is not one."""
    if not is_lite_queue(queue):
        return None
    parent, separator, lite = queue[len(LITE_PREFIX) :].partition(_SEPARATOR)
    if not parent or not separator or not lite or _SEPARATOR in lite:
        return None
    return parent, lite


def belongs_to(queue: str, parent: str) -> bool:
    """Return whether a light queue begins as those of a parent topic."""
    return queue.startswith(f"{LITE_PREFIX}{parent}{_SEPARATOR}")
