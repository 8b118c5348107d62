"""A client's tasks resume after sleeps, responses, and errors in the place of responses."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from fakemq.client.errors import (
    RemotingConnectError,
    RemotingError,
    RemotingSendRequestError,
    RemotingTimeoutError,
)
from fakemq.client.operation import Call
from fakemq.config.spec import cluster_spec
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.randomness import Randomness
from fakemq.sim.client import SimulatedClient, Sleep, Task

NAMESRV, BROKER = "127.0.0.1:9876", "127.0.0.1:10911"
TIMEOUT_MS = 3_000


@pytest.fixture
def core() -> ClusterCore:
    """A cluster whose time only the test advances."""
    spec = cluster_spec(namesrv_port=9876, broker_port=10911, clock="frozen", seed=1)
    core = ClusterCore(spec, [NAMESRV], [10911])
    core.start()
    return core


class Asker(SimulatedClient):
    """Requests a broker's config from one address; records the result and its time."""

    def __init__(self, core: ClusterCore, addr: str, wait_ms: int = 0) -> None:
        super().__init__(core, "asker", Randomness(1).stream("asker"))
        self._addr, self._wait_ms = addr, wait_ms
        self.came: RemotingCommand | RemotingError | None = None
        self.came_at_ms = -1

    @property
    def is_done(self) -> bool:
        return self.came_at_ms >= 0

    def tasks(self) -> list[Task]:
        return [self._asking()]

    def _asking(self) -> Generator[Call | Sleep, RemotingCommand | None, None]:
        yield Sleep(self._wait_ms)
        try:
            command = self.instance.command(RequestCode.GET_BROKER_CONFIG)
            self.came = yield Call(self._addr, command, TIMEOUT_MS)
        except RemotingError as error:
            self.came = error
        self.came_at_ms = self.clock.elapsed_ms()


def test_answer_arrives_at_the_moment_of_the_request(core: ClusterCore) -> None:
    asker = Asker(core, BROKER, wait_ms=70)
    asker.start()
    core.clock.advance_ms(69)
    assert not asker.is_done
    core.clock.advance_ms(1)
    assert isinstance(asker.came, RemotingCommand)
    assert asker.came.code == ResponseCode.SUCCESS
    assert asker.came_at_ms == 70


def test_missing_listener_is_an_error(core: ClusterCore) -> None:
    core.broker("broker-a").kill()
    asker = Asker(core, BROKER)
    asker.start()
    core.clock.advance_ms(0)
    assert isinstance(asker.came, RemotingConnectError)


def test_missing_answer_times_out(core: ClusterCore) -> None:
    core.broker("broker-a").pause()
    asker = Asker(core, BROKER)
    asker.start()
    core.clock.advance_ms(TIMEOUT_MS - 1)
    assert not asker.is_done
    core.clock.advance_ms(1)
    assert isinstance(asker.came, RemotingTimeoutError)
    assert asker.outbound.session(BROKER) is None, "as Java, it closes the connection"


def test_lost_connection_is_an_error(core: ClusterCore) -> None:
    broker = core.broker("broker-a")
    broker.pause()
    asker = Asker(core, BROKER)
    asker.start()
    core.clock.advance_ms(10)
    broker.kill()
    core.network.settle()
    assert isinstance(asker.came, RemotingSendRequestError)


@pytest.mark.parametrize("silently", [False, True])
def test_killed_client_does_nothing_more(core: ClusterCore, silently: bool) -> None:
    asker = Asker(core, BROKER, wait_ms=50)
    asker.start()
    asker.kill(silently=silently)
    core.clock.advance_ms(60_000)
    assert not asker.is_done
    assert not asker.alive
