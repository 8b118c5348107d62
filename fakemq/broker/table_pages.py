"""The tables of topics and groups, in the pages in which slaves of 5.5.0 fetch them.

Source: broker/topic/TopicConfigManager.java#subTopicConfigTable,
broker/subscription/SubscriptionGroupManager.java#subGroupTable (5.5.0)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fakemq.dispatch.answers import Refused
from fakemq.dispatch.java_errors import required
from fakemq.protocol.bodies.version_5_5_0 import DataVersion5
from fakemq.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from fakemq.config.model_5_5_0 import BrokerConfig5


def names_of_page(
    names: Iterable[str],
    version: DataVersion5,
    config: BrokerConfig5,
    *,
    seq: int | None,
    known_version: str | None,
    most: int | None,
) -> list[str]:
    """Return the names of one page: at most ``most`` names, from number ``seq`` on in their order.

    If the table has another version than ``known_version``, it is the first page again. All names,
    if the request names no page, or enableSplitMetadata is off. Raise NullFieldError, Refused or
    BodyError where Java throws.
    """
    if not config.enable_split_metadata or (seq is None and known_version is None and most is None):
        return list(names)
    begin = required(seq, "GetAllTopicConfigRequestHeader", "topicSeq")
    if begin and (
        not known_version
        or known_version.isspace()
        or DataVersion5.decode(known_version.encode()) != version
    ):
        begin = 0
    in_order = sorted(names, key=_as_java_compares)
    if begin >= len(in_order):
        return []
    size = config.split_metadata_size if most is None else min(config.split_metadata_size, most)
    last = min(begin + size, len(in_order)) - 1
    if begin < 0 or last < begin:
        raise Refused(
            ResponseCode.SYSTEM_ERROR, f"no page from {begin} to {last} of {len(in_order)} names"
        )
    return in_order[begin : last + 1]


def _as_java_compares(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")
