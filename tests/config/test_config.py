"""Config keys, values, files and printouts."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import assert_type

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.config.files import load
from fakemq.config.model import BrokerConfig, Config, NamesrvConfig, keys_of
from fakemq.config.spec import cluster_spec
from fakemq.config.v5.model import BrokerConfig5
from fakemq.errors import ConfigError, ConfigWarning


def broker_file(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "broker.properties"
    path.write_bytes(content.encode("latin-1") if isinstance(content, str) else content)
    return path


def read_back(config: Config, tmp_path: Path) -> Config:
    path = broker_file(tmp_path, config.printed())
    return type(config)(**load(path, type(config)).values)


# -- the tables -------------------------------------------------------------------------------


def test_every_key_of_4_9_7_is_declared() -> None:
    counted = Counter(key.table.__name__ for key in keys_of(BrokerConfig).values())
    # The two write-buffer marks are in both Netty classes and mean the same: counted once.
    assert counted == {
        "BrokerKeys": 80,
        "NettyServerKeys": 14 - 2,
        "NettyClientKeys": 14,
        "MessageStoreKeys": 78,
        "BrokerStartupKeys": 2,
        "NewerKeys": 2,  # not of 4.9.7
    }
    assert len(keys_of(NamesrvConfig)) == 6 + 14


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("brokerIP1", "broker_ip1"),
        ("checkCRCOnRecover", "check_crc_on_recover"),
        ("useTLS", "use_tls"),
        ("dLegerSelfId", "d_leger_self_id"),
        ("enableDLegerCommitLog", "enable_d_leger_commit_log"),
        ("storePathDLedgerCommitLog", "store_path_d_ledger_commit_log"),
        ("messageStorePlugIn", "message_store_plug_in"),
        ("enableBatchPush", "enable_batch_push"),
        ("listenPort", "listen_port"),
        (
            "scheduleAsyncDeliverMaxResendNum2Blocked",
            "schedule_async_deliver_max_resend_num2_blocked",
        ),
    ],
)
def test_names_are_converted_as_in_java(name: str, attribute: str) -> None:
    assert keys_of(BrokerConfig)[name].attribute == attribute


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("brokerIP1", "some text"),
        ("useTLS", "true or false"),
        ("dLegerSelfId", "any text"),
        ("enableActingMaster", "true, false or nothing"),
        ("brokerId", f"a whole number from {-(1 << 63)} to {(1 << 63) - 1}"),
        ("maxDelayTime", f"a whole number from {-(1 << 31)} to {(1 << 31) - 1}"),
        ("listenPort", "a whole number from 0 to 65534"),
        ("transactionCheckInterval", f"a whole number from 1 to {(1 << 63) - 1}"),
        ("brokerRole", "ASYNC_MASTER or SYNC_MASTER or SLAVE"),
        ("deleteWhen", 'hours from 00 to 23, such as "04" or "04;16"'),
    ],
)
def test_row_says_which_values_a_key_may_have(name: str, expected: str) -> None:
    assert keys_of(BrokerConfig)[name].row.kind.expected == expected


def test_every_default_is_valid_for_its_key() -> None:
    for kind in (BrokerConfig, NamesrvConfig):
        config = kind()
        for name, text in config.java_properties().items():
            if name != "isEnableBatchPush":
                config.set_property(name, text)
        assert config == kind()


def test_default_ports_are_javas() -> None:
    assert BrokerConfig().listen_port == 10911
    assert NamesrvConfig().listen_port == 9876


def test_attributes_are_typed() -> None:
    config = BrokerConfig()
    assert_type(config.broker_name, str)
    assert_type(config.namesrv_addr, str | None)
    assert_type(config.mapped_file_size_commit_log, int)
    assert_type(config.auto_create_topic_enable, bool)
    assert config.mapped_file_size_commit_log == 1 << 30
    assert config.message_delay_level.split()[-1] == "2h"


def test_importing_the_model_loads_little() -> None:
    code = (
        "import sys; before = set(sys.modules); import fakemq.config.model;"
        "print(*(m for m in ('dataclasses','difflib','javaproperties','click','msgspec')"
        " if m in set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# -- objects ----------------------------------------------------------------------------------


def test_copy_is_independent() -> None:
    config = BrokerConfig(broker_name="b")
    twin = config.copy()
    assert twin == config
    twin.broker_id = 7
    assert (config.broker_id, twin.broker_name) == (0, "b")
    assert twin != config
    assert config != NamesrvConfig()
    assert repr(twin) == "BrokerConfig(broker_name='b', broker_id=7)"
    with pytest.raises(TypeError, match="BrokerConfig has no attribute 'brokerName'"):
        BrokerConfig(brokerName="b")


def test_java_properties_equal_the_answer_of_get_broker_config() -> None:
    properties = BrokerConfig(broker_name="b").java_properties()
    assert properties["brokerName"] == "b"
    assert properties["autoCreateTopicEnable"] == "true"
    assert properties["isEnableBatchPush"] == "false"
    assert properties["messageStorePlugIn"] == ""
    assert not properties.keys() & {"haMasterAddress", "enableBatchPush", "rmqAddressServerDomain"}


def test_set_property_parses_its_text() -> None:
    config = BrokerConfig()
    config.set_property("brokerPermission", "4")
    config.set_property("slaveReadEnable", "TRUE")
    assert (config.broker_permission, config.slave_read_enable) == (4, True)
    with pytest.raises(ConfigError, match=r"kvConfigPath: RocketMQ 4.9.7 has no key kvConfigPath"):
        config.set_property("kvConfigPath", "x")


# -- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("brokerId", "abc", "a whole number from -9223372036854775808 to 9223372036854775807"),
        ("brokerId", "1.0", "a whole number"),
        ("brokerId", "1 ", "a whole number"),
        ("brokerId", "", "a whole number"),
        ("brokerId", "1_000", "a whole number"),
        ("brokerId", "9223372036854775808", "a whole number"),
        ("brokerId", "9" * 5000, "a whole number"),
        ("slaveTimeout", "2147483648", "a whole number from 1 to 2147483647"),
        ("listenPort", "65535", "a whole number from 0 to 65534"),
        ("brokerPermission", "8", "a whole number from 0 to 7"),
        ("mappedFileSizeCommitLog", "0", "a whole number from 1 to 2147483647"),
        ("autoCreateTopicEnable", "yes", "true or false"),
        ("autoCreateTopicEnable", "", "true or false"),
        ("brokerRole", "MASTER", "ASYNC_MASTER or SYNC_MASTER or SLAVE"),
        ("flushDiskType", "async_flush", "ASYNC_FLUSH or SYNC_FLUSH"),
        ("brokerName", "", "some text"),
        ("messageDelayLevel", "1s  5s", 'numbers with s, m, h or d'),
        ("messageDelayLevel", "1s 5", 'numbers with s, m, h or d'),
        ("messageDelayLevel", "", 'numbers with s, m, h or d'),
        ("deleteWhen", "24", 'hours from 00 to 23, such as "04" or "04;16"'),
        ("namesrvAddr", "localhost", 'addresses such as "127.0.0.1:9876;192.168.0.1:9876"'),
        ("namesrvAddr", "localhost:98765", "addresses such as"),
    ],
)  # fmt: skip
def test_invalid_value_error_names_file_line_key_and_expectation(
    tmp_path: Path, key: str, text: str, expected: str
) -> None:
    path = broker_file(tmp_path, f"# a comment\n\nbrokerIP1 = 10.0.0.1\n{key}={text}\n")
    with pytest.raises(ConfigError) as caught:
        load(path, BrokerConfig)
    assert str(caught.value).startswith(f"{path}:4: {key}={text}: expected {expected}")


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(sorted(keys_of(BrokerConfig))), st.text(max_size=8))
def test_any_text_is_a_value_or_a_config_error(name: str, text: str) -> None:
    config = BrokerConfig()
    with suppress(ConfigError):
        config.set_property(name, text)
    assert config.printed()


# -- files ------------------------------------------------------------------------------------


def test_line_numbers_count_continuations_and_line_ends(tmp_path: Path) -> None:
    content = b"! c\r\nbrokerName = a\\\r\n  b\r\rdeleteWhen:05\nregionId caf\xe9\x85\nbrokerId=x"
    with pytest.raises(ConfigError, match=r"broker\.properties:7: brokerId=x"):
        load(broker_file(tmp_path, content), BrokerConfig)
    loaded = load(broker_file(tmp_path, content.replace(b"=x", b"=3")), BrokerConfig)
    assert loaded.values == {
        "broker_name": "ab",
        "delete_when": "05",
        "region_id": "café\x85",
        "broker_id": 3,
    }


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none: cannot read this config: No such file"):
        load(tmp_path / "none", BrokerConfig)
    with pytest.raises(ConfigError, match="cannot read this config: Is a directory"):
        load(tmp_path, BrokerConfig)
    with pytest.raises(ConfigError, match=r":2: wrong escape .* expected .u and four hexadecimal"):
        load(broker_file(tmp_path, "brokerId=0\nbrokerName=\\u12\n"), BrokerConfig)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("brokerNam", "RocketMQ 4.9.7 does not have it; did you mean brokerName?"),
        ("BROKERNAME", "RocketMQ 4.9.7 does not have it; did you mean brokerName?"),
        ("isEnableBatchPush", "did you mean enableBatchPush?"),
        ("kvConfigPath", "it belongs in a name server's file (NamesrvConfig)"),
    ],
)
def test_unknown_key_is_one_warning_with_a_hint(tmp_path: Path, name: str, hint: str) -> None:
    path = broker_file(tmp_path, f"\n{name}=1\nbrokerId=2\n")
    warnings: list[str] = []
    loaded = load(path, BrokerConfig, warn=warnings.append)
    assert loaded.values == {"broker_id": 2}
    (warning,) = warnings
    assert warning.startswith(f"{path}:2: unknown key {name}: ")
    assert warning.endswith(hint)
    with pytest.warns(ConfigWarning, match=name):
        load(path, BrokerConfig)
    with pytest.raises(ConfigError, match=name):
        load(path, BrokerConfig, strict=True)


def test_strict_lists_all_wrong_keys_of_a_file(tmp_path: Path) -> None:
    path = broker_file(
        tmp_path,
        "brokerNam=x\nbrokerId=one\nbrokerRol=SLAVE\nbrokerPermission=8\nwarmMapedFileEnable=true",
    )
    wrong = [
        f"{path}:2: brokerId=one: expected a whole number from {-(1 << 63)} to {(1 << 63) - 1}",
        f"{path}:4: brokerPermission=8: expected a whole number from 0 to 7",
    ]
    unknown = [
        f"{path}:{line}: unknown key {key}: RocketMQ 4.9.7 does not have it; did you mean {key}e?"
        for line, key in [(1, "brokerNam"), (3, "brokerRol")]
    ]
    warnings: list[str] = []
    with pytest.raises(ConfigError) as raised:
        load(path, BrokerConfig, warn=warnings.append)
    assert (str(raised.value).splitlines(), warnings) == (wrong, unknown)
    with pytest.raises(ConfigError) as raised:
        load(path, BrokerConfig, strict=True)
    assert str(raised.value).splitlines() == unknown + wrong


def test_values_that_are_wrong_in_several_sources_are_one_error() -> None:
    sources = [{"fileReservedTime": "soon", "brokrName": "b"}, {"flushDiskType": "NOPE"}]
    with pytest.raises(ConfigError) as raised:
        cluster_spec(masters=2, config=sources, strict=True)
    unknown, time, flush = str(raised.value).splitlines()
    assert unknown.endswith("did you mean brokerName?")
    assert time.startswith("config[0]: fileReservedTime=soon: expected a whole number")
    assert flush == "config[1]: flushDiskType=NOPE: expected ASYNC_FLUSH or SYNC_FLUSH"


def test_strict_lists_what_several_checks_of_a_cluster_find(tmp_path: Path) -> None:
    path = broker_file(tmp_path, "brokerNam=x\nwarmMapedFileEnable=true\nlistenPort=1\n")
    with pytest.raises(ConfigError) as raised:
        cluster_spec(config=str(path), broker_port=7, tls_config={"tls.nam": "x"}, strict=True)
    assert [line.partition(": ")[2][:22] for line in str(raised.value).splitlines()] == [
        "tls.nam has no effect:",
        "unknown key brokerNam:",
        "without effect here, s",
        "listenPort=1 has no ef",
    ]


def test_file_that_is_no_config_gets_a_few_lines(tmp_path: Path) -> None:
    path = broker_file(tmp_path, "".join(f"\x1b[31m{number}=1\n" for number in range(1000)))
    warnings: list[str] = []
    load(path, BrokerConfig, warn=warnings.append)
    assert warnings[0].startswith(f"{path}:1: unknown key \\x1b[31m0: RocketMQ")
    assert warnings[20:] == [
        f"{path}: 980 more unknown keys; expected lines such as brokerName=broker-a"
    ]
    with pytest.raises(ConfigError, match=r"no text: byte 2 is 0; expected lines such as"):
        load(broker_file(tmp_path, b"\x7fE\0\0=LF\n" * 1000), BrokerConfig)
    with pytest.raises(ConfigError, match=r"brokerId=\\x1b\[31m: expected"):
        load({"brokerId": "\x1b[31m"}, BrokerConfig)


def test_broker_key_in_a_name_servers_config_is_named() -> None:
    with pytest.raises(ConfigError, match=r"config: .* belongs in a broker's file \(BrokerConfig"):
        load({"brokerName": "b"}, NamesrvConfig, strict=True)


def test_mapping_takes_values_and_their_text() -> None:
    loaded = load(
        {"brokerId": 3, "slaveReadEnable": True, "traceOn": "false", "haMasterAddress": None},
        BrokerConfig,
    )
    assert loaded.values == {
        "broker_id": 3,
        "slave_read_enable": True,
        "trace_on": False,
        "ha_master_address": None,
    }
    with pytest.raises(ConfigError, match=r"^config\[1\]: brokerId=true: expected"):
        load({"brokerId": True}, BrokerConfig, name="config[1]")


# -- printouts --------------------------------------------------------------------------------


def test_printed_config_is_read_back(tmp_path: Path) -> None:
    config = BrokerConfig(
        broker_name="bröker #1 = ü",
        region_id=" leading: blank\\",
        broker_id=2,
        broker_role="SLAVE",
        trace_on=False,
        namesrv_addr="h:1;i:2",
        start_accept_send_request_time_stamp=2**62,
    )
    assert "traceOn=false\n" in config.printed()
    assert read_back(config, tmp_path) == config
    namesrv = NamesrvConfig(cluster_test=True, listen_port=1)
    assert read_back(namesrv, tmp_path) == namesrv


def test_important_keys_are_printed() -> None:
    names = [line.partition("=")[0] for line in BrokerConfig().printed(important=True).splitlines()]
    assert len(names) == 35
    assert {"brokerName", "namesrvAddr", "flushDiskType", "storePathRootDir"} <= set(names)
    assert "brokerIP2" not in names


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("reviveQueueNum", "0", "from 1 to 32768"),
        ("timerPrecisionMs", "0", "from 1 to"),
        ("mappedFileSizeTimerLog", "67", "from 68 to"),
    ],
)
def test_keys_of_5_5_0_with_which_a_broker_fails_later_are_refused(
    key: str, value: str, expected: str
) -> None:
    with pytest.raises(ConfigError, match=expected):
        load({key: value}, BrokerConfig5, strict=True)


def test_revision_changes_with_each_change() -> None:
    config = BrokerConfig()
    other, revisions = config.copy(), [config.revision]
    config.broker_name = "broker-b"
    revisions.append(config.revision)
    config.assign({"region_id": "eu"})
    revisions.append(config.revision)
    config.set_property("traceOn", "false")
    revisions.append(config.revision)
    config.restore(other)
    revisions.append(config.revision)
    assert len(set(revisions)) == len(revisions)
