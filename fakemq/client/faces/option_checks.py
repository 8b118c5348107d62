"""Checks of options that are neither numbers, texts nor flags: each returns the value to use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from enum import Enum
from typing import TypeVar

from fakemq.client.arguments import topic_name
from fakemq.config.checked import path_text, text, whole
from fakemq.errors import ConfigError, did_you_mean
from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.topics import TOPIC_CHARACTERS, topic_name_error

E = TypeVar("E", bound=Enum)


def _namespace(name: str, value: object) -> str:
    space = text(name, value)
    if space and topic_name_error(space) is not None:
        raise ConfigError(f"{name}={value!r}: expected up to 127 of {TOPIC_CHARACTERS}, or none")
    return space


def _seed(name: str, value: object) -> int | None:
    return None if value is None else whole(name, value, None)


def _codes(name: str, value: object) -> frozenset[int]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
        raise ConfigError(
            f"{name}={value!r}: expected several response codes, such as {{1, 14}} or set()"
        )
    return frozenset(whole(f"a code of {name}", one, 0, INT_MAX) for one in value)


def _times(name: str, value: object) -> tuple[int, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection) or not value:
        raise ConfigError(f"{name}={value!r}: expected several milliseconds, such as (50, 100)")
    return tuple(whole(f"a time of {name}", one, 0, INT_MAX) for one in value)


def _timestamp(name: str, value: object) -> str | datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    from fakemq.client.consuming.start_offset import is_timestamp

    if not isinstance(value, str) or not is_timestamp(value):
        raise ConfigError(
            f"{name}={value!r}: expected local time as yyyyMMddHHmmss, such as '20240229123000',"
            " or a datetime"
        )
    return value


def _directory(name: str, value: object) -> str | None:
    return path_text(name, value)  # type: ignore[arg-type]  # it refuses other types


def _allocate(name: str, value: object) -> object:
    from fakemq.client.consuming.allocation import by_name  # no producer has one
    from fakemq.client.faces.functions import Kind, require_function

    if isinstance(value, str):
        return by_name(value)
    arguments = ("group", "member", "queues", "members")
    require_function(name, value, arguments, Kind.PLAIN, "a consumer")
    return value


def _member(kind: type[E]) -> Callable[[str, object], E]:
    def check(name: str, value: object) -> E:
        if not isinstance(value, kind):
            hint = did_you_mean(str(value), [one.name for one in kind])
            raise ConfigError(f"{name}={value!r}: expected a {kind.__name__}{hint}")
        return value

    return check


CHECKS: Mapping[str, Callable[[str, object], object]] = {
    "allocate": _allocate,
    "consume_timestamp": _timestamp,
    "create_topic_key": topic_name,
    "language": _member(LanguageCode),
    "latency_max_ms": _times,
    "namespace": _namespace,
    "not_available_duration_ms": _times,
    "offsets_directory": _directory,
    "retry_response_codes": _codes,
    "seed": _seed,
    "serialize_type": _member(SerializeType),
    "trace_topic": topic_name,
}
"""By option. Options that are not here are checked by their type and limits."""
