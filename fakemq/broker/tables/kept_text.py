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
    from collections.abc import Callable, Iterator, Mapping

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

    def changed(self, key: str) -> None:
        """Note that an entry was added, replaced or removed."""
        if self._texts is not None:
            self._texts.note(key, is_there=key in self._entries())

    def clear(self) -> None:
        """Encode everything anew."""
        self._texts = None

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
        while (texts := self._texts) is None or not texts.are_made:
            if texts is None or texts.have_failed:
                texts = self._texts = _Texts(self._capacity, self._entries(), of_entries)
            # Several writers may be at this place: each continues the one making.
            for _ in texts.making:
                yield
        texts.follow(self._entries(), of_entries)
        from fakemq.protocol.unknown_fields import with_unknown  # only with a directory

        rest = self._rest()
        written = with_unknown(rest, unknown)
        items = written if isinstance(written, dict) else dict(fastjson.bean_items(rest))
        items[self._field] = fastjson.WrittenItems(list(texts.texts))  # it keeps its place
        return items


class _Texts:
    """The texts of all entries, one for each bucket of the map; ``making`` makes them."""

    def __init__(self, capacity: int, table: Mapping[str, object], unknown: dict[Any, Any]) -> None:
        self._order = JavaConcurrentMapOrder[str](capacity)
        self._of_keys: dict[str, str] = {}
        self._changes: dict[tuple[str, bool], None] = {}
        """What has changed since the making was begun, or the last `follow`: keys, and whether the
        entry was put or removed."""
        self._buckets: list[int] = []
        """The numbers of the buckets that are not empty, in order."""
        self.texts: list[str] = []
        """The text of each of them."""
        self.are_made = self.have_failed = False
        self.making = self._make(table, unknown)

    def _make(self, table: Mapping[str, object], unknown: dict[Any, Any]) -> Iterator[None]:
        """Make all texts. What is added to the table meanwhile is not among them."""
        try:
            names = list(table)
            yield from self._order.add_all_in_steps(names)
            for number, key in enumerate(names, 1):
                self._encode(key, table.get(key), unknown)
                if not number % _BUCKETS_A_STEP:
                    yield
            yield from self._join_all()
        except Exception:
            self.have_failed = True
            raise
        self.are_made = True

    def note(self, key: str, *, is_there: bool) -> None:
        """Note the change of one entry.

        Example: an entry that is removed and put again goes to the end of its bucket.
        """
        if not is_there:
            self._changes.pop((key, True), None)
        self._changes[key, is_there] = None

    def follow(self, table: Mapping[str, object], unknown: dict[Any, Any]) -> None:
        """Take over the changes that were noted, in their order."""
        changes, self._changes = self._changes, {}
        for key, is_there in changes:
            if is_there:
                self._put(key, table[key], unknown)
            elif key in self._order:  # else it was put and removed again
                at = self._order.bucket_of(key)
                self._order.remove(key)
                del self._of_keys[key]
                self._join(at)

    def _put(self, key: str, value: object, unknown: dict[Any, Any]) -> None:
        self._encode(key, value, unknown)
        if key not in self._order and self._order.add(key):
            for _ in self._join_all():
                pass
        else:
            self._join(self._order.bucket_of(key))

    def _join(self, at: int) -> None:
        """Make the text of one bucket, which may be new or empty."""
        index = bisect_left(self._buckets, at)
        there = index < len(self._buckets) and self._buckets[index] == at
        if at not in self._order.buckets:
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
