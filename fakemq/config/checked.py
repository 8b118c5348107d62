"""Checks of users' values: each returns the value, or raises ConfigError unless it says otherwise.

The error contains the value and describes valid ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fakemq.clock.durations import written_duration
from fakemq.errors import ArgumentError, ConfigError, did_you_mean
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_int
from fakemq.protocol.properties import DELAY_TIME_LEVEL, NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR
from fakemq.protocol.topics import topic_name_error

if TYPE_CHECKING:
    from fakemq.config.option_types import TopicSettings
    from fakemq.reference import Reference

MAX_QUEUES = 65_536
"""The most queues of a topic at one broker that a user may ask for. A route says a number of
queues, and a client makes an object of each.
"""
DEFAULT_QUEUES = 8


def whole(name: str, value: object, low: int | None, high: int | None = None) -> int:
    """Return a whole number within limits; raise ConfigError for anything else, also for True."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or (low is not None and value < low)
        or (high is not None and value > high)
    ):
        limits = "" if low is None else f", {low} or more"
        limits = limits if high is None else f" from {low} to {high}"
        raise ConfigError(f"{name}={value!r}: expected a whole number{limits}")
    return value


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise ConfigError(f"{name}={value!r}: expected {' or '.join(choices)}")
    return value


def flag(name: str, value: object) -> bool:
    """Return a bool; raise ConfigError for other values, such as 1."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name}={value!r}: expected True or False")
    return value


def text(name: str, value: object) -> str:
    """Return a text that can be sent."""
    if not isinstance(value, str):
        raise ConfigError(f"{name}={value!r}: expected text")
    if not value.isascii():
        utf8(name, value)
    return value


def utf8(name: str, value: str) -> bytes:
    """Return the bytes of a text; raise ArgumentError for half a surrogate pair, which has none."""
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"{name}: character {error.start} is {value[error.start]!r}, half a surrogate pair,"
            " which UTF-8 does not have"
        ) from None


def several_texts(name: str, value: object) -> list[str]:
    """Return one text, or several, as a list."""
    if isinstance(value, str):
        return [text(name, value)] if value else []
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise ConfigError(f"{name}={value!r}: expected text, or several texts")
    return [text(name, one) for one in value]


def payloads(bodies: Iterable[bytes | str]) -> list[bytes]:
    """Return the bodies to seed, text as UTF-8; raise TypeError for one body instead of several."""
    if isinstance(bodies, bytes | bytearray | str):
        raise ArgumentError(f"expected a list of bodies, such as [{bodies!r}], not {bodies!r}")
    found: list[bytes] = []
    for body in bodies:  # of 150,000: one call each, and no text that only an error needs
        if isinstance(body, str):
            try:
                found.append(body.encode())
            except UnicodeEncodeError:
                utf8(f"body {len(found)}", body)
        elif isinstance(body, (bytes, bytearray)):
            found.append(bytes(body))
        else:
            raise ArgumentError(f"expected bodies of bytes or text, not {body!r}")
    return found


def delay_level(delay_ms: int, shown: object, levels: Mapping[int, int]) -> int:
    """Return the level of a delay; ``shown`` is how the user wrote it, 0 ms is level 0.

    ``levels`` has milliseconds by level. Raise ConfigError for a delay that no level has.
    """
    if delay_ms == 0:
        return 0
    for level, ms in levels.items():
        if ms == delay_ms:
            return level
    shorter = max((ms for ms in levels.values() if ms < delay_ms), default=None)
    longer = min((ms for ms in levels.values() if ms > delay_ms), default=None)
    near = [written_duration(ms) for ms in (shorter, longer) if ms is not None]
    wait = "waits" if len(near) == 1 else "wait"
    nearest = f"; the nearest {wait} {' and '.join(near)}" if near else ""
    raise ConfigError(
        f"delay={shown!r}: no delay level waits so long{nearest}. A timer message of RocketMQ 5,"
        " with the property TIMER_DELAY_MS, may have any delay"
    )


def _is_host(given: str) -> bool:
    try:
        if ":" in given:
            from ipaddress import IPv6Address

            IPv6Address(given.removeprefix("[").removesuffix("]"))
            return True
        if not given.isascii():
            given.encode("idna")  # as a socket encodes it
    except ValueError:
        return False
    return bool(given) and all(not one.isascii() or one.isalnum() or one in "-._" for one in given)


def host_text(name: str, value: object) -> str:
    """Return the text of a host name or address, without a port."""
    found = text(name, value)
    if not _is_host(found):
        raise ConfigError(f"{name}={value!r}: expected a host name or an address")
    return found


def share(name: str, value: object) -> float:
    """Return a probability: more than 0, at most 1."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (isinstance(value, int | float) and is_number and 0 < value <= 1):
        raise ConfigError(f"{name}={value!r}: expected more than 0 and at most 1")
    return value


def content(name: str, value: object) -> bytes:
    """Return bytes; a text becomes UTF-8."""
    if not isinstance(value, bytes | str):
        raise ConfigError(f"{name}={value!r}: expected bytes or text")
    return utf8(name, value) if isinstance(value, str) else value


def fields(name: str, value: object) -> dict[str, str]:
    """Return header fields as on the wire, from names with texts, numbers or booleans."""
    if not isinstance(value, Mapping):
        raise ConfigError(
            f'{name}={value!r}: expected names and values, as in {{"queueOffset": 7}}'
        )
    found = {}
    for key, of in value.items():
        if not (isinstance(key, str) and key and isinstance(of, str | int | float)):
            raise ConfigError(
                f"{name}: {key!r}: {of!r}: expected a name, and a text, a number, True or False"
            )
        found[key] = str(of).lower() if isinstance(of, bool) else str(of)
    return found


def path_text(name: str, value: str | os.PathLike[str] | None) -> str | None:
    """Return a path as text, None for None."""
    if value is not None and not isinstance(value, str | os.PathLike):
        raise ConfigError(f"{name}={value!r}: expected a path")
    path = value if value is None else os.fspath(value)
    if not isinstance(path, str | None):
        raise ConfigError(f"{name}={value!r}: expected a path as text")
    if path == "":
        raise ConfigError(f"{name} is empty: expected a path")
    if path is not None and not (path.isprintable() or _is_utf8(path)):
        raise ConfigError(f"{name}={path!r}: expected a path in UTF-8, without NUL")
    return path


def _is_utf8(path: str) -> bool:
    try:
        return b"\0" not in path.encode()
    except UnicodeEncodeError:
        return False


# -- topics ---------------------------------------------------------------------------------------


class TopicSpec(NamedTuple):
    """A topic at each master."""

    queues: int = DEFAULT_QUEUES
    message_type: str | None = None
    """The attribute ``message.type``; None leaves it as it is, which is ``NORMAL`` at first."""

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes that it changes."""
        return {} if self.message_type is None else {"message.type": self.message_type}


def declared_topics(
    topics: Mapping[str, int | TopicSettings] | Iterable[str], reference: Reference | None = None
) -> dict[str, TopicSpec]:
    """Return the topics of an option or an argument.

    It is a mapping of names to queues, or to ``{"queues": 4, "message_type": "FIFO"}``, or lists
    texts NAME:QUEUES and NAME:QUEUES:TYPE. Raise ConfigError, also for types that topics of
    ``reference`` cannot have; None stands for a release that is not known.
    """
    if not isinstance(topics, Iterable):
        raise ConfigError(f'topics={topics!r}: expected {{"orders": 8}}, or NAME:QUEUES texts')
    if not isinstance(topics, Mapping):
        topics = _read_texts([topics] if isinstance(topics, str) else topics)
    return {name: checked_topic(name, _spec(name, of), reference) for name, of in topics.items()}


def _read_texts(texts: Iterable[str]) -> dict[str, TopicSettings]:
    found: dict[str, TopicSettings] = {}
    for text in texts:
        name, *others = str(text).split(":")
        number = others[0] if name and len(others) in (1, 2) else ""
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise ConfigError(
                f"topic {text!r}: expected NAME:QUEUES, such as orders:8, or NAME:QUEUES:TYPE;"
                f" in Python, better topics={{{name or 'orders'!r}: 8}}"
            )
        if name in found:
            raise ConfigError(f"topic {name} is given twice; once is enough")
        found[name] = {"queues": int(number)}
        if len(others) == 2:
            found[name]["message_type"] = others[1]
    return found


def _spec(name: str, of: int | TopicSettings) -> TopicSpec:
    if not isinstance(of, Mapping):
        return TopicSpec(of)
    for key in of:
        if key not in TopicSpec._fields:
            raise ConfigError(
                f"topic {name!r} has no {key}{did_you_mean(str(key), TopicSpec._fields)}"
            )
    return TopicSpec(of.get("queues", DEFAULT_QUEUES), of.get("message_type"))


def checked_topic(name: str, spec: TopicSpec, reference: Reference | None = None) -> TopicSpec:
    """Return the topic; raise ConfigError for one that cannot be, as `declared_topics`."""
    error = topic_name_error(name)
    if error is not None:
        raise ConfigError(f"topic {name!r}: {error}")
    whole(f"queues of topic {name}", spec.queues, 1, MAX_QUEUES)
    if spec.message_type is not None:
        try:
            check_message_type(spec.message_type, reference)
        except ConfigError as wrong:
            raise ConfigError(f"topic {name}: {wrong}") from None
    return spec


def check_message_type(value: str, reference: Reference | None) -> None:
    """Raise ConfigError for a type that does not exist, or that ``reference`` does not know."""
    from fakemq.protocol.message_types import MESSAGE_TYPES  # few topics have one

    if value not in MESSAGE_TYPES:
        near = did_you_mean(str(value), MESSAGE_TYPES)
        raise ConfigError(f"no message type is called {value!r}{near}")
    if reference is None or value in reference.message_types:
        return
    if reference.message_types:
        raise ConfigError(f"topics of {reference.name} cannot be of the type {value}")
    raise ConfigError(
        f"topics of {reference.name} have no message types: only those of RocketMQ 5 do"
    )


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
