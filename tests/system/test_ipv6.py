"""A cluster that is reached by IPv6: addresses, ids and records have room for it."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

import fakemq
from fakemq.client import Client, Message
from fakemq.config.spec import cluster_spec
from fakemq.protocol.message_id import decode_offset_id


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(not _has_ipv6(), reason="this machine has no ::1")


@pytest.mark.parametrize(
    ("listen", "advertise", "expected"),
    [
        ("::1", None, "[::1]"),
        ("[::1]", None, "[::1]"),
        ("::", "::1", "[::1]"),
        ("::", "[fe80::1]", "[fe80::1]"),
        ("127.0.0.1", "localhost", "localhost"),
    ],
)
def test_clients_are_given_an_address_in_brackets(
    listen: str, advertise: str | None, expected: str
) -> None:
    spec = cluster_spec(listen=listen, advertise=advertise)
    assert spec.advertised_host == expected
    assert [config.broker_ip1 for config in spec.broker_configs] == [expected]
    assert spec.listen == listen.strip("[]")


def test_messages_are_found_by_their_long_ids(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    with fakemq.Cluster(listen="::1", topics={"orders": 1}, ready_file=ready) as mq:
        info = json.loads(ready.read_text())
        addr = mq.brokers[0].addr
        assert addr.startswith("[::1]:")
        assert info["namesrv"] == mq.namesrv_addr
        assert info["brokers"][0]["addr"] == addr
        with Client(mq.namesrv_addr) as client:
            sent = client.send(Message("orders", "by IPv6"))
            assert len(sent.offset_msg_id) == 56
            assert decode_offset_id(sent.offset_msg_id).store_host[0] == "::1"
            assert client.view_message(sent.offset_msg_id).body == b"by IPv6"
        (message,) = mq.messages("orders")
        assert (message.born_host, message.store_host) == ("::1", addr)
        assert message.offset_msg_id == sent.offset_msg_id


def test_batch_has_long_ids() -> None:
    with (
        fakemq.Cluster(listen="::1", topics={"orders": 1}) as mq,
        Client(mq.namesrv_addr) as client,
    ):
        sent = client.send_batch([Message("orders", body) for body in ("a", "b")])
        ids = sent.offset_msg_id.split(",")
        assert [len(one) for one in ids] == [56, 56]
        assert [client.view_message(one).body for one in ids] == [b"a", b"b"]


@pytest.mark.parametrize("ip", ["::1", "[::1]"])
def test_brokers_ip_may_be_written_with_or_without_brackets(ip: str) -> None:
    config = {"brokerIP1": ip, "brokerIP2": ip}
    with fakemq.Cluster(listen="::1", config=config, topics={"orders": 1}) as mq:
        assert mq.brokers[0].addr.startswith(f"{ip}:")
        with Client(mq.namesrv_addr) as client:
            assert len(client.send(Message("orders", "x")).offset_msg_id) == 56


def test_ipv4_client_of_a_dual_socket_has_its_ipv4_address() -> None:
    with fakemq.Cluster(listen="::", advertise="127.0.0.1", topics={"orders": 1}) as mq:
        with Client(mq.namesrv_addr) as client:
            assert len(client.send(Message("orders", "x")).offset_msg_id) == 32
        assert mq.messages("orders")[0].born_host == "127.0.0.1"
