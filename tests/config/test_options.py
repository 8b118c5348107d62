"""From options and configs to the brokers of a cluster."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import fakemq
from fakemq.config.checked import TopicSpec
from fakemq.config.files import Settings, load
from fakemq.config.layout import broker_name, lay_out, lone_broker
from fakemq.config.model import BrokerConfig
from fakemq.config.option_types import ClusterOptions
from fakemq.config.spec import ClusterSpec, cluster_spec, namesrv_spec
from fakemq.errors import ConfigError, ConfigWarning, NotYetSupported

LONG_NAME = "é" * 100
"""A host name whose encoding for a socket is longer than a label may be."""


def settings_of(**values: object) -> Settings:
    return load(values, BrokerConfig)


def names_and_ports(configs: tuple[BrokerConfig, ...]) -> list[tuple[str, int]]:
    return [(config.node_name, config.listen_port) for config in configs]


# -- defaults ---------------------------------------------------------------------------------


def test_command_line_has_javas_ports() -> None:
    spec = cluster_spec()
    (broker,) = spec.broker_configs
    assert broker == BrokerConfig()
    assert broker.node_name == "broker-a-0"
    assert (spec.listen, spec.advertised_host, spec.namesrv_ports) == (
        "127.0.0.1",
        "127.0.0.1",
        (9876,),
    )
    assert spec.cluster_name == "DefaultCluster"
    assert (spec.store, spec.memory_limit_bytes, spec.ram_size_bytes) == (
        "memory",
        1 << 30,
        None,
    )
    assert (spec.clock, spec.start_at_ms, spec.seed) == ("real", None, None)
    assert (spec.topics, spec.control, spec.ready_file) == ({}, None, None)


def test_python_has_free_ports() -> None:
    spec = cluster_spec(free_ports=True, masters=2, namesrvs=2)
    assert spec.namesrv_ports == (0, 0)
    assert names_and_ports(spec.broker_configs) == [("broker-a-0", 0), ("broker-b-0", 0)]
    assert [config.ha_listen_port for config in spec.broker_configs] == [0, 0]


def test_every_option_is_applied() -> None:
    spec = cluster_spec(
        listen="0.0.0.0",
        advertise="mq.example",
        namesrv_port=1000,
        namesrvs=3,
        broker_port=2000,
        masters=2,
        memory_limit="64MiB",
        flush="SYNC_FLUSH",
        clock="frozen",
        start_at="1970-01-01T00:00:01Z",
        seed=-7,
        topics={"orders": 8},
        ready_file=Path("r.json"),
        journal="j",
        config={"brokerClusterName": "C"},
        ram_size=5,
    )
    assert spec.namesrv_ports == (1000, 1001, 1002)
    assert names_and_ports(spec.broker_configs) == [("broker-a-0", 2000), ("broker-b-0", 2020)]
    for broker in spec.broker_configs:
        assert (broker.broker_ip1, broker.broker_ip2) == ("mq.example", "mq.example")
        assert broker.flush_disk_type == "SYNC_FLUSH"
    assert (spec.cluster_name, spec.advertised_host) == ("C", "mq.example")
    assert (spec.memory_limit_bytes, spec.ram_size_bytes, spec.seed) == (64 << 20, 5, -7)
    assert (spec.clock, spec.start_at_ms, spec.topics) == ("frozen", 1000, {"orders": TopicSpec(8)})
    assert (spec.ready_file, spec.journal_path) == ("r.json", "j")


def test_wildcard_address_is_published_as_a_real_one() -> None:
    spec = cluster_spec(listen="0.0.0.0")
    assert spec.advertised_host not in ("", "0.0.0.0")
    assert spec.broker_configs[0].broker_ip1 == spec.advertised_host


# -- options that cannot be -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"masters": 0}, "masters=0: expected a whole number from 1 to 1000"),
        ({"masters": True}, "masters=True: expected a whole number"),
        ({"masters": "2"}, "masters='2': expected a whole number"),
        ({"slaves": -1}, "slaves=-1: expected a whole number from 0 to 1000"),
        (
            {"masters": 1000, "slaves": 1000},
            "masters=1000: with 1000 slaves each there are 1001000 brokers",
        ),
        ({"namesrvs": 0}, "namesrvs=0: expected"),
        ({"namesrv_port": 65536}, "namesrv_port=65536: expected a whole number from 0 to 65535"),
        ({"broker_port": -1}, "broker_port=-1: expected a whole number from 0 to 65535"),
        ({"broker_port": 65520, "masters": 2}, "port 65540 for broker-b-0 (listenPort): expected"),
        ({"broker_port": 2}, "port 0 for broker-a-0 (VIP port, listenPort - 2): expected a port"),
        ({"broker_port": 9876}, "port 9876 is wanted by name server 0 and broker-a-0 (listenPort)"),
        (
            {"control_port": 9876},
            "port 9876 is wanted by name server 0 and the control port (control_port)",
        ),
        ({"listen": ""}, "listen='': expected a host name or an address"),
        ({"listen": LONG_NAME}, f"listen='{LONG_NAME}': expected a host name or an address"),
        ({"advertise": "a b"}, "advertise='a b': expected a host name or an address"),
        ({"advertise": "a@b"}, "advertise='a@b': expected a host name or an address"),
        ({"advertise": "a:9"}, "advertise='a:9': expected a host name or an address"),
        ({"clock": "slow"}, "clock='slow': expected real or frozen"),
        ({"role": "SLAVE"}, "role='SLAVE': expected ASYNC_MASTER or SYNC_MASTER"),
        ({"flush": "NO"}, "flush='NO': expected ASYNC_FLUSH or SYNC_FLUSH"),
        ({"start_at": "noon"}, "start_at='noon': expected an ISO 8601"),
        ({"memory_limit": "much"}, "memory_limit='much': expected a size"),
        ({"seed": 1.5}, "seed=1.5: expected a whole number"),
        ({"config": {"brokerId": "x"}}, "config: brokerId=x: expected a whole number"),
        ({"config": [{}, {"brokerId": "x"}], "masters": 2}, "config[1]: brokerId=x: expected"),
    ],
)
def test_invalid_options_are_refused(options: ClusterOptions, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        cluster_spec(**options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"config": {"enableDLegerCommitLog": True}},
            "broker-a-0: enableDLegerCommitLog=true is not supported yet; supported: no DLedger",
        ),
    ],
)
def test_unsupported_settings_are_refused(options: ClusterOptions, message: str) -> None:
    with pytest.raises(NotYetSupported) as caught:
        cluster_spec(**options)
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, NotImplementedError)


# -- configs ----------------------------------------------------------------------------------


def test_options_beat_configs_and_configs_beat_defaults() -> None:
    config = {
        "listenPort": 3000,
        "flushDiskType": "SYNC_FLUSH",
        "brokerIP1": "1.1.1.1",
        "storePathRootDir": "",
        "haListenPort": 1,
    }
    with pytest.warns(ConfigWarning, match="haListenPort=1 has no effect"):
        (broker,) = cluster_spec(config=config).broker_configs
    assert (broker.listen_port, broker.ha_listen_port, broker.broker_ip1) == (3000, 3001, "1.1.1.1")
    del config["haListenPort"]
    assert (broker.flush_disk_type, broker.broker_ip2) == ("SYNC_FLUSH", "127.0.0.1")
    (free,) = cluster_spec(config=config, free_ports=True).broker_configs
    assert free.listen_port == 3000
    with pytest.warns(ConfigWarning, match="has no effect: the option") as said:
        (broker,) = cluster_spec(
            config=config, broker_port=0, flush="ASYNC_FLUSH", advertise="2.2.2.2"
        ).broker_configs
    assert len(said) == 3
    assert (broker.listen_port, broker.flush_disk_type) == (0, "ASYNC_FLUSH")
    assert (broker.broker_ip1, broker.broker_ip2) == ("2.2.2.2", "2.2.2.2")


def test_store_option_beats_the_folder_of_a_config() -> None:
    config = {"storePathRootDir": "/data", "storePathCommitLog": "/log"}
    with pytest.warns(ConfigWarning, match="has no effect: the option store"):
        (broker,) = cluster_spec(config=config, store="memory").broker_configs
    assert broker.store_path_root_dir is None
    with pytest.warns(ConfigWarning, match="has no effect: the option store"):
        (broker,) = cluster_spec(config=config, store="/s").broker_configs
    assert (broker.store_path_root_dir, broker.store_path_commit_log) == ("/s/broker-a-0", None)
    (broker,) = cluster_spec(config=config).broker_configs
    assert (broker.store_path_root_dir, broker.store_path_commit_log) == ("/data", "/log")


def test_name_servers_of_a_config_are_ignored() -> None:
    # A file from production must not make a fake broker register there.
    with pytest.warns(ConfigWarning, match="config: namesrvAddr=prod:9876 has no effect here"):
        spec = cluster_spec(config={"namesrvAddr": "prod:9876"})
    assert spec.broker_configs[0].namesrv_addr is None


def test_unknown_key_is_reported_once_for_all_brokers() -> None:
    said: list[str] = []
    cluster_spec(masters=3, config={"brokerNam": "x"}, warn=said.append)
    assert len(said) == 1
    with pytest.raises(ConfigError, match="unknown key brokerNam"):
        cluster_spec(masters=3, config={"brokerNam": "x"}, strict=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [("listenPort", 1000), ("brokerName", "b"), ("brokerId", 0), ("storePathRootDir", "/s")],
)
def test_one_config_cannot_name_several_brokers(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"config: {key}={value} is for one broker and there"):
        cluster_spec(masters=2, config={key: value})


def test_several_configs_are_for_one_broker_each() -> None:
    spec = cluster_spec(masters=3, config=[{"listenPort": 5000}, {"brokerName": "x"}])
    assert names_and_ports(spec.broker_configs) == [
        ("broker-a-0", 5000),
        ("x-0", 10931),
        ("broker-c-0", 10951),
    ]
    with pytest.raises(ConfigError, match=r"config\[1\]: 2 configs for 1 broker"):
        cluster_spec(config=[{}, {}])


def test_indistinguishable_brokers_are_refused() -> None:
    with pytest.raises(ConfigError, match="two brokers are called broker-a-0"):
        cluster_spec(masters=2, config=[{}, {"brokerName": "broker-a"}])
    with pytest.raises(
        ConfigError, match=r"port 10912 is wanted by broker-a-0 \(HA port, .*\) and"
    ):
        cluster_spec(masters=2, config=[{}, {"listenPort": 10912}])
    with pytest.raises(ConfigError, match="storePathRootDir=/s is of both broker-a-0 and broker-b"):
        cluster_spec(masters=2, config=[{"storePathRootDir": "/s"}, {"storePathRootDir": "/s"}])
    one, other = ({"storePathRootDir": path, "storePathCommitLog": "/log"} for path in "ab")
    with pytest.raises(ConfigError, match="storePathCommitLog=/log is of both broker-a-0 and brok"):
        cluster_spec(masters=2, config=[one, other])
    both = {"storePathRootDir": "/s", "storePathCommitLog": "/s"}
    why = "broker-a-0: storePathCommitLog=/s: storePathRootDir is this one, too"
    with pytest.raises(ConfigError, match=why):
        cluster_spec(config=both)


# -- layout -----------------------------------------------------------------------------------


def test_names_are_checked() -> None:
    assert [broker_name(n) for n in (0, 1, 25, 26, 27, 701, 702)] == [
        "broker-a",
        "broker-b",
        "broker-z",
        "broker-aa",
        "broker-ab",
        "broker-zz",
        "broker-aaa",
    ]


def test_slaves_follow_their_master() -> None:
    configs = lay_out(masters=2, slaves=2, role="SYNC_MASTER", store="/s")
    assert [(*pair, config.broker_role, config.store_path_root_dir)
            for pair, config in zip(names_and_ports(configs), configs, strict=True)] == [
        ("broker-a-0", 10911, "SYNC_MASTER", "/s/broker-a-0"),
        ("broker-a-1", 10931, "SLAVE", "/s/broker-a-1"),
        ("broker-a-2", 10951, "SLAVE", "/s/broker-a-2"),
        ("broker-b-0", 10971, "SYNC_MASTER", "/s/broker-b-0"),
        ("broker-b-1", 10991, "SLAVE", "/s/broker-b-1"),
        ("broker-b-2", 11011, "SLAVE", "/s/broker-b-2"),
    ]  # fmt: skip


def test_role_for_all_is_that_of_masters() -> None:
    configs = lay_out(masters=1, slaves=1, sources=[settings_of(brokerRole="SYNC_MASTER")])
    assert [config.broker_role for config in configs] == ["SYNC_MASTER", "SLAVE"]


def test_role_decides_the_broker_id() -> None:
    sources = [settings_of(brokerRole="SYNC_MASTER", brokerId=5)]
    with pytest.warns(ConfigWarning, match="brokerId=5 has no effect: a master has brokerId 0"):
        assert lay_out(sources=sources)[0].node_name == "broker-a-0"
    sources = [settings_of(brokerRole="SLAVE", brokerId=5)]
    assert lay_out(sources=sources)[0].node_name == "broker-a-5"
    for number in (0, -1):
        sources = [settings_of(brokerRole="SLAVE", brokerId=number)]
        with pytest.raises(ConfigError, match=r"^config: Slave's brokerId must be > 0$"):
            lay_out(sources=sources)


# -- alone ------------------------------------------------------------------------------------


def test_broker_can_be_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    assert lone_broker().namesrv_addr is None
    monkeypatch.setenv("NAMESRV_ADDR", "env:1")
    broker = lone_broker()
    assert (broker.listen_port, broker.ha_listen_port, broker.broker_id) == (10911, 10912, 0)
    assert broker.namesrv_addr == "env:1"
    path = tmp_path / "b.properties"
    path.write_text("namesrvAddr=file:1\nlistenPort=20000\nbrokerName=n\n")
    broker = lone_broker(path)
    assert (broker.namesrv_addr, broker.ha_listen_port) == ("file:1", 20001)
    assert broker.broker_name == "n"
    with pytest.warns(ConfigWarning, match="namesrvAddr=file:1 has no effect: the option -n"):
        broker = lone_broker(path, namesrv_addr="flag:1;flag:2")
    assert broker.namesrv_addr == "flag:1;flag:2"
    with pytest.raises(ConfigError, match=r"^-n: namesrvAddr=flag: expected addresses"):
        lone_broker(namesrv_addr="flag")
    monkeypatch.setenv("NAMESRV_ADDR", "env")
    with pytest.raises(ConfigError, match=r"^environment variable NAMESRV_ADDR: namesrvAddr=env"):
        lone_broker()


def test_name_server_can_be_alone(tmp_path: Path) -> None:
    path = tmp_path / "n.properties"
    path.write_text("listenPort=1\nclusterTest=true\n")
    spec = namesrv_spec(path)
    assert (spec.namesrv_ports, spec.namesrv_config.cluster_test) == ((1,), True)
    assert (spec.cluster_name, spec.broker_configs) == ("", ())
    assert namesrv_spec().namesrv_ports == (9876,)


def test_spec_is_a_value() -> None:
    assert cluster_spec(seed=1) == cluster_spec(seed=1)
    assert cluster_spec(seed=1) != cluster_spec(seed=2)
    assert isinstance(cluster_spec(), ClusterSpec)


@pytest.mark.parametrize(
    "options",
    [
        ClusterOptions(store=""),
        ClusterOptions(store_from=""),
        ClusterOptions(ready_file=""),
        ClusterOptions(journal=""),
    ],
    ids=["store", "store_from", "ready_file", "journal"],
)
def test_empty_path_is_refused(options: ClusterOptions) -> None:
    (name,) = options
    with pytest.raises(ConfigError, match=f"{name} is empty: expected a path"):
        cluster_spec(**options)


@pytest.mark.parametrize("name", ["store", "store_from", "ready_file", "journal"])
@pytest.mark.parametrize("value", [5, 1.5, True, [], b"path"])
def test_path_of_another_type_is_refused(name: str, value: object) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(ConfigError, match=re.escape(f"{name}={value!r}: expected a path")):
        cluster_spec(**options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"clok": "frozen"}, "a cluster has no option 'clok'; did you mean clock"),
        ({"name_servers": 2}, "did you mean namesrvs"),
        ({"xyz": 2}, "there are: listen, "),
    ],
)
def test_unknown_option_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        fakemq.Cluster(**options)


@pytest.mark.parametrize("token", [" t", "t\t", "t\n", "t\r\nX: y"])
def test_token_that_no_header_carries_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match="expected printable text"):
        cluster_spec(control_port=0, control_token=token)


def test_token_needs_a_control_port() -> None:
    with pytest.raises(ConfigError, match="control_token needs a control_port"):
        fakemq.Cluster(control_token="t")
