"""From the options of a face to the settings of its core, with errors that name what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple, TypeVar, get_args, get_origin

import msgspec

from fakemq.client.options import ClientConfig
from fakemq.config.checked import flag, one_of, text, whole
from fakemq.errors import ConfigError, did_you_mean

_SIMPLE = {"bool": bool, "int": int, "str": str}

S = TypeVar("S", bound=msgspec.Struct)

CLIENT_OPTIONS = (
    *("api_timeout_ms", "heartbeat_interval_ms", "language", "persist_interval_ms"),
    *("route_interval_ms", "seed", "serialize_type", "version", "vip_channel"),
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
    addr = os.environ.get(NAMESRV_ENVIRONMENT) if namesrv_addr is None else namesrv_addr
    if not isinstance(addr, str) or not addr.replace(";", "").strip():
        raise ConfigError(
            f"namesrv_addr={namesrv_addr!r}: expected 'host:port', several joined by ';'; or None,"
            f" and the same in the environment variable {NAMESRV_ENVIRONMENT}"
        )
    default = BROADCAST_INSTANCE if options.get("message_model") == "BROADCASTING" else ""
    instance_name = text("instance_name", options.get("instance_name", default))
    chosen = {name: options[name] for name in CLIENT_OPTIONS if name in options}
    return Settled(addr, instance_name, made(ClientConfig, chosen))


def made(settings: type[S], options: Mapping[str, object]) -> S:
    """Return settings of checked options; raise ConfigError for a value of another type."""
    hints = _hints(settings)
    for name, value in options.items():
        _check(name, value, hints[name])
    return settings(**options)


def settled(face: str, settings: type[S], options: Mapping[str, object], **more: object) -> S:
    """Return the settings of a core; ``more`` are those that are arguments of the face.

    Raise TypeError for an unknown option, as Python does for an unknown argument.
    """
    own = _hints(settings)
    known = [name for name in own if name not in more]
    for name in options:
        if name not in own and name not in CLIENT_OPTIONS and name != "instance_name":
            hint = did_you_mean(name, [*known, *CLIENT_OPTIONS, "instance_name"])
            raise TypeError(f"{face}() got an unexpected option {name!r}{hint}")
    chosen = {name: value for name, value in options.items() if name in own}
    if isinstance(strategy := chosen.get("allocate"), str):
        from fakemq.client.consuming.allocation import by_name  # no producer has one

        chosen["allocate"] = by_name(strategy)
    return made(settings, {**chosen, **more})


@cache
def _hints(settings: type[msgspec.Struct]) -> dict[str, object]:
    """Return the fields and their types, as far as these have names; None for other types."""
    module = vars(sys.modules[settings.__module__])
    return {
        name: _SIMPLE.get(hint) or module.get(hint)
        for name, hint in settings.__annotations__.items()
    }


def _check(name: str, value: object, hint: object) -> None:
    """Raise ConfigError unless a value fits its type, as far as that is simple.

    Other types, such as functions, are checked by their first use.
    """
    if hint is int:
        whole(name, value, None)
    elif hint is bool:
        flag(name, value)
    elif hint is str:
        text(name, value)
    elif get_origin(hint) is Literal:
        one_of(name, text(name, value), get_args(hint))
