"""Requests from a node to others: which way they take, and what happens without an answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.config.model import BrokerConfig
from fakemq.journal.journal import Journal
from fakemq.net.link import Endpoint, EndpointT, Link
from fakemq.net.memory import MemoryNetwork
from fakemq.net.outbound import Outbound
from fakemq.net.session import Session
from fakemq.protocol.command import RemotingCommand
from tests.support.namesrv_double import NameServerDouble

INSIDE, OUTSIDE = "127.0.0.1:9876", "10.0.0.1:9876"
Open = Callable[[bool], Endpoint | None]
"""End the opening of a connection, with success or without. Return the endpoint."""


class OutboundLab:
    """The owner of the connections, and the TCP that it would use."""

    name = "lab"

    def __init__(self) -> None:
        clock = Clock(frozen=True)
        self.real = clock
        self.clock = NodeClock(clock, self.name)
        self.journal = Journal(clock)
        self.network = MemoryNetwork()
        clock.settle = self.network.settle
        self.double = NameServerDouble(self.network, clock, self.journal, INSIDE)
        self.opening: list[tuple[str, Open]] = []
        self.by_tls: list[bool] = []
        self.config = BrokerConfig()
        self.out = Outbound(self, self.network, self.open_tcp, config=self.config)
        self.replies: list[RemotingCommand | None] = []

    def session_closed(self, session: Session) -> None:
        pass

    def open_tcp(
        self,
        addr: str,
        make: Callable[[Link], EndpointT],
        opened: Callable[[EndpointT | None], None],
        by_tls: bool,
    ) -> None:
        def open_(there: bool) -> EndpointT | None:
            # The double plays the listening node.
            endpoint = self.network.connect(INSIDE, self.name, make) if there else None
            opened(endpoint)
            return endpoint

        self.opening.append((addr, open_))
        self.by_tls.append(by_tls)

    def invoke(self, addr: str) -> None:
        self.out.invoke(addr, RemotingCommand(7), 3_000, self.replies.append)
        self.network.settle()


@pytest.fixture
def lab() -> OutboundLab:
    return OutboundLab()


def test_nodes_of_the_cluster_are_reached_over_memory(lab: OutboundLab) -> None:
    lab.invoke(INSIDE)
    lab.invoke(INSIDE)
    assert [reply is not None for reply in lab.replies] == [True, True]
    assert len(lab.double.sessions) == 1, "one connection for all requests"
    assert lab.opening == []
    assert not lab.double.sessions[0].outside


def test_other_addresses_are_reached_over_tcp_and_requests_wait_together(lab: OutboundLab) -> None:
    lab.invoke(OUTSIDE)
    lab.invoke(OUTSIDE)
    lab.out.invoke_oneway(OUTSIDE, RemotingCommand(8))
    ((addr, open_),) = lab.opening
    assert addr == OUTSIDE
    open_(True)
    lab.network.settle()
    assert lab.double.codes() == [7, 7, 8]
    assert len(lab.replies) == 2
    assert lab.out.session(OUTSIDE) is not None


def test_unreachable_address_answers_none(lab: OutboundLab) -> None:
    lab.invoke(OUTSIDE)
    lab.out.invoke_oneway(OUTSIDE, RemotingCommand(8))
    lab.opening[0][1](False)
    assert lab.replies == [None]
    lab.invoke(OUTSIDE)
    assert len(lab.opening) == 2, "the next request tries again"


def test_outside_address_without_tcp_answers_none(lab: OutboundLab) -> None:
    out = Outbound(lab, lab.network)
    out.invoke(OUTSIDE, RemotingCommand(7), 3_000, lab.replies.append)
    assert lab.replies == [None]


def test_lost_connection_is_replaced(lab: OutboundLab) -> None:
    lab.invoke(INSIDE)
    lab.double.sessions[0].close("gone")
    lab.network.settle()
    assert lab.out.session(INSIDE) is None
    lab.invoke(INSIDE)
    assert len(lab.double.sessions) == 2


def test_missing_answer_times_out(lab: OutboundLab) -> None:
    lab.double.answer = lambda request: None
    lab.invoke(INSIDE)
    assert lab.replies == []
    lab.real.advance("3s")
    assert lab.replies == [None]


@pytest.mark.parametrize("closes", [True, False])
def test_time_out_closes_the_connection_if_the_config_says_so(
    lab: OutboundLab, closes: bool
) -> None:
    lab.config.client_close_socket_if_timeout = closes
    lab.double.answer = lambda request: None
    lab.invoke(INSIDE)
    lab.real.advance("3s")
    assert lab.replies == [None]
    assert (lab.out.session(INSIDE) is None) is closes
    assert bool(lab.double.lost) is closes


def test_connection_is_closed_after_the_idle_time_of_the_config(lab: OutboundLab) -> None:
    lab.config.client_channel_max_idle_time_seconds = 7
    lab.invoke(INSIDE)
    lab.real.advance("6.999s")
    assert lab.out.session(INSIDE) is not None
    lab.real.advance("1ms")
    assert lab.out.session(INSIDE) is None


def test_close_ends_every_connection(lab: OutboundLab) -> None:
    lab.invoke(INSIDE)
    lab.out.close("done")
    lab.network.settle()
    assert len(lab.double.lost) == 1
    assert lab.out.session(INSIDE) is None


def test_connection_opened_after_the_close_is_closed(lab: OutboundLab) -> None:
    lab.invoke(OUTSIDE)
    lab.out.close("killed")
    assert lab.replies == [None]
    late = lab.opening[0][1](True)
    lab.network.settle()
    assert isinstance(late, Session)
    assert late.closed
    assert lab.double.codes() == []
    assert lab.out.session(OUTSIDE) is None


def test_connections_pause_and_resume(lab: OutboundLab) -> None:
    lab.invoke(INSIDE)
    lab.out.pause()
    lab.invoke(INSIDE)
    assert len(lab.replies) == 1
    lab.out.resume()
    assert len(lab.replies) == 2


def test_owner_decides_whether_connections_to_others_use_tls(lab: OutboundLab) -> None:
    lab.invoke(OUTSIDE)
    lab.config.use_tls = True
    lab.invoke("10.0.0.2:9876")
    lab.invoke(INSIDE)
    lab.out.dial("10.0.0.3:10912", lab.out._make, lambda _: None)  # as a slave's HA does
    assert lab.by_tls == [False, True, False]
