"""A cluster that checks its clients: options, clients of every kind, rules that change, faults."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import fakemq
from fakemq.client import AsyncProducer, Client, Message, MQBrokerError, MQClientError, Producer
from fakemq.events.core import HandlerFailed, Warned
from fakemq.protocol.codes import RequestCode, ResponseCode

ADMIN = {"access_key": "adminadmin", "secret_key": "12345678"}
USER = {"access_key": "useruser", "secret_key": "12345678"}
RULES = {
    "accounts": [
        {"accessKey": "adminadmin", "secretKey": "12345678", "admin": True},
        {
            "accessKey": "useruser",
            "secretKey": "12345678",
            "defaultGroupPerm": "SUB",
            "topicPerms": ["orders=PUB|SUB"],
        },
    ]
}
TEXT = """
accounts:
- accessKey: useruser
  secretKey: '12345678'
  topicPerms:
  - {perms}
"""


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(acl=RULES, clock="frozen", topics={"orders": 1, "other": 1}) as cluster:
        yield cluster


def refusal(mq: fakemq.Cluster, topic: str = "orders", **keys: str) -> str:
    """Why a send is refused; "" if it is not."""
    with Producer(
        mq.namesrv_addr,
        group="shop",
        retry_times_when_send_failed=0,
        access_key=keys.get("access_key", ""),
        secret_key=keys.get("secret_key", ""),
    ) as producer:
        try:
            producer.send(topic, b"tea")
        except (MQClientError, MQBrokerError) as error:
            return str(error).partition("AclException: ")[2].partition(", org.apache")[0]
    return ""


def test_clients_without_a_right_are_refused(mq: fakemq.Cluster) -> None:
    assert refusal(mq, **USER) == ""
    assert refusal(mq) == "No accessKey is configured"
    assert refusal(mq, "other", **USER) == "No default permission for topic:other"
    wrong = USER | {"secret_key": "87654321"}
    assert refusal(mq, **wrong) == "Check signature failed for accessKey=useruser"
    assert len(mq.messages("orders")) == 1
    assert mq.journal.find(HandlerFailed) == []


def test_clients_inside_the_cluster_sign_too(mq: fakemq.Cluster) -> None:
    keys = {"access_key": "useruser", "secret_key": "12345678"}
    mq.producer(access_key=keys["access_key"], secret_key=keys["secret_key"]).send("orders", b"tea")
    consumer = mq.consumer(
        group="billing",
        subscribe="orders",
        consume_from="first",
        access_key=keys["access_key"],
        secret_key=keys["secret_key"],
    )
    mq.settle()
    assert [message.body for message in consumer.received] == [b"tea"]
    with pytest.raises(MQClientError, match="No accessKey is configured"):
        mq.producer(group="without").send("orders", b"tea")


@pytest.mark.anyio
async def test_asynchronous_producer_signs(mq: fakemq.Cluster) -> None:
    async with AsyncProducer(
        mq.namesrv_addr, group="shop", access_key="useruser", secret_key="12345678"
    ) as producer:
        await producer.send("orders", b"tea")
    assert len(mq.messages("orders")) == 1


def test_single_requests_are_signed(mq: fakemq.Cluster) -> None:
    with Client(mq.namesrv_addr, access_key="adminadmin", secret_key="12345678") as client:
        client.create_topic("new", 1)
        sent = client.send(Message("new", b"tea", keys="one"))
        found = client.query_message_by_unique_key("new", sent.msg_id)
        assert found is not None
        assert found.body == b"tea"
    with (
        Client(mq.namesrv_addr, access_key="useruser", secret_key="12345678") as client,
        pytest.raises(MQBrokerError, match="Need admin permission for request code=17"),
    ):
        client.create_topic("newer", 1)


def delete_user(mq: fakemq.Cluster) -> None:
    with Client(mq.namesrv_addr, access_key="useruser", secret_key="12345678") as client:
        broker = client.cluster_info().broker_addr_table["broker-a"].broker_addrs[0]
        command = client.instance.command(RequestCode.DELETE_ACL_CONFIG)
        command.ext_fields["accessKey"] = "useruser"
        assert client.invoke(broker, command).code == ResponseCode.SUCCESS


def test_reset_returns_to_the_first_rules(mq: fakemq.Cluster) -> None:
    delete_user(mq)
    assert refusal(mq, **USER) == "No acl config for useruser"
    mq.broker("broker-a").kill()
    mq.broker("broker-a").restart()
    assert refusal(mq, **USER) == "No acl config for useruser"
    mq.reset()
    mq.create_topic("orders")
    assert refusal(mq, **USER) == ""


def test_fault_of_answers_meets_refusals_too(mq: fakemq.Cluster) -> None:
    fault = mq.faults.error("SEND_MESSAGE_V2", code="SYSTEM_BUSY", at="before_reply", times=1)
    refusal(mq, **USER)
    assert fault.used


def test_slave_needs_an_address_that_needs_no_key() -> None:
    def groups_of_the_slave(rules: Mapping[str, object]) -> set[str]:
        with fakemq.Cluster(slaves=1, acl=rules, clock="frozen") as mq:
            mq.create_topic("orders")
            mq.clock.advance("30s")
            assert mq.journal.find(HandlerFailed) == []
            return mq.inspect(lambda core: set(core.brokers["broker-a-1"].topics.snapshot()))

    assert "orders" not in groups_of_the_slave(RULES)
    white = {**RULES, "globalWhiteRemoteAddresses": ["127.0.0.1"]}
    assert "orders" in groups_of_the_slave(white)


def home(tmp_path: Path, perms: str) -> Path:
    (tmp_path / "conf").mkdir(exist_ok=True)
    path = tmp_path / "conf" / "plain_acl.yml"
    path.write_text(TEXT.format(perms=perms))
    return path


def changed(path: Path, perms: str) -> None:
    """Change a file, and its time, which a file system may count in seconds."""
    before = path.stat().st_mtime_ns
    path.write_text(TEXT.format(perms=perms))
    os.utime(path, ns=(before + 10**9, before + 10**9))


def test_config_names_the_home_and_files_are_read_again(tmp_path: Path) -> None:
    path = home(tmp_path, "orders=SUB")
    config = {"aclEnable": "true", "rocketmqHome": str(tmp_path)}
    with fakemq.Cluster(config=config, clock="frozen", topics={"orders": 1}) as mq:
        assert refusal(mq, **USER) == "No default permission for topic:orders"
        changed(path, "orders=PUB")
        mq.clock.advance("4.9s")
        assert refusal(mq, **USER) == "No default permission for topic:orders"
        mq.clock.advance("0.1s")
        assert refusal(mq, **USER) == ""
        path.write_text("accounts: [")
        mq.clock.advance("5s")
        assert refusal(mq, **USER) == ""
        (warned,) = mq.journal.find(Warned)
        assert "the rules of access control were not read again" in warned.text


def test_option_names_the_file(tmp_path: Path) -> None:
    path = home(tmp_path, "orders=PUB")
    with fakemq.Cluster(acl=path, topics={"orders": 1}) as mq:
        assert refusal(mq, **USER) == ""
        assert refusal(mq) == "No accessKey is configured"


def update_config(mq: fakemq.Cluster, text: str, access_key: str = "") -> None:
    secret_key = ADMIN["secret_key"] if access_key else ""
    with Client(mq.namesrv_addr, access_key=access_key, secret_key=secret_key) as client:
        broker = client.cluster_info().broker_addr_table["broker-a"].broker_addrs[0]
        command = client.instance.command(RequestCode.UPDATE_BROKER_CONFIG)
        command.body = text.encode()
        assert client.invoke(broker, command).code == ResponseCode.SUCCESS


def test_request_switches_access_control_on_for_the_next_start(tmp_path: Path) -> None:
    home(tmp_path, "orders=PUB")
    config = {"rocketmqHome": str(tmp_path)}
    with fakemq.Cluster(config=config, clock="frozen", topics={"orders": 1}) as mq:
        update_config(mq, "aclEnable=true")
        assert refusal(mq) == ""
        mq.broker("broker-a").restart()
        assert refusal(mq) == "No accessKey is configured"
        assert refusal(mq, **USER) == ""
        mq.reset()
        mq.create_topic("orders")
        assert refusal(mq) == "", "the config of the start is without it"


def test_request_switches_access_control_off_for_the_next_start(mq: fakemq.Cluster) -> None:
    update_config(mq, "aclEnable=false", ADMIN["access_key"])
    assert refusal(mq) == "No accessKey is configured"
    mq.broker("broker-a").restart()
    assert refusal(mq) == ""
    mq.reset()
    assert refusal(mq) == "No accessKey is configured"


def test_peer_does_not_choose_the_home_of_the_rules(tmp_path: Path) -> None:
    home(tmp_path, "orders=PUB")
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq:
        update_config(mq, f"aclEnable=true\nrocketmqHome={tmp_path}")
        with pytest.raises(fakemq.ConfigError, match="aclEnable=true needs rocketmqHome=DIR"):
            mq.broker("broker-a").restart()


def test_snapshot_has_the_rules(mq: fakemq.Cluster) -> None:
    before = mq.snapshot()
    delete_user(mq)
    without = mq.snapshot()
    mq.restore(before)
    assert refusal(mq, **USER) == ""
    mq.restore(without)
    assert refusal(mq, **USER) == "No acl config for useruser"
    with fakemq.Cluster(acl={"accounts": []}, clock="frozen", topics={"orders": 1}) as other:
        assert refusal(other, **USER) == "No acl config for useruser"
        other.restore(before)
        assert refusal(other, **USER) == ""


def test_snapshot_of_a_cluster_that_checks_nothing_has_the_rules_too(mq: fakemq.Cluster) -> None:
    delete_user(mq)
    update_config(mq, "aclEnable=false", ADMIN["access_key"])
    mq.broker("broker-a").restart()
    before = mq.snapshot()
    mq.reset()
    mq.create_topic("orders")
    assert refusal(mq, **USER) == ""
    mq.restore(before)
    assert refusal(mq) == ""
    update_config(mq, "aclEnable=true")
    mq.broker("broker-a").restart()
    assert refusal(mq, **USER) == "No acl config for useruser"


def test_snapshot_leaves_files_of_rules(tmp_path: Path) -> None:
    path = home(tmp_path, "orders=PUB")
    with fakemq.Cluster(acl=path, clock="frozen", topics={"orders": 1}) as mq:
        before = mq.snapshot()
        changed(path, "orders=SUB")
        mq.restore(before)
        assert refusal(mq, **USER) == "No default permission for topic:orders"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "accounts:\n  [",
            r"the rules of access control: .*plain_acl.yml: line \d, column \d: .*, while parsing",
        ),
        ("accounts: [{accessKey: short}]", "cannot be null and length should longer than 6"),
    ],
)
def test_wrong_file_is_refused_at_the_start(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "plain_acl.yml"
    path.write_text(text)
    with pytest.raises(fakemq.ConfigError, match=message):
        fakemq.Cluster(acl=path).start()


def test_missing_home_is_refused_at_the_start() -> None:
    with pytest.raises(fakemq.ConfigError, match="aclEnable=true needs rocketmqHome=DIR"):
        fakemq.Cluster(config={"aclEnable": "true"}).start()


@pytest.mark.rocketmq(acl=RULES, topics={"orders": 1})
def test_marker_makes_a_cluster_that_checks(rocketmq: fakemq.Cluster) -> None:
    assert refusal(rocketmq) == "No accessKey is configured"
    assert refusal(rocketmq, **USER) == ""
