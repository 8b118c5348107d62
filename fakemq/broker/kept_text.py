"""The text of a large table in its config file, of which only what has changed is encoded again.

A file such as topics.json is written before each change of its table is answered. Of 30,000 topics
that is 5.5 MB. To encode all takes 0.2 s, with 5.5.0 0.8 s, in which no peer is answered. To join
the texts that were kept, and to write them, takes 12 ms.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from fakemq.protocol import fastjson
from fakemq.protocol.java import JavaConcurrentMapOrder, java_concurrent_map_order_in_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fakemq.clock.slices import Steps
    from fakemq.protocol.bodies.body import Body

B = TypeVar("B", bound="Body")

_DEPTH: Final = 2
"""An entry is in the table, and the table in the file."""
_BUCKETS_A_STEP: Final = 100


class KeptText(Generic[B]):
    """The text of one table, a ConcurrentHashMap in Java.

    ``field`` is its name in the file, ``capacity`` what Java's constructor gets. ``entries``
    returns the table; `changed` must be called for each change of it. ``rest`` returns what the
    file has besides, with an empty table.
    """

    def __init__(
        self,
        field: str,
        capacity: int,
        entries: Callable[[], Mapping[str, object]],
        rest: Callable[[], B],
    ) -> None:
        self._field = field
        self._capacity = capacity
        self._entries = entries
        self._rest = rest
        self._texts: _Texts | None = None
        """None until the file is written for the first time: one in memory never is."""
        self._changed: dict[str, None] | None = None
        """What has changed since the making of the texts was begun; None before that."""

    def changed(self, key: str) -> None:
        """Note that an entry was added, replaced or removed."""
        if self._changed is not None:
            self._changed[key] = None

    def clear(self) -> None:
        """Encode everything anew."""
        self._texts = self._changed = None

    def captured(self) -> Steps[B]:
        """Return work for the contents of the file as they are now.

        What changes between its steps is not in them.
        """
        return self._in_order(self._rest(), dict(self._entries()))

    def _in_order(self, rest: B, table: dict[str, object]) -> Steps[B]:
        names = yield from java_concurrent_map_order_in_steps(table, self._capacity)
        kind = type(rest)
        attributes = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
        attribute = dict(attributes)[self._field]
        return msgspec.structs.replace(rest, **{attribute: {name: table[name] for name in names}})

    def value(self, unknown: dict[Any, Any]) -> Steps[object]:
        """Return what `fastjson.dumps_pretty` writes as the present text of the file.

        ``unknown`` is what `unknown_fields` has found in the file.
        """
        of_entries = unknown.get(self._field, {})
        while (texts := self._texts) is None or self._changed:
            if texts is None:
                changed = self._changed = {}
                made = _Texts(self._capacity)
                yield from made.make(self._entries(), of_entries)
                if self._changed is changed:  # else all is to be made anew, or has been
                    self._texts = made
            elif self._changed:
                changed, self._changed = self._changed, {}
                for key in changed:  # in this order they were put into the map
                    texts.update(key, self._entries(), of_entries)
        from fakemq.protocol.unknown_fields import with_unknown  # only with a directory

        rest = self._rest()
        written = with_unknown(rest, unknown)
        items = written if isinstance(written, dict) else dict(fastjson.bean_items(rest))
        items[self._field] = fastjson.WrittenItems(list(texts.texts))  # it keeps its place
        return items


class _Texts:
    """The texts of all entries, one for each bucket of the map."""

    def __init__(self, capacity: int) -> None:
        self._order = JavaConcurrentMapOrder[str](capacity)
        self._of_keys: dict[str, str] = {}
        self._buckets: list[int] = []
        """The numbers of the buckets that are not empty, in order."""
        self.texts: list[str] = []
        """The text of each of them."""

    def make(self, table: Mapping[str, object], unknown: dict[Any, Any]) -> Steps[None]:
        """Make all texts. What is added to the table meanwhile is not among them."""
        names = list(table)
        yield from self._order.add_all_in_steps(names)
        for number, key in enumerate(names, 1):
            self._encode(key, table.get(key), unknown)
            if not number % _BUCKETS_A_STEP:
                yield
        yield from self._join_all()

    def update(self, key: str, table: Mapping[str, object], unknown: dict[Any, Any]) -> None:
        """Follow the change of one entry."""
        order = self._order
        is_new = key not in order
        if key in table:
            self._encode(key, table[key], unknown)
            if is_new and order.add(key):
                for _ in self._join_all():
                    pass
                return
        elif is_new:
            return  # it was added and removed again
        at = order.bucket_of(key)
        if key not in table:
            order.remove(key)
            del self._of_keys[key]
        index = bisect_left(self._buckets, at)
        there = index < len(self._buckets) and self._buckets[index] == at
        if at not in order.buckets:
            del self._buckets[index], self.texts[index]
        elif there:
            self.texts[index] = self._joined(at)
        else:
            self._buckets.insert(index, at)
            self.texts.insert(index, self._joined(at))

    def _encode(self, key: str, value: object, unknown: dict[Any, Any]) -> None:
        if key in unknown:
            from fakemq.protocol.unknown_fields import with_unknown  # few files have such fields

            value = with_unknown(value, unknown[key])
        self._of_keys[key] = fastjson.pretty_item(key, value, _DEPTH)

    def _joined(self, at: int) -> str:
        return ",".join([self._of_keys[key] for _, key in self._order.buckets[at]])

    def _join_all(self) -> Steps[None]:
        self._buckets, self.texts = sorted(self._order.buckets), []
        for number, at in enumerate(self._buckets, 1):
            self.texts.append(self._joined(at))
            if not number % _BUCKETS_A_STEP:
                yield
