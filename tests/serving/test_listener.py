"""Ports that no other process can take."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest

from fakemq.config.model import BrokerConfig
from fakemq.errors import FakemqError
from fakemq.serving import listener
from fakemq.serving.listener import BrokerPorts, Port
from tests.support.tcp import HOST, refuses


def test_port_is_reserved_and_refuses_until_it_listens(port: Port) -> None:
    assert port.addr == f"{HOST}:{port.port}"
    assert refuses(port.port)
    with socket.socket() as thief, pytest.raises(OSError, match="in use"):
        thief.bind((HOST, port.port))
    for _ in range(2):  # a restart finds it free
        listener = port.listener()
        assert not refuses(port.port)
        listener.close()
        assert refuses(port.port)


def test_sockets_have_the_buffers_of_the_config(port: Port) -> None:
    config = BrokerConfig(server_socket_snd_buf_size=40_000, server_socket_rcv_buf_size=30_000)
    with port.listener(config) as listener:
        listener.setblocking(True)
        with socket.create_connection((HOST, port.port)):
            accepted, _ = listener.accept()
            with accepted:
                # Linux doubles what it is asked for.
                sizes = [
                    accepted.getsockopt(socket.SOL_SOCKET, option)
                    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF)
                ]
    assert sizes == [80_000, 60_000]


def test_port_in_use_is_refused(port: Port) -> None:
    with (
        port.listener(),
        pytest.raises(FakemqError, match=f"port {port.port} on {HOST} is in use by "),
    ):
        Port(HOST, port.port, "", "broker_port")
    with pytest.raises(FakemqError, match=f"port {port.port} .* is in use by "):
        Port(HOST, port.port, "", "broker_port")  # held without listening, too


def test_port_in_use_that_was_only_tried_has_a_short_error(port: Port) -> None:
    # The search for free ports meets some: it must be quick, and load no further module.
    why = f"cannot listen on {HOST}:{port.port}: Address already in use"
    with pytest.raises(FakemqError, match=why) as raised:
        Port(HOST, port.port)
    assert type(raised.value) is FakemqError


def test_port_in_time_wait_is_available(port: Port) -> None:
    with port.listener() as listener:
        listener.setblocking(True)
        with socket.create_connection((HOST, port.port)) as client:
            accepted, _ = listener.accept()
            accepted.close()  # the side that closes first waits
            assert client.recv(1) == b""
    port.close()
    Port(HOST, port.port).close()


def test_foreign_address_is_refused() -> None:
    with pytest.raises(FakemqError, match=r"cannot listen on 192\.0\.2\.1:0: "):
        Port("192.0.2.1", 0)


def test_broker_finds_ports_when_those_of_the_system_have_no_free_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after 14,000 connections within a minute: every second port is in TIME_WAIT."""
    monkeypatch.setattr(listener, "_BROKER_TRIES", 0)
    one, other = BrokerPorts(HOST, 0), BrokerPorts(HOST, 0)
    assert one.main.port in listener._LOWER_PORTS
    assert other.main.port in listener._LOWER_PORTS
    assert one.main.port != other.main.port
    one.close()
    other.close()


def test_broker_has_three_ports() -> None:
    while True:
        ports = BrokerPorts(HOST, 0)
        main = ports.main.port
        with suppress(FakemqError):  # somebody else's: look elsewhere
            Port(HOST, main - 3).close()
            Port(HOST, main - 5).close()
            break
        ports.close()
    assert (ports.vip.port, ports.ha.port) == (main - 2, main + 1)
    why = rf"port {main - 2} on {HOST} \(HA port of broker-a-1\) is in use by "
    with pytest.raises(FakemqError, match=why):
        # The main port is free there, and is released again.
        BrokerPorts(HOST, main - 3, "broker-a-1")
    Port(HOST, main - 3).close()
    ports.close()
    again = BrokerPorts(HOST, main)
    again.close()
