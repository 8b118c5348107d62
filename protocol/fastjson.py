"""JSON as fastjson 1.2.69 writes and reads it, a dialect of its own.

Maps may have numbers or objects for keys (``{0:"ip:port"}``, ``{{"queueId":0}:1}``), and much is
read that no standard allows. No other module of this project calls a JSON library for a body
or a file (a class with a schema may try msgspec first).

Python for Java: a ``msgspec.Struct`` is a bean, its fields sorted by name and those that are None
left out; a dict is a map, in its own order, None values left out; a list is a List, a set a Set,
a tuple an array of numbers (which differ only in the pretty form), an Enum its name, an
`ObjectKey` or Struct as a key an object.

Source: com.alibaba:fastjson:1.2.69, SerializeWriter, MapSerializer, JavaBeanSerializer
"""

# Over 400 lines: three ways to write, two of them in steps, too.

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from enum import Enum
from functools import lru_cache
from math import isfinite
from typing import Any, TypeGuard

import msgspec

from fakemq.protocol.fastjson_values import MAX_DEPTH
from fakemq.protocol.fastjson_values import JsonError as JsonError
from fakemq.protocol.fastjson_values import ObjectKey as ObjectKey
from fakemq.protocol.java import java_double_text
from fakemq.protocol.limits import PEER_JSON, JsonLimits


def loads(text: str | bytes | bytearray | memoryview, limits: JsonLimits = PEER_JSON) -> Any:
    """Return what ``text`` says; bytes are UTF-8, broken sequences replaced as Java replaces them.

    Objects are dicts and arrays lists. A key is a str, or an int, float, bool or None where it
    stands unquoted, or an `ObjectKey`. No text at all is None. Raises JsonError, never anything
    else. Differs: ``$ref`` and ``@type`` are ordinary keys, ``Set[…]``, ``new Date(…)`` and
    ``x'…'`` are errors; what nests deeper than 128 is refused, and so is what passes ``limits``.

    No other function reaches the slow reader, and each caller is bound by some limits.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    require_few_items(data, limits)
    try:
        # What is JSON by the standard means the same to both.
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    else:
        if not _is_deep(value):
            return value
    from fakemq.protocol import fastjson_keys

    try:
        value = fastjson_keys.decode(data, limits.quoted_bytes)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    else:
        if not _is_deep(value):
            return value
    if len(data) > limits.lax_bytes:
        raise JsonError(
            f"{len(data)} bytes of JSON that no standard allows; fakemq reads"
            f" {limits.lax_bytes} of it at most"
        )
    from fakemq.protocol.fastjson_reader import read  # only odd texts ever need it

    return read(text if isinstance(text, str) else data.decode("utf-8", "replace"))


def require_few_items(data: bytes, limits: JsonLimits) -> None:
    """Raise JsonError for a text with more items than the limits allow."""
    items = data.count(b",") + data.count(b"{") + data.count(b"[")
    if items > limits.items:
        raise JsonError(f"JSON of about {items} items; fakemq reads {limits.items} at most")


def _is_deep(value: object) -> bool:
    """Return whether a value nests so deep that the lax reader shall judge it."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            one
            for outer in level
            if isinstance(outer, (dict, list))
            for one in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def repeated_name(text: bytes) -> str | None:
    """Return a name that one object of a standard JSON text has twice; None if there is none."""
    from collections import Counter  # only the control port asks this
    from json import loads

    repeated: list[str] = []

    def take(pairs: list[tuple[str, object]]) -> None:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            repeated.append(Counter(names).most_common(1)[0][0])

    loads(text, object_pairs_hook=take)
    return repeated[0] if repeated else None


def dumps(value: object) -> str:
    """``value`` as JSON.toJSONString writes it. TypeError for what has no JSON."""
    out: list[str] = []
    _write(value, out)
    return "".join(out)


def dumps_pretty(value: object) -> str:
    """``value`` as JSON.toJSONString writes it with prettyFormat, as in the files of config/."""
    out: list[str] = []
    _write_pretty(value, out, "\n")
    return "".join(out)


def dumps_pretty_in_steps(value: object) -> Generator[None, None, str]:
    """`dumps_pretty`, of a value with many items: it yields between items of its outer levels."""
    out: list[str] = []
    return (yield from _joined(_write_pretty_in_steps(value, out, "\n", _STEP_LEVELS), out))


class WrittenItems:
    """The items of a map, which are JSON already: results of `pretty_item`, for `dumps_pretty`."""

    __slots__ = ("texts",)

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts


def pretty_item(key: object, value: object, depth: int) -> str:
    """Return an item of a map as `dumps_pretty` writes it; ``depth`` is how many maps it is in."""
    out: list[str] = []
    line = "\n" + "\t" * (depth - 1)
    _write_pretty_key(key, out, line)
    _write_pretty(value, out, line + "\t")
    return "".join(out)


def dumps_standard(value: object) -> str:
    """``value`` in standard JSON: every key quoted, maps sorted, and only ASCII.

    fastjson's BrowserCompatible, QuoteFieldNames, SkipTransientField and MapSortField together.

    Source: namesrv/processor/DefaultRequestProcessor.java#getRouteInfoByTopic (4.9.7)
    """
    out: list[str] = []
    _write_standard(value, out)
    return "".join(out)


def dumps_standard_in_steps(value: object) -> Generator[None, None, str]:
    """`dumps_standard`, of a value with many items: it yields between items of its outer levels."""
    out: list[str] = []
    return (yield from _joined(_write_standard_in_steps(value, out, _STEP_LEVELS), out))


def encode(value: object) -> bytes:
    """`dumps` as the bytes of a body."""
    # "replace" writes a question mark for half a surrogate pair; so does Java.
    return dumps(value).encode("utf-8", "replace")


def encode_in_steps(value: object) -> Generator[None, None, bytes]:
    """`encode`, of a value with many items: it yields between items of its outer levels."""
    out: list[str] = []
    text = yield from _joined(_write_in_steps(value, out, _STEP_LEVELS), out)
    return text.encode("utf-8", "replace")


_JOINED_A_STEP = 10_000


def _joined(steps: Generator[None, None, None], out: list[str]) -> Generator[None, None, str]:
    """Return the text that ``steps`` write to ``out``: to join millions at the end takes 0.1 s."""
    parts = []
    for _ in steps:
        if len(out) >= _JOINED_A_STEP:
            parts.append("".join(out))
            out.clear()
        yield
    return "".join((*parts, *out))


# -- scalars ------------------------------------------------------------------------------------

_ESCAPES = {code: f"\\u{code:04X}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}
_ESCAPES |= {ord("\b"): "\\b", ord("\t"): "\\t", ord("\n"): "\\n", ord("\f"): "\\f"}
_ESCAPES |= {ord("\r"): "\\r", ord('"'): '\\"', ord("\\"): "\\\\"}
_SAFE_INTEGER = (1 << 53) - 1
"""What a browser can count to; the standard form puts anything beyond into quotes."""

_STANDARD_ESCAPES = _ESCAPES | {ord("/"): "\\/"}


def _quote(text: str) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{text.translate(_ESCAPES)}"'


def _quote_standard(text: str) -> str:
    text = text.translate(_STANDARD_ESCAPES)
    if not text.isascii():
        units = text.encode("utf-16-be", "surrogatepass")
        codes = (high << 8 | low for high, low in zip(units[::2], units[1::2], strict=True))
        text = "".join(chr(code) if code < 0x80 else f"\\u{code:04X}" for code in codes)
    return f'"{text}"'


def _number(value: float) -> str:
    return java_double_text(value) if isfinite(value) else "null"


def _scalar(value: object) -> str | None:
    """Return the JSON of what is neither text, map nor list; None for those."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, Enum):
        return f'"{value.name}"'
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    return None


# -- beans --------------------------------------------------------------------------------------

_fields: dict[type, tuple[tuple[str, str], ...]] = {}


def bean_items(bean: msgspec.Struct) -> Iterable[tuple[str, object]]:
    """Wire name and value of every field that is not None, sorted by wire name."""
    kind = type(bean)
    fields = _fields.get(kind)
    if fields is None:
        names = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
        fields = _fields[kind] = tuple(sorted(names))
    for wire_name, name in fields:
        value = getattr(bean, name)
        if value is not None:
            yield wire_name, value


NAMED = "named"
"""The attribute of a bean's class whose beans differ in their first field, a name, and are alike in
all others. There may be thousands in one text, which is then written several times as fast."""


def _write_named(bean: msgspec.Struct, out: list[str], line: str | None = None) -> bool:
    """Write a bean of a class that is `NAMED`; return False if it is none. ``line``: see below."""
    kind = type(bean)
    if not getattr(kind, NAMED, False):
        return False
    name, *settings = msgspec.structs.astuple(bean)
    if type(name) is not str:
        return False
    try:
        before, after = _around_name(kind, tuple(settings), line)
    except TypeError:  # maps and beans, of which later releases have some, cannot be remembered
        return False
    out += (before, _quote(name), after)
    return True


@lru_cache(maxsize=256)
def _around_name(kind: type, settings: tuple[object, ...], line: str | None) -> tuple[str, str]:
    """Return what stands before and after the name of a bean; ``line`` is None if not pretty."""
    items, out = bean_items(kind("", *settings)), list[str]()
    if line is None:
        _write_items(items, out)
    else:
        _write_pretty_items(items, out, line)
    # Inside a text every quotation mark has a backslash before it, so this stands there once.
    before, mark, after = "".join(out).partition(f'"{kind.__struct_encode_fields__[0]}":""')  # type: ignore[attr-defined]
    return before + mark[:-2], after


_WHOLE = frozenset((int,))


def _has_only_numbers(value: object) -> TypeGuard[dict[int, int]]:
    """Return whether a value is a map of whole numbers: one text may have 100,000 such maps."""
    return (
        type(value) is dict
        and _WHOLE.issuperset(map(type, value))
        and _WHOLE.issuperset(map(type, value.values()))
    )


def _text_of_numbers(numbers: dict[int, int]) -> str:
    """Return the JSON of a map; Python's own text, which is made fast, differs in spaces only."""
    return repr(numbers).replace(" ", "")


def _items(value: object) -> Iterable[tuple[Any, object]] | None:
    """Return what an object is made of; None if ``value`` is none."""
    if isinstance(value, dict):
        return [(key, one) for key, one in value.items() if one is not None]
    if isinstance(value, msgspec.Struct):
        return bean_items(value)
    return None


def _all_items(value: object) -> Iterable[tuple[Any, object]] | None:
    """As `_items`, also those of a map that are None: a copy takes a tenth of the time."""
    return list(value.items()) if isinstance(value, dict) else _items(value)


def _elements(value: object) -> Iterable[object]:
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    raise TypeError(f"no JSON for {value!r}, a {type(value).__name__}")


# -- the three ways to write --------------------------------------------------------------------


def _write(value: object, out: list[str]) -> None:
    if isinstance(value, str) and not isinstance(value, Enum):
        out.append(_quote(value))
    elif (scalar := _scalar(value)) is not None:
        out.append(scalar)
    elif isinstance(value, msgspec.Struct) and _write_named(value, out):
        pass
    elif _has_only_numbers(value):
        out.append(_text_of_numbers(value))
    elif (items := _items(value)) is not None:
        _write_items(items, out)
    else:
        _write_elements(value, out, _write)


def _write_items(items: Iterable[tuple[Any, object]], out: list[str]) -> None:
    mark = "{"
    for key, one in items:
        out.append(mark)
        if type(key) is str:
            out.append(_quote(key))
        else:
            _write(key, out)
        out.append(":")
        # A broker writes such values for each pop and each acknowledgement: most are these.
        if type(one) is int:
            out.append(str(one))
        elif type(one) is str:
            out.append(_quote(one))
        else:
            _write(one, out)
        mark = ","
    out.append("{}" if mark == "{" else "}")


_STEP_LEVELS = 6
"""As deep as the queues in the statistics of a broker's groups."""


_SHORT = 100
"""A map of so few numbers is written in one step."""


def _is_short(value: object) -> bool:
    return isinstance(value, dict) and len(value) <= _SHORT and _has_only_numbers(value)


def _write_in_steps(value: object, out: list[str], levels: int) -> Generator[None, None, None]:
    if isinstance(value, msgspec.Struct) and _write_named(value, out):
        return
    items = _all_items(value) if levels and not _is_short(value) else None
    if items is not None:
        mark = "{"
        for key, one in items:
            if one is None:
                continue
            out.append(mark)
            _write(key, out)
            out.append(":")
            if type(one) is str:  # no generator for each of 100,000 texts
                out.append(_quote(one))
            else:
                yield from _write_in_steps(one, out, levels - 1)
            mark = ","
            yield
        out.append("{}" if mark == "{" else "}")
    elif levels and isinstance(value, list):
        mark = "["
        for one in value:
            out.append(mark)
            if type(one) is str:
                out.append(_quote(one))
            else:
                yield from _write_in_steps(one, out, levels - 1)
            mark = ","
            yield
        out.append("[]" if mark == "[" else "]")
    else:
        _write(value, out)


def _write_elements(
    value: object, out: list[str], write: Callable[[object, list[str]], None]
) -> None:
    mark = "["
    for one in _elements(value):
        out.append(mark)
        write(one, out)
        mark = ","
    out.append("[]" if mark == "[" else "]")


def _write_standard(value: object, out: list[str]) -> None:
    if isinstance(value, str) and not isinstance(value, Enum):
        out.append(_quote_standard(value))
    elif isinstance(value, int) and abs(value) > _SAFE_INTEGER:
        out.append(f'"{value}"')
    elif (scalar := _scalar(value)) is not None:
        out.append(scalar)
    elif (items := _items(value)) is not None:
        mark = "{"
        for key, one in _sorted_by_key(items):
            out.append(mark)
            out.append(_quote_standard(key if isinstance(key, str) else dumps(key)))
            out.append(":")
            _write_standard(one, out)
            mark = ","
        out.append("{}" if mark == "{" else "}")
    else:
        _write_elements(value, out, _write_standard)


def _write_standard_in_steps(
    value: object, out: list[str], levels: int
) -> Generator[None, None, None]:
    items = _items(value) if levels else None
    if items is not None:
        mark = "{"
        for key, one in _sorted_by_key(items):
            out.append(mark)
            out.append(_quote_standard(key if isinstance(key, str) else dumps(key)))
            out.append(":")
            yield from _write_standard_in_steps(one, out, levels - 1)
            mark = ","
            yield
        out.append("{}" if mark == "{" else "}")
    elif levels and isinstance(value, list):
        mark = "["
        for one in value:
            out.append(mark)
            yield from _write_standard_in_steps(one, out, levels - 1)
            mark = ","
            yield
        out.append("[]" if mark == "[" else "]")
    else:
        _write_standard(value, out)


def _sorted_by_key(items: Iterable[tuple[Any, object]]) -> list[tuple[Any, object]]:
    # Java sorts in a TreeMap, and leaves a map alone whose keys do not compare.
    found = list(items)
    try:
        found.sort(key=lambda item: _sort_key(item[0]))
    except TypeError:
        return found
    return found


def _sort_key(key: Any) -> Any:
    # Java compares UTF-16 units, not code points.
    return key.encode("utf-16-be", "surrogatepass") if isinstance(key, str) else key


def _write_pretty(value: object, out: list[str], line: str) -> None:
    """``line`` is the newline and the tabs that a line begins with here."""
    if isinstance(value, str) and not isinstance(value, Enum):
        out.append(_quote(value))
    elif (scalar := _scalar(value)) is not None:
        out.append(scalar)
    elif isinstance(value, msgspec.Struct) and _write_named(value, out, line):
        pass
    elif value and _has_only_numbers(value):
        out += (_text_of_numbers(value)[:-1], line, "}")
    elif (items := _items(value)) is not None:
        _write_pretty_items(items, out, line)
    elif isinstance(value, (set, frozenset, tuple)):
        # fastjson writes the elements of a Set or of an int[] on one line.
        _write_elements(value, out, lambda one, to: _write_pretty(one, to, line))
    elif isinstance(value, WrittenItems):
        out += ("{", ",".join(value.texts), f"{line}}}" if value.texts else "}")
    else:
        mark = "["
        for one in _elements(value):
            out.append(f"{mark}{line}\t")
            _write_pretty(one, out, line + "\t")
            mark = ","
        out.append("[]" if mark == "[" else f"{line}]")


def _write_pretty_items(items: Iterable[tuple[Any, object]], out: list[str], line: str) -> None:
    mark = "{"
    for key, one in items:
        out.append(mark)
        _write_pretty_key(key, out, line)
        _write_pretty(one, out, line + "\t")
        mark = ","
    out.append("{}" if mark == "{" else f"{line}}}")


def _write_pretty_key(key: object, out: list[str], line: str) -> None:
    if isinstance(key, str):
        out.append(f"{line}\t{_quote(key)}")
    else:
        # Nor does a key that is no String get one.
        _write_pretty(key, out, line + "\t")
    out.append(":")


def _write_pretty_in_steps(
    value: object, out: list[str], line: str, levels: int
) -> Generator[None, None, None]:
    if isinstance(value, msgspec.Struct) and _write_named(value, out, line):
        return
    items = _all_items(value) if levels and not _is_short(value) else None
    if items is None:
        _write_pretty(value, out, line)
        return
    mark = "{"
    for key, one in items:
        if one is None:
            continue
        out.append(mark)
        _write_pretty_key(key, out, line)
        yield from _write_pretty_in_steps(one, out, line + "\t", levels - 1)
        mark = ","
        yield
    out.append("{}" if mark == "{" else f"{line}}}")
