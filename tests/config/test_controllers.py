"""The controllers that options and files describe, and what Java does not start without."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemq.config.spec import broker_spec, cluster_spec, controller_spec, namesrv_spec
from fakemq.errors import ConfigError, NotYetSupported

DLEDGER = {
    "controllerDLegerGroup": "g",
    "controllerDLegerPeers": "n0-127.0.0.1:9877",
    "controllerDLegerSelfId": "n0",
}
JRAFT = {
    "controllerType": "jRaft",
    "jRaftServerId": "127.0.0.1:9880",
    "jRaftInitConf": "127.0.0.1:9880",
    "jRaftControllerRPCAddr": "127.0.0.1:9770",
}


def test_file_says_where_a_controller_is() -> None:
    (one,) = controller_spec(DLEDGER).controllers
    assert (one.name, one.peer_id, one.host, one.port) == ("controller-0", "n0", "127.0.0.1", 9877)
    assert one.config.group == "g"


def test_controller_of_jraft_listens_at_its_address_for_brokers() -> None:
    (one,) = controller_spec(JRAFT).controllers
    assert (one.peer_id, one.port) == ("127.0.0.1:9880", 9770)
    assert one.config.group == "jRaft-Controller"


@pytest.mark.parametrize("word", ["dledger", "jraft", "JRAFT", "DLedger", "raft"])
def test_type_that_is_not_jraft_is_dledger(word: str) -> None:
    (one,) = controller_spec(DLEDGER | {"controllerType": word}).controllers
    assert one.port == 9877


@pytest.mark.parametrize(
    ("keys", "missing"),
    [
        ({}, "controllerDLegerPeers"),
        ({"controllerDLegerPeers": "n0-h:1"}, "controllerDLegerSelfId"),
        ({"controllerType": "jRaft", "jRaftInitConf": ""}, "jRaftInitConf"),
        ({"controllerType": "jRaft", "jRaftServerId": ""}, "jRaftServerId"),
    ],
)
def test_missing_key_is_refused_in_javas_words(keys: dict[str, str], missing: str) -> None:
    text = f"Attribute value {missing} of ControllerConfig is null or empty"
    with pytest.raises(ConfigError, match=text):
        controller_spec(keys)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (DLEDGER | {"controllerDLegerSelfId": "n7"}, "SelfId=n7 is none of .* group: n0"),
        *(
            (DLEDGER | {"controllerDLegerPeers": peers}, f"has '{peers}': expected ID-HOST:PORT")
            for peers in ("n0-h", "n0-h:0", "n0-h:99999", "h:9877", "n0-h:1,n1-h:2")
        ),
        (DLEDGER | {"controllerDLegerPeers": "n0-h:1;n0-h:2"}, "has n0 twice"),
        (JRAFT | {"jRaftControllerRPCAddr": "h"}, "RPCAddr has 'h': expected HOST:PORT"),
        (JRAFT | {"jRaftServerId": "h:1"}, "jRaftServerId=h:1 is none of"),
        (JRAFT | {"jRaftInitConf": "127.0.0.1:9880,h:1"}, "has 2 controllers and .* 1 addresses"),
    ],
)
def test_wrong_address_is_an_error_that_says_so(keys: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        controller_spec(keys)


@pytest.mark.parametrize("addr", ["", ";", "x", "n0-127.0.0.1", "127.0.0.1:0", "h:1,h:2"])
def test_broker_needs_the_address_of_a_controller(addr: str) -> None:
    keys = {"enableControllerMode": "true", "controllerAddr": addr}
    with pytest.raises(ConfigError, match="controllerAddr"):
        broker_spec(keys, reference="5.5.0")


def test_group_in_several_processes_is_refused() -> None:
    keys = DLEDGER | {"controllerDLegerPeers": "n0-h:1;n1-h:2;n2-h:3"}
    with pytest.raises(NotYetSupported, match=r"no Raft .* --controllers 3"):
        controller_spec(keys)


def test_name_server_has_a_controller_if_its_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ns.conf"
    keys = {"enableControllerInNamesrv": "true", "listenPort": "19876"} | DLEDGER
    path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    spec = namesrv_spec(path, reference="5.5.0", strict=True)
    assert (spec.namesrv_ports, spec.controllers[0].port) == ((19876,), 9877)
    path.write_text("listenPort=19876\n")
    assert namesrv_spec(path, reference="5.5.0").controllers == ()


def test_controllers_are_of_5_5_0() -> None:
    keys = {"enableControllerInNamesrv": "true"} | DLEDGER
    with pytest.raises(NotYetSupported, match=r"reference 5\.3\.2; supported: reference 5\.5\.0"):
        namesrv_spec(keys, reference="5.3.2")
    for reference in ("4.9.7", "5.3.2"):
        with pytest.raises(ConfigError, match=r"controllers of 5\.5\.0 only"):
            cluster_spec(controllers=1, reference=reference)
    assert cluster_spec(controllers=1).reference.name == "5.5.0"


def test_keys_of_controllers_in_a_config_are_theirs(tmp_path: Path) -> None:
    spec = cluster_spec(
        controllers=2,
        free_ports=True,
        strict=True,
        store=tmp_path,
        config={"enableElectUncleanMaster": "true", "configBlackList": "x", "fileReservedTime": 1},
    )
    for one in spec.controllers:
        assert one.config.enable_elect_unclean_master
        assert one.config.config_black_list == "x"
        assert one.config.controller_store_path == str(tmp_path / "controllers")
    assert [one.port for one in spec.controllers] == [0, 0]


def test_ports_of_controllers_follow_each_other_and_are_no_other_nodes() -> None:
    assert [one.port for one in cluster_spec(controllers=2).controllers] == [9870, 9871]
    with pytest.raises(ConfigError, match="controllers=51"):
        cluster_spec(controllers=51)
    with pytest.raises(ConfigError, match="port 9871 is wanted by controller-1 and"):
        cluster_spec(controllers=2, broker_port=9871)


def test_config_without_controllers_has_no_keys_of_them() -> None:
    with pytest.raises(ConfigError, match="unknown key enableElectUncleanMaster"):
        cluster_spec(strict=True, config={"enableElectUncleanMaster": "true"})


def test_ports_of_controllers_leave_out_those_of_name_servers() -> None:
    spec = cluster_spec(controllers=8, namesrvs=2)
    assert spec.namesrv_ports == (9876, 9877)
    assert [one.port for one in spec.controllers] == [*range(9870, 9876), 9878, 9879]
    assert cluster_spec(controllers=50).controllers[-1].port == 9920


def test_all_wrong_values_of_both_kinds_are_named_at_once() -> None:
    wrong = {"electMasterMaxRetryCount": "x", "fileReservedTime": "y"}
    with pytest.raises(ConfigError, match=r"electMasterMaxRetryCount(.|\n)*fileReservedTime"):
        cluster_spec(controllers=1, config=wrong)


def test_hints_and_keys_in_vain_are_those_of_both_kinds() -> None:
    with pytest.raises(ConfigError, match="did you mean enableElectUncleanMaster"):
        cluster_spec(controllers=1, strict=True, config={"enableElectUncleanMasters": "true"})
    with pytest.raises(ConfigError, match=r"without effect here.*: controllerThreadPoolNums"):
        cluster_spec(controllers=1, strict=True, config={"controllerThreadPoolNums": 3})


@pytest.mark.parametrize("key", ["storePathEpochFile", "storePathBrokerIdentity"])
def test_brokers_share_no_file_of_their_replica(key: str) -> None:
    one = {key: "/data/file"}
    with pytest.raises(ConfigError, match=f"{key}=/data/file is for one broker and there are 2"):
        cluster_spec(slaves=1, controllers=1, config=one)
    with pytest.raises(ConfigError, match=f"{key}=/data/file is of both broker-a@1 and broker-a@2"):
        cluster_spec(slaves=1, controllers=1, config=[one, one])
    other = {key: "/data/other"}
    assert len(cluster_spec(slaves=1, controllers=1, config=[one, other]).broker_configs) == 2


def test_files_of_one_replica_are_not_the_same() -> None:
    config = {"storePathEpochFile": "/data/file", "storePathBrokerIdentity": "/data/file"}
    with pytest.raises(ConfigError, match="storePathEpochFile is this one, too"):
        cluster_spec(controllers=1, config=config)
