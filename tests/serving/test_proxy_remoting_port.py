"""The proxy's port for remoting: opened if it is asked for, and shared with gRPC."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

import fakemq
from fakemq.client import Client
from fakemq.core.cluster import ClusterCore
from fakemq.errors import ConfigError, FakemqError
from fakemq.protocol.http2.frames import PREFACE
from tests.support.eventually import eventually
from tests.support.grpc_client import grpc_client
from tests.support.tcp import refuses

NO_SUCH = "/apache.rocketmq.v2.MessagingService/Nix"


def _connections(core: ClusterCore) -> int:
    assert core.proxy is not None
    return len(core.proxy.sessions)


def test_port_takes_clients_of_both_protocols() -> None:
    with fakemq.Cluster(proxy_remoting=True) as mq:
        addr = mq.proxy.remoting_addr
        assert addr != mq.grpc_addr
        mq.create_topic("orders", 2)
        with Client(addr) as client:
            route = client.update_route("orders")
            assert route is not None
            assert {*route.data.broker_datas[0].broker_addrs.values()} == {addr}
        with grpc_client(addr) as caller:
            assert caller.refused(NO_SUCH)[0] == "UNIMPLEMENTED"


def test_port_speaks_tls() -> None:
    with (
        fakemq.Cluster(proxy_remoting=True, tls="enforcing") as mq,
        grpc_client(mq.proxy.remoting_addr, mq.tls.ca_file) as caller,
    ):
        assert caller.refused(NO_SUCH)[0] == "UNIMPLEMENTED"


def test_first_bytes_may_come_one_by_one() -> None:
    with fakemq.Cluster(proxy_remoting=True) as mq:
        host, _, port = mq.proxy.remoting_addr.rpartition(":")
        with socket.create_connection((host, int(port)), 10) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in PREFACE:
                sock.sendall(bytes([byte]))
            sock.sendall(bytes(3) + b"\x04" + bytes(5))  # SETTINGS
            assert sock.recv(9)[3] == 4


def test_port_closes_with_the_proxy_and_opens_again() -> None:
    with fakemq.Cluster(proxy_remoting=True) as mq:
        addr = mq.proxy.remoting_addr
        port = int(addr.rpartition(":")[2])
        mq.proxy.kill()
        assert refuses(port)
        mq.proxy.restart()
        assert mq.proxy.remoting_addr == addr
        assert not refuses(port)


def test_killed_proxy_ends_connections_of_both_protocols() -> None:
    with fakemq.Cluster(proxy_remoting=True) as mq:
        host, _, port = mq.proxy.remoting_addr.rpartition(":")
        with (
            socket.create_connection((host, int(port)), 10) as remoting,
            socket.create_connection((host, int(port)), 10) as grpc,
        ):
            grpc.sendall(PREFACE + bytes(3) + b"\x04" + bytes(5))
            grpc.recv(9)
            eventually(lambda: mq.inspect(_connections) == 2)
            mq.proxy.kill()
            assert remoting.recv(1) == b""
            while grpc.recv(1 << 12):
                pass


def test_port_is_in_the_ready_line() -> None:
    command = [sys.executable, "-m", "fakemq", "--namesrv-port", "0", "--broker-port", "0"]
    command += ["--proxy-remoting-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as made:
        try:
            assert made.stdout is not None
            line = next(one for one in made.stdout if one.startswith("fakemq ready"))
            assert ", proxy-remoting 127.0.0.1:" in line
            assert ", grpc 127.0.0.1:" in line
        finally:
            made.terminate()


def test_cluster_without_such_a_port_says_so() -> None:
    with (
        fakemq.Cluster(grpc=True) as mq,
        pytest.raises(FakemqError, match="proxy_remoting=True"),
    ):
        _ = mq.proxy.remoting_addr


def test_reference_without_pop_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"which reference 4\.9\.7 does not have"):
        fakemq.Cluster(proxy_remoting=True, reference="4.9.7")


def test_port_of_another_node_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"remoting at the proxy \(proxy_remoting\)"):
        fakemq.Cluster(proxy_remoting=10911, broker_port=10911)


def test_door_is_imported_only_if_it_is_asked_for() -> None:
    code = (
        "import sys, fakemq\n"
        "with fakemq.Cluster(grpc=True): pass\n"
        "assert not [name for name in sys.modules if name.startswith('fakemq.proxy.door')]\n"
        "assert not [name for name in sys.modules if name.startswith('fakemq.proxy.remoting')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
