"""What a consumer says it wants of a topic, made from its text.

Source: common/filter/FilterAPI.java, common/filter/ExpressionType.java (4.9.7)
"""

from __future__ import annotations

from typing import Final

from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.java import java_hash_map_order, java_string_hash

SUB_ALL = "*"
TAG_SEPARATOR = "||"


class ExpressionType:
    """The kinds of subscription text."""

    TAG: Final = "TAG"
    SQL92: Final = "SQL92"


class SubscriptionError(ProtocolError):
    """A subscription's text means nothing; Java throws where it is built."""


is_tag_type: Final = frozenset((None, "", ExpressionType.TAG)).__contains__
"""Return whether a subscription of this type is by tags: TAG, or no type at all.

Source: common/filter/ExpressionType.java#isTagType (4.9.7)
"""


def build_subscription_data(topic: str, sub_string: str | None) -> SubscriptionData:
    """Return a subscription by tags: ``*``, nothing, or tags joined by ``||``.

    Its sub_version is 0: Java puts the time there, which is the caller's to tell.

    Source: common/filter/FilterAPI.java#buildSubscriptionData (4.9.7)
    """
    if not sub_string or sub_string == SUB_ALL:
        return SubscriptionData(topic=topic, sub_string=SUB_ALL)
    words = sub_string.split(TAG_SEPARATOR)
    if not any(words):
        # Java's split leaves nothing of a string that is all separators.
        raise SubscriptionError("subString split error")
    tags = dict.fromkeys(tag for word in words if (tag := _trim(word)))
    return SubscriptionData(
        topic=topic,
        sub_string=sub_string,
        tags_set=java_hash_map_order(tags),
        code_set=java_hash_map_order(map(java_string_hash, tags)),
    )


def build_subscription(
    topic: str, sub_string: str | None, expression_type: str | None
) -> SubscriptionData:
    """Return a subscription of any type; SubscriptionError if it cannot be one.

    Source: common/filter/FilterAPI.java#build (4.9.7)
    """
    # An empty type is not TAG here, although isTagType says so.
    if expression_type is None or expression_type == ExpressionType.TAG:
        return build_subscription_data(topic, sub_string)
    if not sub_string:
        raise SubscriptionError(f"Expression can't be null! {expression_type}")
    return SubscriptionData(topic=topic, sub_string=sub_string, expression_type=expression_type)


def _trim(text: str) -> str:
    # String.trim takes off all up to the blank, control characters included, and nothing else.
    start, end = 0, len(text)
    while start < end and text[start] <= " ":
        start += 1
    while end > start and text[end - 1] <= " ":
        end -= 1
    return text[start:end]
