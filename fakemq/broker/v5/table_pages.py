"""The tables of topics and groups, in the pages in which slaves of 5.5.0 fetch them.

Source: broker/topic/TopicConfigManager.java#subTopicConfigTable,
broker/subscription/SubscriptionGroupManager.java#subGroupTable (5.5.0)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from fakemq.dispatch.answers import Refused
from fakemq.dispatch.outcomes import required
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.v5.bodies.version import DataVersion5

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.protocol.bodies.body import Body
    from fakemq.protocol.bodies.topic import DataVersion

T = TypeVar("T")

KEPT_BYTES = 1 << 20
"""The most bytes of a kept page; 2,000 topics, as many as a slave asks for, have 400 KB."""


class LastPage:
    """The page that was asked for last, and its bytes.

    Slaves ask for all tables again and again, and to encode them takes longer than all else that
    they ask for.
    """

    def __init__(self) -> None:
        self._kept: tuple[Body, list[str]] | None = None
        """The page, and the names of its rows in their order, for which equal pages may differ."""
        self._encoded = b""

    def encoded(self, page: Body, names: Iterable[str]) -> Steps[bytes]:
        """Return the JSON of a page with rows of these names; of the last one once more."""
        wanted = page, [*names]
        if wanted == self._kept:
            return self._encoded
        encoded = yield from page.encode_in_steps()
        if len(encoded) <= KEPT_BYTES:
            self._kept, self._encoded = wanted, encoded
        return encoded


def page_of(
    table: Mapping[str, T],
    data_version: DataVersion,
    config: BrokerConfig5,
    *,
    seq: int | None,
    known_version: str | None,
    most: int | None,
) -> tuple[dict[str, T], DataVersion5]:
    """Return one page of a table, and the table's version, for a request with these fields.

    The page has at most ``most`` rows, from number ``seq`` on in the order of their names.

    If the table has another version than ``known_version``, it is the first page again. All rows,
    if the request names no page, or enableSplitMetadata is off. Raise NullFieldError, Refused or
    BodyError where Java throws.
    """
    version = DataVersion5.of(data_version)
    if not config.enable_split_metadata or (seq is None and known_version is None and most is None):
        return dict(table), version
    begin = required(seq, "GetAllTopicConfigRequestHeader", "topicSeq")
    if begin and (
        not known_version
        or known_version.isspace()
        or DataVersion5.decode(known_version.encode()) != version
    ):
        begin = 0
    in_order = sorted(table, key=_as_java_compares)
    if begin >= len(in_order):
        return {}, version
    size = config.split_metadata_size if most is None else min(config.split_metadata_size, most)
    last = min(begin + size, len(in_order)) - 1
    if begin < 0 or last < begin:
        raise Refused(
            ResponseCode.SYSTEM_ERROR, f"no page from {begin} to {last} of {len(in_order)} names"
        )
    return {name: table[name] for name in in_order[begin : last + 1]}, version


def _as_java_compares(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")
