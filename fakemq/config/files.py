"""Reading configs: ``.properties`` files and mappings of the same keys, checked with their places.

Java silently ignores an unknown key and a value that it cannot read. A test could then pass against
a broker with a wrong config. Here an unknown key is a warning, and a wrong value an error. The keys
that RocketMQ knows and that do nothing here are one warning for each source.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from fakemq.config.model import (
    BrokerConfig,
    Config,
    Key,
    NamesrvConfig,
    Value,
    keys_of,
    parsed,
    text_of,
)
from fakemq.errors import ConfigError, ConfigWarning, NotYetSupported, did_you_mean, printable

ConfigSource: TypeAlias = "str | os.PathLike[str] | Mapping[str, object]"
"""The path of a ``.properties`` file, or a mapping of RocketMQ's keys to values or their text."""

Warn: TypeAlias = Callable[[str], None]

_MOST_UNKNOWN = 20
"""This number of unknown keys get a warning each: more of them are no config."""

_WHOSE: dict[type[Config], str] = {BrokerConfig: "broker's", NamesrvConfig: "name server's"}
"""Configs of the default reference; those of others are subclasses."""


class Settings:
    """The checked settings of one source: values by attribute, the place of each, and all texts."""

    __slots__ = ("name", "others", "texts", "values", "where")

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.values: dict[str, Value] = {}
        self.others: dict[str, Value] = {}
        """The values for another kind of node; see ``also`` of `load`."""
        self.where: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        """By Java name, unknown keys too."""


def warn_user(message: str) -> None:
    """Issue a ConfigWarning. Python uses this; the command line prints the text instead."""
    warnings.warn(message, ConfigWarning, stacklevel=2)


@contextmanager
def complaining(warn: Warn, *, strict: bool) -> Iterator[Warn]:
    """Yield a function for settings in vain: it calls ``warn``.

    With ``strict`` all of them are one ConfigError at the end, a line each, and the last line is
    the ConfigError that ends the block, if one does.
    """
    lines: list[str] = []

    def complain(message: str) -> None:
        (lines.append if strict else warn)(printable(message))

    try:
        yield complain
    except ConfigError as error:
        if not lines:
            raise
        lines.append(str(error))
    if lines:
        raise ConfigError("\n".join(lines))


def load(
    source: ConfigSource,
    kind: type[Config],
    *,
    name: str = "config",
    also: type[Config] | None = None,
    strict: bool = False,
    warn: Warn = warn_user,
) -> Settings:
    """Read and check one source for a broker or a name server.

    Keys that ``also`` has, another kind of node, are kept apart for it.

    ``name`` is the name of a mapping in errors; that of a file is its path. An unknown key is a
    warning, and so are all keys together that have no effect (those that are `rows.Idle`); with
    ``strict`` they are one ConfigError, with a line for each. Raise ConfigError also for an invalid
    value and for a file that cannot be read.
    """
    with complaining(warn, strict=strict) as complain:
        return _load(source, kind, name, complain, also)


def _load(
    source: ConfigSource,
    kind: type[Config],
    name: str,
    complain: Warn,
    also: type[Config] | None,
) -> Settings:
    if isinstance(source, Mapping):
        entries = iter([(name, str(key), text_of(value)) for key, value in source.items()])
    else:
        name = os.fspath(source)
        entries = file_entries(name)
    settings = Settings(name)
    known = keys_of(kind)
    of_others = {} if also is None else keys_of(also)
    meant = {**known, **of_others}
    unknown_keys = 0
    wrong: dict[str, str] = {}
    for where, key_name, text in entries:
        settings.texts[key_name] = text
        key = known.get(key_name)
        other = of_others.get(key_name)
        if other is not None:
            try:
                settings.others[other.attribute] = parsed(other, text, where)
            except ConfigError as error:
                wrong.setdefault(other.attribute, str(error))
            if key is None:
                continue
        if key is None:
            unknown_keys += 1
            if unknown_keys <= _MOST_UNKNOWN:
                complain(f"{where}: unknown key {key_name}: {_hint(key_name, kind, meant)}")
            continue
        try:
            settings.values[key.attribute] = parsed(key, text, where)
        except ConfigError as error:
            wrong.setdefault(key.attribute, str(error))
        settings.where[key.attribute] = where
    if unknown_keys > _MOST_UNKNOWN:
        more = unknown_keys - _MOST_UNKNOWN
        complain(f"{name}: {more} more unknown keys; expected lines such as brokerName=broker-a")
    if wrong:
        raise ConfigError("\n".join(wrong.values()))
    idle = idle_keys(kind, settings.values)
    if also is not None:
        idle = list(dict.fromkeys(idle + idle_keys(also, settings.others)))
    if idle:
        complain(f"{name}: without effect here, see docs/config.md: {', '.join(idle)}")
    return settings


def file_entries(path: str) -> Iterator[tuple[str, str, str]]:
    """Yield place, key and text of each line with a setting; raise ConfigError."""
    from fakemq.config.properties_text import EscapeError, entries  # many clusters have no file

    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ConfigError(f"{path}: cannot read this config: {error.strerror}") from None
    if b"\0" in content:
        raise ConfigError(
            f"{path}: this is no text: byte {content.index(0)} is 0; expected lines such as"
            " brokerName=broker-a"
        )
    try:
        for line, key, value in entries(content.decode("latin-1")):
            yield f"{path}:{line}", key, value
    except EscapeError as error:
        raise ConfigError(f"{path}:{error.line}: {error}") from None


def _hint(name: str, kind: type[Config], known: Mapping[str, Key]) -> str:
    """Return a hint for an unknown key: where it belongs, or which key may be meant."""
    for other, whose in _WHOSE.items():
        if not issubclass(kind, other) and name in keys_of(other):
            return f"it belongs in a {whose} file ({_java_class(keys_of(other)[name])})"
    return f"RocketMQ {kind.release} does not have it{did_you_mean(name, known)}"


def _java_class(key: Key) -> str:
    return key.table.__name__.removesuffix("Keys") + "Config"


# What a config key does here: it acts, it is accepted without effect, or it is refused.
#
# Its row says which (`fakemq.config.keys`); docs/config.md is made from the rows. Tests compare
# them with what the code reads.
def idle_keys(kind: type[Config], values: Mapping[str, Value]) -> list[str]:
    """Return Java's names of the keys that were set, other than to their default, in vain."""
    return [
        key.name
        for key in keys_of(kind).values()
        if key.attribute in values
        and values[key.attribute] != getattr(kind, key.attribute)
        and key.row.idle is not None
    ]


def missing(config: BrokerConfig) -> dict[str, str]:
    """Return the features that a broker needs and fakemq lacks: Java's key → the line of text."""
    lines = {}
    for key in keys_of(type(config)).values():
        value = getattr(config, key.attribute)
        if "Unsupported(" not in key.declared or value == getattr(type(config), key.attribute):
            continue
        refused = key.row.refused
        assert refused is not None
        yet = "" if refused.for_good else " yet"
        lines[key.name] = (
            f"{key.name}={text_of(value)} is not supported{yet}; supported: {refused.instead}"
        )
    return lines


def require_broker(config: BrokerConfig) -> None:
    """Raise NotYetSupported if this broker needs a missing feature."""
    for line in missing(config).values():
        raise NotYetSupported(f"{config.node_name}: {line}")
