"""Clusters that speak TLS: clients of every kind, files that change, nodes elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fakemq
from fakemq.client import (
    AsyncClient,
    AsyncProducer,
    Client,
    Message,
    Producer,
    PushConsumer,
    ReceivedMessage,
)
from fakemq.config.spec import broker_spec, tls_spec
from fakemq.events.core import Warned
from fakemq.serving.thread import ClusterThread
from tests.support.certificates import Certificates
from tests.support.eventually import eventually
from tests.support.tls_peers import asked, connected, insecure, trusting, warned_once, warnings

# -- clients ----------------------------------------------------------------------------------


@pytest.mark.parametrize("vip_channel", [False, True])
def test_blocking_clients_speak_tls(enforcing: fakemq.Cluster, vip_channel: bool) -> None:
    mq, received = enforcing, list[bytes]()
    mq.reset()
    mq.create_topic("orders")

    def receive(message: ReceivedMessage) -> None:
        received.append(message.body)

    large = os.urandom(1 << 20)
    options = {**trusting(mq), "vip_channel": vip_channel}
    with (
        Producer(mq.namesrv_addr, group="shop", **options) as producer,
        PushConsumer(
            mq.namesrv_addr,
            group="billing",
            subscribe={"orders": "*"},
            on_message=receive,
            consume_from="first",
            **options,
        ),
        Client(mq.namesrv_addr, **options) as client,
    ):
        producer.send("orders", b"one")
        client.send(Message("orders", large))
        eventually(lambda: len(received) == 2)
    assert sorted(received, key=len) == [b"one", large]


@pytest.mark.anyio
async def test_asynchronous_clients_speak_tls(enforcing: fakemq.Cluster) -> None:
    mq, large = enforcing, os.urandom(1 << 20)
    mq.reset()
    mq.create_topic("orders")
    async with (
        AsyncProducer(mq.namesrv_addr, group="shop", **trusting(mq)) as producer,
        AsyncClient(mq.namesrv_addr, **trusting(mq)) as client,
    ):
        await producer.send("orders", b"one")
        sent = await client.send(Message("orders", large))
        found = await client.query_message_by_unique_key("orders", sent.msg_id)
    assert found is not None
    assert found.body == large
    assert len(mq.messages("orders")) == 2


def test_cluster_without_options_serves_both_kinds_at_one_port() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as mq:
        assert asked(mq, tls=True) == ""
        assert asked(mq) == ""
        assert asked(mq, **trusting(mq)) == ""
        assert mq.tls.mode == "permissive"
        assert warnings(mq) == []


def test_clients_inside_need_no_tls(enforcing: fakemq.Cluster) -> None:
    enforcing.reset()
    enforcing.create_topic("orders")
    enforcing.producer().send("orders", b"tea")
    assert len(enforcing.messages("orders")) == 1


def test_access_control_works_over_tls() -> None:
    account = {"accessKey": "adminadmin", "secretKey": "12345678", "admin": True}
    with fakemq.Cluster(tls="enforcing", acl={"accounts": [account]}) as mq:
        with Client(
            mq.namesrv_addr, access_key="adminadmin", secret_key="12345678", **trusting(mq)
        ) as client:
            client.create_topic("orders", 1)
        with (
            Client(mq.namesrv_addr, **trusting(mq)) as client,
            pytest.raises(fakemq.FakemqError, match="No accessKey is configured"),
        ):
            client.create_topic("other", 1)


def test_faults_of_links_act_on_plain_bytes(enforcing: fakemq.Cluster) -> None:
    mq = enforcing
    mq.reset()
    mq.create_topic("orders")
    mq.faults.slice("clients", "broker-a", bytes=7)
    mq.faults.latency("clients", "broker-a", "1ms")
    with Producer(mq.namesrv_addr, group="shop", **trusting(mq)) as producer:
        producer.send("orders", b"one")
        mq.faults.reset("clients", "broker-a")
        producer.send("orders", b"two")
    assert len(mq.messages("orders")) == 2
    mq.reset()


@pytest.mark.rocketmq(tls="enforcing", topics={"orders": 1})
def test_marker_makes_a_cluster_that_demands_tls(rocketmq: fakemq.Cluster) -> None:
    assert asked(rocketmq, **trusting(rocketmq)) == ""
    assert "failed" in asked(rocketmq)


# -- files ------------------------------------------------------------------------------------


def shown(mq: fakemq.Cluster) -> bytes:
    """Return the certificate that a new connection is shown."""
    with insecure().wrap_socket(connected(mq)) as sock:
        found = sock.getpeercert(binary_form=True)
    assert found is not None
    return found


def test_changed_certificates_are_read_when_key_and_certificate_have_changed(
    authority: Certificates,
) -> None:
    keys = authority.server_keys()
    cert, key = authority.pair("new")
    with fakemq.Cluster(tls_config=keys) as mq:
        with Client(mq.namesrv_addr, tls=True) as client:
            client.cluster_info()
            first = shown(mq)
            shutil.copy(cert, keys["tls.server.certPath"])
            assert shown(mq) == first
            shutil.copy(key, keys["tls.server.keyPath"])
            second = shown(mq)
            assert second == ssl.PEM_cert_to_DER_cert(Path(cert).read_text())
            client.cluster_info()  # over the connection of before
        assert warnings(mq) == []
        Path(keys["tls.server.certPath"]).write_text("no certificate")
        Path(keys["tls.server.keyPath"]).write_text("no key")
        assert shown(mq) == shown(mq) == second
        warned_once(mq, "the TLS certificates were not read again: cannot use the certificate")


def test_changed_authorities_are_read(authority: Certificates, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Certificates(tmp_path / "other")
    keys = authority.server_keys(auth="require")
    cert, key = other.pair("client")
    options = {"tls": True, "tls_cert_file": cert, "tls_key_file": key}
    with fakemq.Cluster(tls_config=keys) as mq:
        assert "failed" in asked(mq, **options)
        shutil.copy(other.ca, keys["tls.server.trustCertPath"])
        assert asked(mq, **options) == ""


def test_files_are_deleted_with_the_cluster() -> None:
    with fakemq.Cluster(tls="permissive") as mq:
        files = mq.tls
        assert all(map(os.path.isfile, files[1:]))
    assert not os.path.exists(os.path.dirname(files.ca_file))


# -- connections that nodes open ----------------------------------------------------------------


def lone_broker(namesrv_addr: str, tls: dict[str, object] | None, **config: str) -> ClusterThread:
    keys = {"listenPort": "0", "brokerIP1": "127.0.0.1", "brokerName": "broker-z", **config}
    return ClusterThread(broker_spec(keys, namesrv_addr=namesrv_addr, tls=tls_spec(None, tls)))


def with_lone_broker(
    mq: fakemq.Cluster, tls: dict[str, object] | None, check: Callable[[ClusterThread], None]
) -> None:
    broker = lone_broker(mq.namesrv_addr, tls, useTLS="true")
    try:
        broker.wait(broker.server.registered())
        check(broker)
    finally:
        broker.stop()


def names(mq: fakemq.Cluster) -> set[str]:
    with Client(mq.namesrv_addr, **trusting(mq)) as client:
        return set(client.cluster_info().broker_addr_table)


def test_broker_registers_elsewhere_by_tls(enforcing: fakemq.Cluster) -> None:
    def check(broker: ClusterThread) -> None:
        assert "broker-z" in names(enforcing)

    with_lone_broker(enforcing, None, check)
    keys: dict[str, object] = {
        "tls.test.mode.enable": "false",
        "tls.client.authServer": "true",
        "tls.client.trustCertPath": enforcing.tls.ca_file,
        "tls.server.certPath": enforcing.tls.cert_file,
        "tls.server.keyPath": enforcing.tls.key_file,
    }
    with_lone_broker(enforcing, keys, check)


def test_broker_refuses_a_name_server_of_an_unknown_authority(
    enforcing: fakemq.Cluster, authority: Certificates
) -> None:
    def check(broker: ClusterThread) -> None:
        assert "broker-z" not in names(enforcing)
        found = broker.call(lambda: broker.server.core.journal.find(Warned))
        assert "TLS: the peer's certificate is refused" in found[0].text

    keys: dict[str, object] = {
        **authority.server_keys(),
        "tls.client.authServer": "true",
        "tls.client.trustCertPath": authority.ca,
    }
    with_lone_broker(enforcing, keys, check)


# -- the command line -------------------------------------------------------------------------


def test_command_line_says_where_the_authority_is(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "fakemq", "--namesrv-port", "0", "--broker-port", "0"),
            *("--tls", "enforcing", "--topic", "orders:1", "--ready-file", str(ready)),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = json.loads(ready.read_text())
        tls = found["tls"]
        assert tls["mode"] == "enforcing"
        assert f", tls enforcing {tls['ca_file']} (pid" in line
        with Producer(
            found["namesrv"], group="shop", tls=True, tls_ca_file=tls["ca_file"]
        ) as producer:
            for _ in range(3):
                producer.send("orders", os.urandom(100_000))
    finally:
        process.terminate()
        assert process.wait(30) == 0
        process.stdout.close()
    assert not os.path.exists(tls["config_file"])
