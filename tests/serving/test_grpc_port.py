"""The port for gRPC clients: plain and TLS by the first bytes, PROXY headers, life of its node."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest
from grpc import FutureTimeoutError

import fakemq
from fakemq.core.cluster import ClusterCore
from fakemq.errors import ConfigError, FakemqError
from fakemq.events import LinkOpened, Warned
from fakemq.protocol.http2.frames import PREFACE
from fakemq.proxy.proxy import Proxy
from tests.support.grpc_client import grpc_client
from tests.support.tcp import refuses

NO_SUCH = "/apache.rocketmq.v2.MessagingService/Nix"
UNIMPLEMENTED = ("UNIMPLEMENTED", "Method not found: apache.rocketmq.v2.MessagingService/Nix")


def port_of(mq: fakemq.Cluster) -> int:
    return int(mq.grpc_addr.rpartition(":")[2])


def front_of(core: ClusterCore) -> Proxy:
    assert core.proxy is not None
    return core.proxy


def test_plain_and_secure_clients_use_one_port() -> None:
    with fakemq.Cluster(grpc=True, tls="permissive") as mq:
        with grpc_client(mq.grpc_addr) as client:
            assert client.refused(NO_SUCH) == UNIMPLEMENTED
        with grpc_client(mq.grpc_addr, mq.tls.ca_file) as client:
            assert client.refused(NO_SUCH) == UNIMPLEMENTED


def test_plain_client_is_refused_when_tls_is_demanded() -> None:
    with fakemq.Cluster(grpc=True, tls="enforcing") as mq:
        with grpc_client(mq.grpc_addr, mq.tls.ca_file) as client:
            assert client.refused(NO_SUCH) == UNIMPLEMENTED
        with grpc_client(mq.grpc_addr) as client:
            assert client.refused(NO_SUCH)[0] == "UNAVAILABLE"


@pytest.mark.parametrize("tls", ["permissive", "disabled"])
def test_peer_behind_a_balancer_has_the_address_of_the_header(
    tls: Literal["disabled", "permissive", "enforcing"],
) -> None:
    with (
        fakemq.Cluster(grpc=True, tls=tls, proxy_protocol_from="10.0.0.1,127.0.0.0/8") as mq,
        socket.create_connection(("127.0.0.1", port_of(mq)), 10) as sock,
    ):
        for piece in (
            b"PROXY TCP4 10.0.0",
            b".9 10.0.0.1 5678 80\r\n" + PREFACE,
            b"\0\0\0\4\0\0\0\0\0",
        ):
            sock.sendall(piece)
        assert sock.recv(9), "settings"

        def peer() -> bool:
            peers = mq.inspect(lambda core: [one.remote_addr for one in front_of(core).sessions])
            return peers == ["10.0.0.9:5678"]

        mq.wait_for(peer)


HEADER_V2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x0a\0\0\x09\x0a\0\0\x01\x16\x2e\0\x50"


@pytest.mark.parametrize("header", [b"PROXY TCP4 10.0.0.9 10.0.0.1 5678 80\r\n", HEADER_V2])
@pytest.mark.parametrize("named", ["", "10.0.0.9", "::1"])
def test_header_of_a_peer_that_no_option_names_ends_its_connection(
    header: bytes, named: str
) -> None:
    rules = {
        "globalWhiteRemoteAddresses": ["10.0.0.9"],
        "accounts": [{"accessKey": "adminadmin", "secretKey": "12345678", "admin": True}],
    }
    with (
        fakemq.Cluster(grpc=True, acl=rules, proxy_protocol_from=named) as mq,
        socket.create_connection(("127.0.0.1", port_of(mq)), 10) as sock,
    ):
        sock.sendall(header + PREFACE + b"\0\0\0\4\0\0\0\0\0")
        with suppress(ConnectionResetError):
            while sock.recv(4096):
                pass
        (warned,) = mq.journal.find(Warned)
        assert "name its address by proxy_protocol_from" in warned.text
        assert "127.0.0.1:" in warned.text
        with grpc_client(mq.grpc_addr) as client:
            assert client.refused(NO_SUCH) == UNIMPLEMENTED, "without a header as before"


@pytest.mark.parametrize("wrong", ["nowhere", "10.0.0.1/8", "10.0.0.1,", "10.0.0.0/33"])
def test_wrong_address_of_a_balancer_is_an_error_at_the_start(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"expected an address such as 10\.0\.0\.1, or a network"):
        fakemq.Cluster(grpc=True, proxy_protocol_from=wrong)


def test_balancer_without_a_grpc_port_is_an_error() -> None:
    with pytest.raises(ConfigError, match="proxy_protocol_from needs a gRPC port"):
        fakemq.Cluster(proxy_protocol_from=["10.0.0.1"])


def test_paused_front_reads_nothing_until_it_is_resumed() -> None:
    with fakemq.Cluster(grpc=True) as mq, grpc_client(mq.grpc_addr) as client:
        assert client.refused(NO_SUCH) == UNIMPLEMENTED
        (opened,) = [one for one in mq.journal.find(LinkOpened) if one.node == "proxy-0"]
        assert opened.outside
        mq.inspect(lambda core: front_of(core).pause())
        call = client.begin(NO_SUCH)
        with pytest.raises(FutureTimeoutError):
            call.result(timeout=0.2)
        mq.inspect(lambda core: front_of(core).resume())
        assert call.code().name == "UNIMPLEMENTED"


def test_port_of_a_stopped_front_is_refused_and_free_for_its_restart() -> None:
    with fakemq.Cluster(grpc=True) as mq:
        addr, port, server = mq.grpc_addr, port_of(mq), mq._running().server
        mq.inspect(lambda core: server.stop_proxy())
        assert refuses(port)
        mq.inspect(lambda core: server.restart_proxy())
        assert mq.grpc_addr == addr
        with grpc_client(addr) as client:
            assert client.refused(NO_SUCH) == UNIMPLEMENTED


def test_cluster_without_a_grpc_port_says_how_to_get_one() -> None:
    with fakemq.Cluster() as mq, pytest.raises(FakemqError, match="start it with grpc=True"):
        mq.grpc_addr  # noqa: B018


def test_ready_line_and_file_have_the_port(tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    command = [sys.executable, "-m", "fakemq", "--namesrv-port", "0", "--broker-port", "0"]
    command += ["--grpc-port", "0", "--ready-file", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            ready = json.loads(file.read_text())
            assert f"grpc {ready['grpc']}" in line
            with grpc_client(ready["grpc"]) as client:
                assert client.refused(NO_SUCH) == UNIMPLEMENTED
        finally:
            process.terminate()


def test_ready_file_without_the_port_is_as_before(tmp_path: Path) -> None:
    with fakemq.Cluster(ready_file=tmp_path / "ready.json"):
        assert "grpc" not in json.loads((tmp_path / "ready.json").read_text())


def test_grpc_port_means_reference_5_5_0() -> None:
    with pytest.raises(ConfigError) as caught:
        fakemq.Cluster(grpc=True, reference="4.9.7")
    assert str(caught.value) == (
        "grpc=0: gRPC clients need brokers with POP, which reference 4.9.7 does not have:"
        " expected reference 5.5.0, or none"
    )
    assert fakemq.Cluster(grpc=True)._spec.reference.name == "5.5.0"
    assert fakemq.Cluster(grpc=False)._spec.reference.name == "4.9.7"


def test_missing_extra_is_one_clear_error() -> None:
    code = (
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name.startswith('google') else find(name, *a)\n"
        "import fakemq; fakemq.Cluster(grpc=True)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.rstrip().endswith(
        "grpc=0 needs an extra that is not installed: pip install 'fakemq[grpc]'"
    )


@pytest.mark.parametrize("options", ["", "reference='5.5.0'"])
def test_cluster_without_the_port_imports_nothing_of_it(options: str) -> None:
    code = f"""
import sys, fakemq
with fakemq.Cluster({options}):
    for name in sys.modules:
        assert not name.startswith(("h2", "hpack", "google.protobuf", "fakemq.proxy")), name
        assert "grpc" not in name and "http2" not in name, name
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
