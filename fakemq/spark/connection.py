"""How to reach a cluster: the options that reading and writing share."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import msgspec

from fakemq.client.blocking import Client
from fakemq.client.options import ClientOptions
from fakemq.errors import ConfigError, did_you_mean
from fakemq.protocol.command import SerializeType
from fakemq.spark.options import PASS_THROUGH, Options

CONNECTION_OPTIONS = ("nameServer",)

_NAMESRV_ADDR = "namesrv.addr"


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _serialize_type(text: str) -> SerializeType:
    return SerializeType[text.upper()]


_SETTINGS: dict[str, tuple[str, Callable[[str], object], str]] = {
    "accessKey": ("access_key", str, "the name of an account"),
    "createTopicKey": ("create_topic_key", str, "a topic"),
    "compressMsgBodyOverHowmuch": ("compress_over_bytes", int, "a number of bytes"),
    "maxMessageSize": ("max_message_bytes", int, "a number of bytes"),
    "mqClientApiTimeout": ("api_timeout_ms", int, "milliseconds"),
    "pollNameServerInterval": ("route_interval_ms", int, "milliseconds"),
    "producerGroup": ("producer_group", str, "a group"),
    "retryTimesWhenSendFailed": ("retry_times_when_send_failed", int, "a number"),
    "secretKey": ("secret_key", str, "the secret of the account"),
    "securityToken": ("security_token", str, "a token"),
    "sendMsgTimeout": ("send_timeout_ms", int, "milliseconds"),
    "serialize.type": ("serialize_type", _serialize_type, "JSON or ROCKETMQ"),
    "tls.client.certPath": ("tls_cert_file", str, "a path"),
    "tls.client.keyPassword": ("tls_key_password", str, "the password of the key"),
    "tls.client.keyPath": ("tls_key_file", str, "a path"),
    "tls.client.trustCertPath": ("tls_ca_file", str, "a path"),
    "useTLS": ("tls", _flag, "true or false"),
    "vipChannelEnabled": ("vip_channel", _flag, "true or false"),
}
"""Settings after ``rocketmq.``: Java's name → our name, its parser, and the expected text."""


class ClusterSettings(msgspec.Struct, frozen=True):
    """A cluster and the settings of its clients; Spark pickles it for its workers."""

    name_server: str
    settings: dict[str, object]

    def client(self, **more: object) -> Client:
        """Return a client of the cluster; ``more`` are further client options."""
        return Client(self.name_server, **cast(ClientOptions, self.settings | more))


def connection_of(options: Options) -> ClusterSettings:
    """Return the cluster that the options name.

    Raise ConfigError if no name server is named, or a setting is unknown or invalid.
    """
    spelt = {name.lower(): name for name in _SETTINGS}
    given = options.under(PASS_THROUGH)
    name_server = options.text("nameServer") or given.get(_NAMESRV_ADDR)
    given.pop(_NAMESRV_ADDR, None)
    if not name_server:
        raise ConfigError(
            f"{options.source}: option nameServer is missing: host:port of a name server,"
            " several separated by semicolons"
        )
    for addr in name_server.split(";"):
        host, _, port = addr.strip().rpartition(":")
        if not host or not port.isdecimal():
            given_as = "nameServer" if options.text("nameServer") else PASS_THROUGH + _NAMESRV_ADDR
            raise options.bad(given_as, "host:port, or several separated by semicolons,")
    settings: dict[str, object] = {}
    for name, text in given.items():
        if name not in spelt:
            known = [PASS_THROUGH + one for one in _SETTINGS]
            word = PASS_THROUGH + name
            raise ConfigError(
                f"{options.source}: there is no setting {word}{did_you_mean(word, known)}"
            )
        ours, read, wanted = _SETTINGS[spelt[name]]
        try:
            settings[ours] = read(text)
        except (ValueError, KeyError):
            raise options.bad(f"{PASS_THROUGH}{spelt[name]}", wanted) from None
    return ClusterSettings(name_server, settings)
