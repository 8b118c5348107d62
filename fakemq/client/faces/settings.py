"""From the options of a face to the settings of its core, with errors that name what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Literal, NamedTuple, TypeVar, get_args, get_origin

import msgspec

from fakemq.client.addresses import split_addr
from fakemq.client.arguments import topic_name
from fakemq.client.errors import RemotingConnectError
from fakemq.client.options import ClientConfig
from fakemq.config.checked import flag, one_of, path_text, text, whole
from fakemq.errors import ArgumentError, ConfigError, did_you_mean
from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.java import INT_MAX
from fakemq.protocol.topics import TOPIC_CHARACTERS, topic_name_error

_SIMPLE = {"bool": bool, "int": int, "str": str}

S = TypeVar("S", bound=msgspec.Struct)

CLIENT_OPTIONS = (
    *("access_key", "api_timeout_ms", "heartbeat_interval_ms", "language", "persist_interval_ms"),
    *("route_interval_ms", "secret_key", "security_token", "seed", "serialize_type", "version"),
    *("tls", "tls_ca_file", "tls_cert_file", "tls_check_host", "tls_key_file", "tls_key_password"),
    "vip_channel",
)
"""The fields of `ClientConfig` that a producer or consumer may set."""

NAMESRV_ENVIRONMENT = "NAMESRV_ADDR"
"""Source: common/MixAll.java#NAMESRV_ADDR_ENV (4.9.7)"""


BROADCAST_INSTANCE = "DEFAULT"
"""The instance name of a broadcasting consumer without one: its offsets are kept by client id, so
the id must be the same after a restart.

Source: client/impl/consumer/DefaultMQPushConsumerImpl.java#start (4.9.7)
"""


class Settled(NamedTuple):
    """The checked options of one face, apart from those of its core."""

    namesrv_addr: str
    instance_name: str
    """Empty for a client of its own."""
    client: ClientConfig


def settled_client(namesrv_addr: str | None, options: Mapping[str, object]) -> Settled:
    """Return the options that concern the client; those of a core may be among ``options``.

    Raise ConfigError if no name server is given, here or in the environment.
    """
    addrs = name_server_addrs(namesrv_addr)
    default = BROADCAST_INSTANCE if options.get("message_model") == "BROADCASTING" else ""
    instance_name = text("instance_name", options.get("instance_name", default))
    return Settled(addrs, instance_name, client_config(options))


def client_config(options: Mapping[str, object]) -> ClientConfig:
    """Return the options of a client, apart from its name servers."""
    return made(ClientConfig, {name: options[name] for name in CLIENT_OPTIONS if name in options})


def name_server_addrs(namesrv_addr: str | None) -> str:
    """Return the addresses of name servers as ``host:port;host:port``.

    As in Java, ``http://host:port`` is one of these too. Raise ConfigError for anything else.

    Source: client/ClientConfig.java#getNamesrvAddr (4.9.7)
    """
    where, addr = "namesrv_addr", namesrv_addr
    if addr is None:
        where, addr = NAMESRV_ENVIRONMENT, os.environ.get(NAMESRV_ENVIRONMENT)
    expected = "expected 'host:port', several joined by ';'"
    if not isinstance(addr, str) or not addr.replace(";", "").strip():
        other = f"; or None, and the same in the environment variable {NAMESRV_ENVIRONMENT}"
        if isinstance(namesrv_addr, str):
            other = ""
        raise ConfigError(f"namesrv_addr={namesrv_addr!r}: {expected}{other}")
    if addr.strip().startswith("http://"):
        addr = addr.strip().rpartition("/")[2]
    addrs = [one.strip() for one in addr.split(";") if one.strip()]
    for one in addrs:
        try:
            split_addr(one)
        except RemotingConnectError:
            raise ConfigError(f"{where}={one!r}: {expected}") from None
    return ";".join(addrs)


def made(settings: type[S], options: Mapping[str, object]) -> S:
    """Return settings of checked options; raise ConfigError or TypeError for a wrong one."""
    hints = _hints(settings)
    limits = vars(sys.modules[settings.__module__])["LIMITS"]
    return settings(
        **{
            name: _checked(name, value, hints[name], limits.get(name))
            for name, value in options.items()
        }
    )


def settled(
    face: str,
    settings: type[S],
    options: Mapping[str, object],
    arguments: Sequence[str] = (),
    **more: object,
) -> S:
    """Return the settings of a core; ``more`` are those that are arguments of the face.

    ``arguments`` are its other arguments. Raise TypeError for an unknown option, as Python does
    for an unknown argument.
    """
    own = _hints(settings)
    _require_known(face, options, (*more, *arguments, *own, *CLIENT_OPTIONS, "instance_name"))
    chosen = {name: value for name, value in options.items() if name in own}
    return made(settings, {**chosen, **more})


def client_config_of(face: str, options: Mapping[str, object]) -> ClientConfig:
    """Return the options of a client for single requests; raise TypeError for an unknown one."""
    _require_known(face, options, _hints(ClientConfig))
    return made(ClientConfig, options)


def _require_known(face: str, options: Iterable[str], known: Iterable[str]) -> None:
    names = dict.fromkeys(("namesrv_addr", *known))
    for name in options:
        if name not in names:
            raise ArgumentError(f"{face}() got an unexpected option {name!r}{_meant(name, names)}")


_MEANT = {
    "namesrv_addr": "address addr bootstrap endpoint host nameserver namesrv server",
    "group": "clientgroup consumergroup producergroup",
    "subscribe": "expression sql subscription tag topic",
    "on_message": "callback function handler listener",
    "consume_threads": "threads workers consumethread",
    "retry_times_when_send_failed": "retries retrytimes",
    "send_timeout_ms": "timeout",
    "check": "transactioncheck transactionlistener",
}
"""What users call options by other names; the longest word that is part of it counts."""


def _meant(name: str, known: Iterable[str]) -> str:
    """Return the end of an error about an option that is none of ``known``."""
    hint = did_you_mean(name, known, cutoff=0.8, lists=False)
    if hint:
        return hint
    plain = name.casefold().replace("_", "")
    found = [
        (len(word), option)
        for option, words in _MEANT.items()
        for word in words.split()
        if word in plain and option in known
    ]
    return f"; did you mean {max(found)[1]}?" if found else did_you_mean(name, known, cutoff=0.7)


@cache
def _hints(settings: type[msgspec.Struct]) -> dict[str, object]:
    """Return the fields and their types, as far as these have names; None for other types."""
    module = vars(sys.modules[settings.__module__])
    return {
        name: _SIMPLE.get(hint) or module.get(hint)
        for name, hint in settings.__annotations__.items()
    }


def _checked(name: str, value: object, hint: object, limits: tuple[int, int] | None) -> object:
    """Return the value to use; raise ConfigError or TypeError for a wrong one.

    Functions for messages and checks, and subscriptions, are checked by their faces.
    """
    if name in CHECKS:
        return CHECKS[name](name, value)
    if hint is int:
        whole(name, value, *(limits or (None, None)))
    elif hint is bool:
        flag(name, value)
    elif hint is str:
        text(name, value)
    elif get_origin(hint) is Literal:
        one_of(name, text(name, value), get_args(hint))
    return value


# Checks of options that are neither numbers, texts nor flags: each returns the value to use.

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
