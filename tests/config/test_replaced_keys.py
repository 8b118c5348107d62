"""A key of a config whose value an option replaces is named, with its place and the option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakemq.config.model import BrokerConfig, Key, Value, keys_of, text_of
from fakemq.config.options import OPTIONS
from fakemq.config.rows import Whole, Words
from fakemq.config.spec import broker_spec, cluster_spec
from fakemq.errors import ConfigError

GIVEN: dict[str, Any] = {
    "listen": "127.0.0.3",
    "advertise": "127.0.0.2",
    "namesrv_port": 9877,
    "namesrvs": 2,
    "broker_port": 20911,
    "masters": 2,
    "slaves": 1,
    "controllers": 1,
    "reference": "5.5.0",
    "grpc": True,
    "proxy_remoting": True,
    "proxy_protocol_from": (),  # without a gRPC port it is an error
    "store": "/elsewhere",
    "store_from": "/old",
    "memory_limit": "1MiB",
    "role": "SYNC_MASTER",
    "flush": "SYNC_FLUSH",
    "clock": "frozen",
    "start_at": "2023-11-14T22:13:20Z",
    "seed": 7,
    "topics": {"orders": 1},
    "control_port": 0,
    "control_listen": "127.0.0.1",
    "control_token": None,
    "ready_file": "/ready",
    "acl": {"accounts": []},
    "tls": "enforcing",
    "tls_config": {"tls.test.mode.enable": "true"},
    "strict": True,
    "journal": "/journal",
    "ram_size": "1GiB",
}
"""A value of each option other than its default."""
IN_FILE: dict[str, Any] = {
    "broker_ip1": "10.0.0.1",
    "broker_ip2": "10.0.0.2",
    "listen_port": 30911,
    "broker_role": "ASYNC_MASTER",
    "flush_disk_type": "ASYNC_FLUSH",
    "store_path_root_dir": "/data",
    "store_path_commit_log": "/a,/b",
    "read_only_commit_log_store_paths": "/r",
    "acl_enable": False,
    "use_tls": False,
}
"""A value of each key that options change."""
NAMES = {key.attribute: name for name, key in keys_of(BrokerConfig).items()}
_DERIVED = {"ha_listen_port", "broker_name", "broker_id", "texts"}
"""What no file says: it follows from others, or cannot be said for several brokers."""


def test_every_option_has_a_value_here() -> None:
    assert {option.name for option in OPTIONS} == GIVEN.keys() | {"config"}


@pytest.mark.parametrize("name", GIVEN)
def test_option_replaces_no_key_without_a_word(name: str) -> None:
    before = cluster_spec().broker_configs[0]
    one = cluster_spec(**{name: GIVEN[name]}).broker_configs[0]
    of_release = {
        "reference",
        "grpc",
        "proxy_remoting",
        "controllers",
    }  # the defaults of another release
    changed = {
        attribute
        for attribute in NAMES.keys() - _DERIVED
        if name not in of_release and getattr(before, attribute) != getattr(one, attribute)
    }
    for attribute in changed:
        said: list[str] = []
        config = {NAMES[attribute]: IN_FILE[attribute]}
        spec = cluster_spec(**{name: GIVEN[name]}, config=config, warn=said.append)
        obeyed = getattr(spec.broker_configs[0], attribute) == IN_FILE[attribute]
        assert obeyed == (not said), (attribute, said)


def other_value(key: Key, default: Value) -> Value:
    """Return a valid value of a key, other than its default."""
    kind = key.row.kind
    if kind.expected.startswith("true"):
        return not default
    if isinstance(kind, Words):
        return next(choice for choice in kind.words if choice != default)
    if isinstance(kind, Whole):
        return kind.low + 7 if kind.low >= 0 else 777
    texts = {"namesrv_addr": "10.0.0.1:9876", "message_delay_level": "3s"}
    texts["controller_addr"] = "10.0.0.2:9878"
    texts["store_path_broker_identity"] = "/identity"  # not the file of the epochs
    return texts.get(key.attribute, "07")


def every_key(kind: type[BrokerConfig], several: bool) -> dict[str, Value]:
    """Return a value by Java name for each key of a broker that a cluster does not refuse."""
    default = kind()
    refused = {key.attribute for key in keys_of(kind).values() if key.row.refused}
    refused.add("enable_controller_mode")  # without controllers
    if several:
        refused |= {"listen_port", "broker_name", "broker_id", "store_path_root_dir"}
    return {
        name: IN_FILE.get(key.attribute, other_value(key, getattr(default, key.attribute)))
        for name, key in keys_of(kind).items()
        if key.attribute not in refused
    }


@pytest.mark.parametrize("name", ["", *(name for name in GIVEN if name != "strict")])
def test_key_of_a_file_is_obeyed_or_named(name: str) -> None:
    said: list[str] = []
    given = {name: GIVEN[name]} if name else {}
    kind = type(cluster_spec(**given).broker_configs[0])
    config = every_key(kind, name in ("masters", "slaves"))
    assert {"namesrvAddr", "haListenPort", "brokerRole"} <= config.keys()
    spec = cluster_spec(**given, config=config, warn=said.append)
    for key, value in config.items():
        named = any(text.startswith(f"config: {key}=") for text in said)
        obeyed = getattr(spec.broker_configs[0], keys_of(kind)[key].attribute) == value
        if (name, key) == ("acl", "rocketmqHome"):  # the accounts there are not used
            obeyed = False
        assert named != obeyed, (key, said)


@pytest.mark.parametrize("key", ["namesrvAddr=10.0.0.1:9876", "haListenPort=777", "brokerId=3"])
def test_key_without_effect_is_an_error_when_strict(tmp_path: Path, key: str) -> None:
    path, said = tmp_path / "b.conf", list[str]()
    path.write_text(f"{key}\n")
    ports: dict[str, Any] = {"namesrv_port": 0, "broker_port": 0}
    cluster_spec(**ports, config=str(path), warn=said.append)
    assert len(said) == 1
    assert said[0].startswith(f"{path}:1: {key} has no effect")
    with pytest.raises(ConfigError, match=f"{key} has no effect"):
        cluster_spec(**ports, config=str(path), strict=True)


def test_role_is_refused_when_no_broker_is_a_master(tmp_path: Path) -> None:
    path = tmp_path / "b.conf"
    path.write_text("brokerId=1\nbrokerRole=SLAVE\n")
    with pytest.raises(ConfigError, match=f"role=SYNC_MASTER .* {path}:2: brokerRole=SLAVE"):
        cluster_spec(role="SYNC_MASTER", config=str(path))
    slave = {"brokerName": "broker-a", "brokerRole": "SLAVE", "brokerId": 1}
    spec = cluster_spec(masters=2, role="SYNC_MASTER", config=[{}, slave])
    assert [one.broker_role for one in spec.broker_configs] == ["SYNC_MASTER", "SLAVE"]


def test_lone_broker_names_the_ha_port_that_it_does_not_use() -> None:
    said: list[str] = []
    config = {"haListenPort": 777, "brokerIP1": "127.0.0.1"}
    broker_spec(config, warn=said.append)
    assert said == ["config: haListenPort=777 has no effect: it is listenPort + 1"]


@pytest.mark.parametrize(
    ("attribute", "option"),
    [
        *(("broker_ip1", "advertise"), ("broker_ip2", "advertise"), ("listen_port", "broker_port")),
        *(("broker_role", "role"), ("flush_disk_type", "flush"), ("acl_enable", "acl")),
        *((f"{name}", "store") for name in IN_FILE if "path" in name),
    ],
)
def test_replaced_key_is_named_with_its_line(tmp_path: Path, attribute: str, option: str) -> None:
    path, said, key = tmp_path / "b.conf", list[str](), NAMES[attribute]
    path.write_text(f"# a comment\n{key}={text_of(IN_FILE[attribute])}\n")
    given = {option: GIVEN[option]}
    cluster_spec(**given, config=str(path), warn=said.append)
    value, flag = text_of(IN_FILE[attribute]), option.replace("_", "-")
    text = f"{key}={value} has no effect: the option {option} (--{flag}) replaces it"
    assert said == [f"{path}:2: {text}"]
    with pytest.raises(ConfigError, match=f"{key}=.* has no effect: the option {option}"):
        cluster_spec(**given, config=str(path), strict=True)


def test_one_file_for_several_brokers_is_named_once(tmp_path: Path) -> None:
    said: list[str] = []
    config = {"flushDiskType": "ASYNC_FLUSH"}
    cluster_spec(masters=3, flush="SYNC_FLUSH", config=config, warn=said.append)
    assert len(said) == 1


def test_key_with_the_value_of_the_option_is_not_named() -> None:
    said: list[str] = []
    config = {"flushDiskType": "SYNC_FLUSH", "storePathRootDir": "/x/broker-a-0"}
    cluster_spec(flush="SYNC_FLUSH", store="/x", config=config, warn=said.append)
    assert said == []


def test_accounts_of_an_option_replace_those_of_rocketmq_home() -> None:
    said: list[str] = []
    config = {"rocketmqHome": "/home/rocketmq"}
    cluster_spec(acl={"accounts": []}, config=config, warn=said.append)
    assert said == [
        "config: rocketmqHome=/home/rocketmq has no effect: the option acl (--acl) replaces it"
    ]


def test_lone_broker_names_the_name_servers_that_it_does_not_use() -> None:
    said: list[str] = []
    config = {"namesrvAddr": "10.0.0.9:9876", "brokerIP1": "127.0.0.1"}
    broker_spec(config, namesrv_addr="127.0.0.1:9876", warn=said.append)
    assert said == ["config: namesrvAddr=10.0.0.9:9876 has no effect: the option -n replaces it"]
