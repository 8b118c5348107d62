"""From the options of a face to the settings of its core, with errors that name what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeVar, get_args, get_origin

import msgspec

from fakemq.client.addresses import split_addr
from fakemq.client.errors import RemotingConnectError
from fakemq.client.faces.option_checks import CHECKS
from fakemq.client.options import ClientConfig
from fakemq.config.checked import flag, one_of, text, whole
from fakemq.errors import ArgumentError, ConfigError, did_you_mean

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
