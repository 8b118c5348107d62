"""Reading configs: ``.properties`` files and mappings of the same keys, checked with their places.

Java ignores an unknown key and a value it cannot read, both silently, and a test against a broker
set up wrongly passes for the wrong reason; here they are a warning and an error.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
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
from fakemq.errors import ConfigError, ConfigWarning, did_you_mean

ConfigSource: TypeAlias = "str | os.PathLike[str] | Mapping[str, object]"
"""The path of a ``.properties`` file, or a mapping of RocketMQ's keys to values or their text."""

Warn: TypeAlias = Callable[[str], None]

_WHOSE: dict[type[Config], str] = {BrokerConfig: "broker's", NamesrvConfig: "name server's"}


class Settings:
    """What one source sets, checked: values by attribute, and where each stands."""

    __slots__ = ("name", "values", "where")

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.values: dict[str, Value] = {}
        self.where: dict[str, str] = {}


def warn_user(message: str) -> None:
    """Give a ConfigWarning: the way for Python; the command line prints instead."""
    warnings.warn(message, ConfigWarning, stacklevel=2)


def load(
    source: ConfigSource,
    kind: type[Config],
    *,
    name: str = "config",
    strict: bool = False,
    warn: Warn = warn_user,
) -> Settings:
    """Read and check one source for a broker or a name server.

    ``name`` is what errors call a mapping (a file is called by its path). An unknown key is one
    warning, with ``strict`` a ConfigError; a value that cannot be is always a ConfigError, as is a
    file that cannot be read.
    """
    if isinstance(source, Mapping):
        entries = iter([(name, str(key), text_of(value)) for key, value in source.items()])
    else:
        name = os.fspath(source)
        entries = _file_entries(name)
    settings = Settings(name)
    known = keys_of(kind)
    for where, key_name, text in entries:
        key = known.get(key_name)
        if key is None:
            message = f"{where}: unknown key {key_name}: {_hint(key_name, kind)}"
            if strict:
                raise ConfigError(message)
            warn(message)
            continue
        settings.values[key.attribute] = parsed(key, text, where)
        settings.where[key.attribute] = where
    return settings


def _file_entries(path: str) -> Iterator[tuple[str, str, str]]:
    """Yield place, key and text of each line that sets something."""
    from javaproperties import KeyValue, parse

    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ConfigError(f"{path}: cannot read this config: {error.strerror}") from None
    line = 1
    try:
        for element in parse(content):
            if isinstance(element, KeyValue):
                yield f"{path}:{line}", element.key, element.value
            line += element.source.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    except ValueError as error:  # only what javaproperties says of \uXXXX reaches this
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path}:{line}: {error}; expected \\u and four hex digits") from None


def _hint(name: str, kind: type[Config]) -> str:
    """Say where an unknown key belongs, or which key it may stand for."""
    for other, whose in _WHOSE.items():
        if other is not kind and name in keys_of(other):
            return f"it belongs in a {whose} file ({_java_class(keys_of(other)[name])})"
    return f"RocketMQ 4.9.7 does not have it{did_you_mean(name, keys_of(kind))}"


def _java_class(key: Key) -> str:
    return key.table.__name__.removesuffix("Keys") + "Config"
