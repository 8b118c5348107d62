"""What RocketMQ 4.9.7 has and fakemq does not have yet: refused in one line each.

At the start it is an error; in an UPDATE_BROKER_CONFIG later the line is a warning.

A change that adds one of these deletes its row.
"""

from __future__ import annotations

from fakemq.config.model import BrokerConfig, Value, text_of
from fakemq.errors import NotYetSupported

_BROKER: tuple[tuple[str, str, tuple[Value, ...], str], ...] = (
    (
        "read_only_commit_log_store_paths",
        "readOnlyCommitLogStorePaths",
        (None,),
        "one folder for the commit log",
    ),
    ("acl_enable", "aclEnable", (False,), "aclEnable=false"),
    ("enable_d_leger_commit_log", "enableDLegerCommitLog", (False,), "no DLedger"),
    ("message_store_plug_in", "messageStorePlugIn", ("",), "the default store"),
    (
        "fetch_namesrv_addr_by_address_server",
        "fetchNamesrvAddrByAddressServer",
        (False,),
        "namesrvAddr",
    ),
    ("enable_consume_queue_ext", "enableConsumeQueueExt", (False,), "plain consume queues"),
    ("enable_lmq", "enableLmq", (False,), "enableLmq=false"),
    ("enable_multi_dispatch", "enableMultiDispatch", (False,), "enableMultiDispatch=false"),
    ("use_tls", "useTLS", (False,), "useTLS=false"),
)
"""Attribute, Java's name, the values that are there, and what to say is there."""


def missing(config: BrokerConfig) -> dict[str, str]:
    """What this broker needs and is not there: Java's key, and the line that says so."""
    lines = {
        name: f"{name}={text_of(value)} is not there yet; what is: {instead}"
        for attribute, name, there, instead in _BROKER
        if (value := getattr(config, attribute)) not in there
    }
    paths = config.store_path_commit_log
    if paths and "," in paths:
        instead = "one folder for the commit log"
        lines["storePathCommitLog"] = (
            f"storePathCommitLog={paths} is not there yet; what is: {instead}"
        )
    return lines


def require_broker(config: BrokerConfig) -> None:
    """Raise NotYetSupported if this broker needs what is not there."""
    for line in missing(config).values():
        raise NotYetSupported(f"{config.node_name}: {line}")
