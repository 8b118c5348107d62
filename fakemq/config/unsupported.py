"""Features of RocketMQ that fakemq does not have; each has one line of text.

A config that needs one is an error at the start, and a warning in a later UPDATE_BROKER_CONFIG. A
change that adds such a feature deletes its row.
"""

from __future__ import annotations

from fakemq.config.model import BrokerConfig, Value, text_of
from fakemq.errors import NotYetSupported

REFUSED: tuple[tuple[str, str, tuple[Value, ...], str], ...] = (
    ("enable_d_leger_commit_log", "enableDLegerCommitLog", (False,), "no DLedger"),
    (
        "message_store_plug_in",
        "messageStorePlugIn",
        ("",),
        "the default store; plug-ins are classes of Java",
    ),
    (
        "duplication_enable",
        "duplicationEnable",
        (False,),
        "duplicationEnable=false; with true, RocketMQ 4.9.7 delivers no message",
    ),
    # Those from here on are keys of 5.5.0.
    ("store_type", "storeType", ("default",), "the default store"),
    ("timer_rocks_d_b_enable", "timerRocksDBEnable", (False,), "no RocksDB"),
    ("trans_rocks_d_b_enable", "transRocksDBEnable", (False,), "no RocksDB"),
    ("index_rocks_d_b_enable", "indexRocksDBEnable", (False,), "no RocksDB"),
    ("rocksdb_c_q_double_write_enable", "rocksdbCQDoubleWriteEnable", (False,), "no RocksDB"),
    ("pop_consumer_k_v_service_init", "popConsumerKVServiceInit", (False,), "no RocksDB"),
    ("pop_consumer_k_v_service_enable", "popConsumerKVServiceEnable", (False,), "no RocksDB"),
    ("config_manager_version", "configManagerVersion", ("v1",), "configs in JSON files"),
    ("enable_controller_mode", "enableControllerMode", (False,), "no controller"),
    ("enable_slave_acting_master", "enableSlaveActingMaster", (False,), "no acting masters"),
    ("enable_remote_escape", "enableRemoteEscape", (False,), "no acting masters"),
    ("fetch_name_srv_addr_by_dns_lookup", "fetchNameSrvAddrByDnsLookup", (False,), "namesrvAddr"),
)
"""Attribute, Java's name, the supported values, and a description of those.

A config of a release without the key has the supported value.
"""

FOR_GOOD = frozenset({"messageStorePlugIn", "duplicationEnable"})
"""Keys of which no other value will be supported."""


def missing(config: BrokerConfig) -> dict[str, str]:
    """Return the missing features that a broker needs: Java's key → the line of text."""
    return {
        name: f"{name}={text_of(value)} is not supported"
        f"{'' if name in FOR_GOOD else ' yet'}; supported: {instead}"
        for attribute, name, there, instead in REFUSED
        if (value := getattr(config, attribute, there[0])) not in there
    }


def require_broker(config: BrokerConfig) -> None:
    """Raise NotYetSupported if this broker needs a missing feature."""
    for line in missing(config).values():
        raise NotYetSupported(f"{config.node_name}: {line}")
