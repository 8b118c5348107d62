"""Which of several name servers a client asks, and what it does when one fails."""

from __future__ import annotations

from random import Random

import pytest

from fakemq.client.errors import MQClientError, RemotingConnectError, RemotingTimeoutError
from fakemq.client.name_servers import NameServers
from fakemq.protocol.command import RemotingCommand
from tests.support.scripted_operation import ScriptedOperation, answer

ADDRS = ["n1:1", "n2:1", "n3:1"]


def ask(servers: NameServers, *answers: object) -> ScriptedOperation[RemotingCommand]:
    return ScriptedOperation(servers.ask(RemotingCommand(106), 3000), *answers)  # type: ignore[arg-type]


def test_one_name_server_is_asked_until_it_fails() -> None:
    servers = NameServers(ADDRS, Random(1))
    first = ask(servers, answer()).addrs
    assert ask(servers, answer()).addrs == first
    assert ask(servers, RemotingConnectError(first[0]), answer()).addrs[0] == first[0]
    assert servers.chosen not in (None, first[0])


def test_request_fails_after_every_name_server_was_tried_once() -> None:
    servers = NameServers(ADDRS, Random(1))
    with pytest.raises(RemotingConnectError, match="n1:1"):
        ask(servers, *(RemotingConnectError(one) for one in ADDRS))


def test_time_out_fails_and_the_next_request_asks_another() -> None:
    servers = NameServers(ADDRS, Random(1))
    first = ask(servers)
    with pytest.raises(RemotingTimeoutError):
        first.answer(RemotingTimeoutError(first.addrs[0], 3000))
    assert ask(servers, answer()).addrs != first.addrs


def test_order_of_name_servers_follows_the_seed() -> None:
    assert NameServers(ADDRS, Random(3)).addrs == NameServers(ADDRS, Random(3)).addrs
    assert sorted(NameServers(ADDRS, Random(3)).addrs) == ADDRS


def test_missing_address_raises_an_error() -> None:
    with pytest.raises(MQClientError, match="host:port"):
        NameServers([], Random(1))
