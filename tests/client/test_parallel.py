"""Requests over several connections at once, each with its own response or failure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from fakemq.client.blocking_base import Parallel
from fakemq.client.carriers.callers_thread import CallerCarrier
from fakemq.client.errors import (
    RemotingConnectError,
    RemotingSendRequestError,
    RemotingTimeoutError,
)
from fakemq.client.operation import Operation, ask, tell
from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.errors import FakemqError
from fakemq.protocol.command import RemotingCommand
from tests.support import broker_scripts as scripts
from tests.support.scripted_broker import ScriptedBroker, refused_addr

TIMEOUT_MS = 5_000

Outcomes = list[int | FakemqError]


@pytest.fixture
def parallel() -> Iterator[Parallel]:
    with closing(CallerCarrier()) as carrier:
        yield Parallel(carrier)


@pytest.fixture
def outcomes() -> Outcomes:
    return []


def asking(addr: str, code: int = 34, timeout_ms: int = TIMEOUT_MS) -> Operation[int]:
    response = yield from ask(addr, RemotingCommand(code), timeout_ms)
    return response.code


def until_done(parallel: Parallel) -> None:
    while len(parallel):
        parallel.wait(TIMEOUT_MS)


def test_each_request_gets_its_own_response(parallel: Parallel, outcomes: Outcomes) -> None:
    with ScriptedBroker(scripts.answers_in_reverse) as broker:
        for code in (1, 2):
            parallel.start(asking(broker.addr, code), outcomes.append)
        assert len(parallel) == 2
        assert outcomes == []
        until_done(parallel)
    assert sorted(one for one in outcomes if isinstance(one, int)) == [1, 2]


def test_lost_connection_fails_all_its_requests(parallel: Parallel, outcomes: Outcomes) -> None:
    with ScriptedBroker(scripts.hangs_up, scripts.answers) as broker:
        parallel.start(asking(broker.addr), outcomes.append)
        until_done(parallel)
        (failure,) = outcomes
        assert isinstance(failure, RemotingSendRequestError)
        parallel.start(asking(broker.addr), outcomes.append)
        until_done(parallel)
    assert outcomes[1] == 0


def test_response_received_meanwhile_needs_no_wait(outcomes: Outcomes) -> None:
    before_ms = real_elapsed_ms()
    with closing(CallerCarrier()) as carrier:
        parallel = Parallel(carrier)
        with ScriptedBroker(scripts.answers) as broker:
            parallel.start(asking(broker.addr), outcomes.append)
            assert carrier.turn(TIMEOUT_MS), "the response, as found by another request"
            parallel.wait(TIMEOUT_MS)
        assert outcomes == [0]
        with ScriptedBroker(scripts.hangs_up) as broker:
            parallel.start(asking(broker.addr), outcomes.append)
            assert carrier.turn(TIMEOUT_MS)
            parallel.wait(TIMEOUT_MS)
    assert isinstance(outcomes[1], RemotingSendRequestError)
    assert real_elapsed_ms() - before_ms < TIMEOUT_MS


def test_operation_that_raises_leaves_the_others_under_way(
    parallel: Parallel, outcomes: Outcomes
) -> None:
    def failing(addr: str) -> Operation[int]:
        yield from asking(addr)
        raise ValueError("cannot read it")

    with ScriptedBroker(scripts.answers_in_reverse) as broker:
        parallel.start(failing(broker.addr), outcomes.append)
        parallel.start(asking(broker.addr), outcomes.append)
        with pytest.raises(ValueError, match="cannot read it"):
            until_done(parallel)
        until_done(parallel)
    assert len(outcomes) == 1
    assert not isinstance(outcomes[0], FakemqError)


def test_request_times_out(parallel: Parallel, outcomes: Outcomes) -> None:
    with ScriptedBroker(scripts.stays_silent) as broker:
        parallel.start(asking(broker.addr, timeout_ms=30), outcomes.append)
        until_done(parallel)
    (failure,) = outcomes
    assert isinstance(failure, RemotingTimeoutError)


def test_refused_connection_is_raised_in_the_operation(
    parallel: Parallel, outcomes: Outcomes
) -> None:
    def second_try(addr: str) -> Operation[int]:
        try:
            return (yield from asking(refused_addr()))
        except RemotingConnectError:
            return (yield from asking(addr))

    parallel.start(asking(refused_addr()), outcomes.append)
    (failure,) = outcomes
    assert isinstance(failure, RemotingConnectError)
    with ScriptedBroker(scripts.answers) as broker:
        parallel.start(second_try(broker.addr), outcomes.append)
        until_done(parallel)
    assert outcomes[1] == 0


def test_one_way_request_ends_at_once(parallel: Parallel, outcomes: Outcomes) -> None:
    def telling(addr: str) -> Operation[int]:
        yield from tell(addr, RemotingCommand(34), TIMEOUT_MS)
        return 5

    with ScriptedBroker(scripts.hangs_up) as broker:
        parallel.start(telling(broker.addr), outcomes.append)
        assert outcomes == [5]
        assert len(parallel) == 0


def test_time_passes_when_no_request_is_open(parallel: Parallel) -> None:
    before_ms = real_elapsed_ms()
    parallel.wait(20)
    assert real_elapsed_ms() - before_ms >= 19
