"""Messages of gRPC as lines of a transcript: one for each field, by its path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from conformance.normalise import (
    NEAR_MS,
    ORDER_REVIVE_QUEUE,
    Normaliser,
    recall_handle,
    shortened,
    without_addresses,
    without_offset_ids,
    without_revive_queue,
    without_stack,
    without_times,
)

HANDLE_FIELDS = 9
"""Of a receipt handle: a checkpoint's, and where in the log the message lies."""

_WHERE = re.compile(r"\. [\w.$<>]+\((?:\w+\.java:[0-9]+|Unknown Source|Native Method)\)")
"""What an unexpected exception of a proxy ends with: the line of code that threw it."""


def lines_of(message: Message, normaliser: Normaliser) -> list[str]:
    """Return the fields of a message that are set."""
    return [f"{path}: {shortened(text)}" for path, text in _fields(message, "", normaliser)]


def status_text(text: str, normaliser: Normaliser) -> str:
    """Return what a status says, without lines of code, addresses, ids and times."""
    text = _WHERE.sub(". <where>", text)
    if text.startswith("java."):
        text = without_stack(text)
    text = normaliser.ids.named(without_offset_ids(text, normaliser.names, normaliser.places))
    text = without_times(without_addresses(text, normaliser.names), normaliser.now_ms)
    return text.replace("\n", "\\n")


def receipt_handle(text: str, normaliser: Normaliser) -> str:
    """Return what a receipt handle says; what is none stays as it is."""
    parts = text.split(" ")
    if len(parts) < HANDLE_FIELDS or not all(parts[one].isdigit() for one in (1, 8)):
        return without_times(without_revive_queue(text), normaliser.now_ms)
    start, popped_ms, invisible_ms, revive, retry, broker, queue, offset, place, *more = parts
    if revive == ORDER_REVIVE_QUEUE:
        invisible_ms = "<since its pop>"  # in order a change counts from the pop
    else:
        revive = "<revive queue>"
    popped = without_times(popped_ms, normaliser.now_ms)
    if popped == popped_ms:
        return text
    where = normaliser.places.name(broker, int(place))
    return " ".join(
        (start, popped, invisible_ms, revive, retry, broker, queue, offset, where, *more)
    )


def _fields(message: Message, prefix: str, normaliser: Normaliser) -> Iterator[tuple[str, str]]:
    for field, value in message.ListFields():
        path = f"{prefix}{field.name}"
        if _is_map(field):
            for key in sorted(value):
                yield f"{path}[{_readable(key)}]", _readable(status_text(value[key], normaliser))
        elif not field.is_repeated:
            yield from _value(field, value, path, normaliser)
        elif field.message_type is None or field.message_type.name in _WORDS:
            yield path, ", ".join(_word(field, one, normaliser) for one in value)
        else:
            for number, one in enumerate(value):
                yield from _value(field, one, f"{path}[{number}]", normaliser)


def _value(
    field: FieldDescriptor, value: Any, path: str, normaliser: Normaliser
) -> Iterator[tuple[str, str]]:
    if field.message_type is None or field.message_type.name in _WORDS:
        yield path, _word(field, value, normaliser)
    elif not value.ListFields():
        yield path, "{}"
    else:
        yield from _fields(value, f"{path}.", normaliser)


def _is_map(field: FieldDescriptor) -> bool:
    kind = field.message_type
    return kind is not None and kind.GetOptions().map_entry


def _word(field: FieldDescriptor, value: Any, normaliser: Normaliser) -> str:
    """Return a value that is one word of the transcript."""
    if field.message_type is not None:
        return _WORDS[field.message_type.name](value, normaliser)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return f"{known.name} ({value})" if known else str(value)
    if isinstance(value, bytes):
        return repr(value) if len(value) <= 100 else f"{value[:40]!r} of {len(value)} bytes"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if not isinstance(value, str):
        return str(value)
    if field.name == "receipt_handle":
        return _readable(receipt_handle(value, normaliser))
    if field.name == "recall_handle":
        return _readable(normaliser.text(recall_handle(value)))
    return _readable(status_text(value, normaliser))


def _timestamp(value: Any, normaliser: Normaliser) -> str:
    ms = value.seconds * 1000 + value.nanos // 1_000_000
    return "<now>" if abs(ms - normaliser.now_ms) < NEAR_MS else f"{ms} ms"


def _duration(value: Any, _: Normaliser) -> str:
    return f"{value.seconds + value.nanos / 1e9:g} s"


def _resource(value: Any, _: Normaliser) -> str:
    space = value.resource_namespace
    return _readable(f"{space and f'{space} / '}{value.name}")


def _endpoints(value: Any, normaliser: Normaliser) -> str:
    ports = {addr.rpartition(":")[2]: name for addr, name in normaliser.names.items()}
    addresses = []
    for one in value.addresses:
        name = ports.get(str(one.port))
        addresses.append(f"{one.host}:{one.port if name is None else f'<port of {name}>'}")
    scheme = value.DESCRIPTOR.fields_by_name["scheme"].enum_type.values_by_number[value.scheme]
    return f"{scheme.name} {', '.join(addresses) or 'no address'}"


_WORDS: Mapping[str, Callable[[Any, Normaliser], str]] = {
    "Timestamp": _timestamp,
    "Duration": _duration,
    "Resource": _resource,
    "Endpoints": _endpoints,
}
"""Messages that are one word of the transcript, by name."""


def _readable(text: str) -> str:
    return text if text.isprintable() and text.strip() == text and text else repr(text)
