"""Texts that people and peers write: filters, properties, configs, ids, hosts, times."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from unittest.mock import patch

import javaproperties

from fakemq.broker.filters.sql_parser import compile_sql
from fakemq.broker.filters.sql_tokens import MQFilterError
from fakemq.clock.durations import duration_ms, instant_ms, size_bytes
from fakemq.config import files as config_files
from fakemq.config.checked import declared_topics
from fakemq.config.files import load
from fakemq.config.model import BrokerConfig, NamesrvConfig
from fakemq.config.updates import properties_of, update
from fakemq.dispatch.answers import Refused
from fakemq.errors import ConfigError
from fakemq.protocol.delay_levels import parse_delay_levels
from fakemq.protocol.errors import LocalProtocolError, NumberFormatError, RemoteProtocolError
from fakemq.protocol.header import parse_bool, parse_int, parse_long
from fakemq.protocol.hosts import format_host, parse_host, record_host
from fakemq.protocol.java import java_double_text, parse_double
from fakemq.protocol.message_id import create_offset_id, decode_offset_id, unique_id_time_ms
from fakemq.protocol.properties import (
    decode_properties,
    encode_properties_as_java,
)
from fakemq.protocol.subscription import SubscriptionError, build_subscription_data
from tests.fuzz import golden
from tests.fuzz.target import Target, Violation, chosen, outcome, same, sound, text_of
from tests.support import java_filters

# -- filters --------------------------------------------------------------------------------------


def sql(data: bytes) -> None:
    """A filter, NUL, properties: it compiles and says yes, no or nothing, or MQFilterError."""
    text, _, properties_text = text_of(data).partition("\0")
    condition = outcome(lambda: compile_sql.__wrapped__(text), MQFilterError)
    if condition is None:
        return
    properties = decode_properties(properties_text)
    try:
        value = condition.evaluate(properties)
    except (MQFilterError, RecursionError):  # which matches() takes for no
        value = None
    if value not in (True, False, None) or isinstance(value, float):
        raise Violation(f"{text!r} of {properties} is {value!r}")
    same("matches", condition.matches(properties), value is True)


def subscription(data: bytes) -> None:
    """A subscription by tags: each tag has its code."""
    text = text_of(data)
    made = outcome(lambda: build_subscription_data("orders", text), SubscriptionError)
    if made is not None and len(made.code_set) > len(made.tags_set):
        raise Violation(f"{text!r} has {made.tags_set} and {made.code_set}")


# -- properties -----------------------------------------------------------------------------------


def properties(data: bytes) -> None:
    """What was read comes back when it is written."""
    read = decode_properties(data.decode("utf-8", "replace"))
    same("read again", decode_properties(encode_properties_as_java(read)), read)


# -- configs --------------------------------------------------------------------------------------


def config(data: bytes) -> None:
    """A .properties file, of a broker or a name server; what is printed is read again."""
    kind = BrokerConfig if data[:1] <= b"n" else NamesrvConfig
    _write(data[1:])
    # Which key an unknown one is nearest to takes 10 ms, and is no matter of parsing.
    with patch.object(config_files, "_hint", lambda *_: "none"):
        settings = outcome(lambda: load(_FILE.name, kind, warn=lambda _: None), ConfigError)
    if settings is None:
        return
    made = kind()
    made.assign(settings.values)
    _write(made.printed().encode("latin-1"))
    again = kind()
    again.assign(load(_FILE.name, kind).values)
    same("printed and read again", again, made)


def config_update(data: bytes) -> None:
    """The properties in an admin's request change a config, or give warnings."""
    found = outcome(lambda: properties_of(data), Refused)
    if len(data) <= 2048:  # javaproperties takes too long for more lines
        text = data.decode("utf-8", "replace").encode().decode("latin-1")
        same("read at once", outcome(lambda: javaproperties.loads(text), ValueError), found)
    if found is not None:
        update(BrokerConfig(), found)
        update(NamesrvConfig(), found)


_FILE = tempfile.NamedTemporaryFile(suffix=".properties")  # noqa: SIM115  # as long as we run


def _write(data: bytes) -> None:
    descriptor = _FILE.fileno()
    os.pwrite(descriptor, data, 0)
    os.truncate(descriptor, len(data))


# -- short texts ----------------------------------------------------------------------------------


def _offset_id(text: str) -> None:
    read = decode_offset_id(text)
    same("written again", create_offset_id(read.store_host, read.physical_offset), text.upper())


def _host(text: str) -> None:
    read = parse_host(text)
    same("written again", parse_host(format_host(read)), read)


def _double(text: str) -> None:
    value = parse_double(text)
    same("written again", repr(parse_double(java_double_text(value))), repr(value))


SHORT: dict[str, tuple[Callable[[str], object], type[Exception], bytes]] = {
    "duration": (duration_ms, ConfigError, b"1h30m2.5s"),
    "size": (size_bytes, ConfigError, b"1.5GiB"),
    "instant": (instant_ms, ConfigError, b"2024-02-29T12:00:00.5+01:00"),
    "delays": (parse_delay_levels, ValueError, b"1s 5s 10m 2h -1d"),
    "topic": (lambda text: declared_topics([text]), ConfigError, b"orders:8"),
    "offset_id": (_offset_id, RemoteProtocolError, b"7F00000100002A9F0000000000000539"),
    "unique_id": (
        lambda text: unique_id_time_ms(text, 1_700_000_000_000),
        RemoteProtocolError,
        b"7F000001000A18B4AAC200000000FFFF",
    ),
    "host": (_host, LocalProtocolError, b"[::1]:10911"),
    "record_host": (lambda text: record_host(f"{text}:10911"), LocalProtocolError, b"127.0.0.1"),
    "int": (parse_int, NumberFormatError, b"-2147483648"),
    "long": (parse_long, NumberFormatError, b"9223372036854775807"),
    "bool": (parse_bool, NumberFormatError, b"TRUE"),
    "double": (_double, NumberFormatError, b" -0x1.8p3d"),
}


def short_text(data: bytes) -> None:
    """The reader that the first line names, on the rest."""
    _, (read, documented, _), rest = chosen(data, SHORT)
    outcome(lambda: read(text_of(rest)), documented)


# -- seeds ----------------------------------------------------------------------------------------


def _filters() -> Iterator[bytes]:
    for text, _ in islice(java_filters.texts("expression"), 0, None, 10):
        yield sound(text).encode() + b"\0a\x011\x02b\x01x\x02c\x011.5"


def _properties() -> Iterator[bytes]:
    for _, _, command in golden.commands():
        for name in ("properties", "i"):
            if name in command.ext_fields:
                yield command.ext_fields[name].encode()


def _configs() -> Iterator[bytes]:
    lines = BrokerConfig().printed().encode().splitlines(keepends=True)
    yield from (b"b" + b"".join(lines[at : at + 6]) for at in range(0, len(lines), 6))
    yield b"n" + NamesrvConfig().printed().encode()
    yield b"b# one\n!two\r\nbrokerName = a\\\n  b\\u00e9\nlistenPort:1\r"


_SQL = ("sql_tokens", "sql_parser", "sql_expressions")
_SQL_WORDS = tuple(
    b"( ) NOT AND OR BETWEEN IN IS NULL TRUE '' 'x' <> >= -- /* */ \n 0 9223372036854775808 1e400 "
    b".5 1L + - a b , \0 \x01 \x02".split(b" ")
)
_SHORT_TRACES = (
    *("fakemq.clock.durations", "delay_levels", "fakemq.config.checked", "message_id"),
    *("hosts", "java", "header"),
)

TARGETS = (
    Target("sql", sql, tuple(f"fakemq.broker.filters.{n}" for n in _SQL), _filters, _SQL_WORDS),
    Target("subscription", subscription, ("subscription",), lambda: [b"a || b", b"*", b"||"]),
    Target("properties", properties, ("properties", "java"), _properties, (b"\x01", b"\x02")),
    Target("config", config, ("fakemq.config.files", "fakemq.config.model"), _configs, runs=200),
    Target(
        "config_update",
        config_update,
        ("fakemq.config.updates", "fakemq.config.model"),
        _configs,
        runs=400,
    ),
    Target(
        "short_text",
        short_text,
        _SHORT_TRACES,
        lambda: [name.encode() + b"\n" + seed for name, (_, _, seed) in SHORT.items()],
    ),
)
