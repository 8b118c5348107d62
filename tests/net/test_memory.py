"""Links inside a cluster: the same bytes as on a socket, delivered when the network settles."""

from __future__ import annotations

import pytest

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.events import Warned
from fakemq.journal.journal import Journal
from fakemq.net import memory
from fakemq.net.link import Link
from fakemq.net.memory import MemoryLink, MemoryNetwork
from fakemq.net.session import Session
from fakemq.protocol.command import RemotingCommand
from tests.support.echo import Echo

ADDR = "127.0.0.1:1"


class NetworkLab:
    """Both ends of every connection."""

    name = "lab"

    def __init__(self) -> None:
        clock = Clock(frozen=True)
        self.clock = NodeClock(clock, self.name)
        self.journal = Journal(clock)
        self.network = MemoryNetwork()
        self.requests: list[tuple[Session, int]] = []
        self.closed: list[Session] = []
        self.posts = 0
        self.network.on_post = self._posted
        self.network.listen(ADDR, self.accept)

    def _posted(self) -> None:
        self.posts += 1

    def accept(self, link: Link) -> Session:
        return Session(link, self, self.take)

    def take(self, session: Session, command: RemotingCommand) -> None:
        self.requests.append((session, command.code))

    def session_closed(self, session: Session) -> None:
        self.closed.append(session)

    def connect(self) -> Session:
        session = self.network.connect(ADDR, "client", self.accept)
        assert session is not None
        return session


@pytest.fixture
def lab() -> NetworkLab:
    return NetworkLab()


def test_bytes_arrive_when_the_network_settles(lab: NetworkLab) -> None:
    near = lab.connect()
    near.invoke_oneway(RemotingCommand(7))
    assert lab.requests == []
    lab.network.settle()
    ((far, code),) = lab.requests
    assert code == 7
    assert far is not near
    assert (far.remote_addr, near.remote_addr) == (near.link.local_addr, ADDR)
    assert not near.outside


def test_bytes_arrive_in_write_order(lab: NetworkLab) -> None:
    one, two = lab.connect(), lab.connect()
    for code in range(6):
        (two if code % 2 else one).invoke_oneway(RemotingCommand(code))
    lab.network.settle()
    assert [code for _, code in lab.requests] == list(range(6))


def test_driver_is_notified_once_until_the_network_settles(lab: NetworkLab) -> None:
    session = lab.connect()
    for code in range(3):
        session.invoke_oneway(RemotingCommand(code))
    assert lab.posts == 1
    lab.network.settle()
    session.invoke_oneway(RemotingCommand(3))
    assert lab.posts == 2


def test_answer_written_while_settling_arrives_too(lab: NetworkLab) -> None:
    hops = []

    def bounce(session: Session, command: RemotingCommand) -> None:
        hops.append(command.code)
        lab.network.settle()  # a handler that settles does not run inside itself
        if command.code < 5:
            session.invoke_oneway(RemotingCommand(command.code + 1))

    lab.take = bounce  # type: ignore[method-assign]
    session = lab.connect()
    session.invoke_oneway(RemotingCommand(0))
    lab.network.settle()
    assert hops == list(range(6))


def test_connect_without_a_listener_is_refused(lab: NetworkLab) -> None:
    assert lab.network.knows(ADDR)
    lab.network.unlisten(ADDR)
    lab.network.unlisten(ADDR)
    assert not lab.network.knows(ADDR)
    assert lab.network.connect(ADDR, "client", lab.accept) is None


def test_other_protocols_use_the_same_links(lab: NetworkLab) -> None:
    echo, asker = Echo(), Echo(answers=False)
    lab.network.listen("127.0.0.1:2", echo.on)
    assert lab.network.connect("127.0.0.1:2", "client", asker.on) is asker
    asker.pause()
    asker.link.write(b"\xff no frame")
    lab.network.settle()
    echo.link.close()
    lab.network.settle()
    assert (asker.received, asker.lost) == (b"", [])
    asker.resume()
    assert (echo.received, asker.received) == (b"\xff no frame", b"\xff no frame")
    assert (echo.lost, asker.lost) == ([], ["closed by the peer"]), (
        "the closing end is not notified"
    )


def test_link_knows_the_nodes_at_its_ends(lab: NetworkLab) -> None:
    near, far = Echo(), Echo()
    lab.network.listen("127.0.0.1:2", far.on, "namesrv-0")
    lab.network.connect("127.0.0.1:2", "broker-a-0", near.on)
    lab.network.connect(ADDR, "broker-a-0", (nameless := Echo()).on)
    assert [
        (link.local_node, link.remote_node)
        for link in (near.link, far.link, nameless.link)
        if isinstance(link, MemoryLink)
    ] == [("broker-a-0", "namesrv-0"), ("namesrv-0", "broker-a-0"), ("broker-a-0", ADDR)]
    assert near.link.remote_addr == far.link.local_addr == "127.0.0.1:2"


def test_close_arrives_after_written_data(lab: NetworkLab) -> None:
    near = lab.connect()
    near.invoke_oneway(RemotingCommand(7))
    near.close("done")
    near.close("again")
    assert lab.closed == [near]
    lab.network.settle()
    assert [code for _, code in lab.requests] == [7]
    assert len(lab.closed) == 2
    assert all(session.closed for session in lab.closed)
    near.send(RemotingCommand(8))
    near.link.write(b"late")
    lab.network.settle()
    assert len(lab.requests) == 1


def test_paused_link_keeps_data_until_resume(lab: NetworkLab) -> None:
    near = lab.connect()
    near.invoke_oneway(RemotingCommand(6))
    lab.network.settle()
    far, _ = lab.requests.pop()
    for _ in range(2):
        far.pause()
    near.invoke_oneway(RemotingCommand(7))
    near.invoke_oneway(RemotingCommand(8))
    near.close("done")
    lab.network.settle()
    assert (lab.requests, lab.closed) == ([], [near])
    for _ in range(2):
        far.resume()
    assert lab.requests == [(far, 7), (far, 8)]
    assert lab.closed == [near, far]


def test_pause_in_the_middle_keeps_the_order(lab: NetworkLab) -> None:
    codes = []

    far = []

    def take(session: Session, command: RemotingCommand) -> None:
        far.append(session)
        codes.append(command.code)
        session.pause()

    lab.take = take  # type: ignore[method-assign]
    near = lab.connect()
    for code in range(3):
        near.invoke_oneway(RemotingCommand(code))
    lab.network.settle()
    for expected in ([0], [0, 1], [0, 1, 2]):
        assert codes == expected
        far[0].resume()


def test_error_while_settling_leaves_the_network_usable(lab: NetworkLab) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    settled: list[str] = []
    lab.network.post(fail)
    lab.network.post(lambda: settled.append("the rest"))
    asked: list[int] = []
    lab.network.on_post = lambda: asked.append(1)
    with pytest.raises(ZeroDivisionError):
        lab.network.settle()
    assert asked == [1], "the rest must not wait for the next bytes"
    lab.network.settle()
    assert settled == ["the rest"]
    lab.connect().invoke_oneway(RemotingCommand(7))
    lab.network.settle()
    assert len(lab.requests) == 1


# -- a paused node that is sent more than anybody keeps --------------------------------------


def test_data_for_a_paused_end_are_bounded(
    lab: NetworkLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "UNREAD_MAX_BYTES", 10_000)
    near, other = lab.connect(), lab.connect()
    near.invoke_oneway(RemotingCommand(7))
    lab.network.settle()
    ((far, _),) = lab.requests
    far.pause()
    for _ in range(20):
        near.invoke_oneway(RemotingCommand(8, body=bytes(1_000)))
        other.invoke_oneway(RemotingCommand(9))
    lab.network.settle()
    assert (near.closed, far.closed, other.closed) == (True, False, False)
    (warned,) = lab.journal.find(Warned)
    assert "unread; 10000 is the most" in warned.text
    far.resume()
    lab.network.settle()
    assert far.closed
    codes = [code for _, code in lab.requests]
    assert codes.count(9) == 20
    assert 5 < codes.count(8) < 12


def test_delivery_of_the_next_turn_lets_others_go_first(lab: NetworkLab) -> None:
    network, done = lab.network, list[str]()

    def later() -> None:
        done.append("later")
        if len(done) < 3:
            network.post_later(later)

    network.post_later(later)
    network.post(lambda: done.append("now"))
    assert lab.posts == 2
    assert network.settle_for(1_000)
    assert done == ["now", "later"]
    assert lab.posts == 3
    assert network.settle_for(1_000)
    assert done == ["now", "later", "later"]


def test_settling_makes_deliveries_of_later_turns(lab: NetworkLab) -> None:
    network, done = lab.network, list[int]()

    def later() -> None:
        done.append(len(done))
        if len(done) < 3:
            network.post_later(later)

    network.post_later(later)
    network.settle()
    assert done == [0, 1, 2]
