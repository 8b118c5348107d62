"""Peers that ask and do not read, begin and do not end, come in crowds: each harms itself alone."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from fakemq.events import HandlerFailed, LinkClosed, Warned
from fakemq.net import tcp
from fakemq.net.link import HELD, UNREAD
from fakemq.net.session import Session
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.connection import Connection
from fakemq.serving import listener as listener_module
from fakemq.serving.listener import Listener, Port
from fakemq.store.descriptors import SPARE_DESCRIPTORS, descriptor_limit
from tests.support.listener_lab import ListenerLab, listening, until
from tests.support.tcp import HOST, TcpPeer

MIB = 1 << 20


@pytest.fixture
def crowd() -> Iterator[ExitStack]:
    """Closes at the end what a test opened."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def unread_max_bytes(monkeypatch: pytest.MonkeyPatch) -> int:
    """What may wait for a peer, for once less than any test wants to wait for."""
    bound = 16 * MIB
    monkeypatch.setattr(tcp, "UNREAD_MAX_BYTES", bound)
    return bound


def connect(port: Port, crowd: ExitStack) -> socket.socket:
    return crowd.enter_context(socket.create_connection((HOST, port.port), 5))


async def accepted(lab: ListenerLab, port: Port, crowd: ExitStack) -> tuple[socket.socket, Session]:
    """The first peer, and what the node has of it."""
    sock = connect(port, crowd)
    await until(lambda: len(lab.sessions) == 1)
    return sock, lab.sessions[0]


def name(sock: socket.socket) -> str:
    return "{}:{}".format(*sock.getsockname())


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def works(port: Port) -> bool:
    """Whether a well-behaved peer is served."""

    def ask() -> bool:
        with TcpPeer(port.addr) as peer:
            return peer.ask(7, body=b"hello").body == b"hello"

    return await asyncio.to_thread(ask)


def test_peer_that_never_reads_pushes_is_closed_alone(
    port: Port, crowd: ExitStack, unread_max_bytes: int
) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        deaf, session = await accepted(lab, port, crowd)
        push = RemotingCommand(40, body=bytes(MIB))
        for _ in range(100):
            session.invoke_oneway(push)
            assert not session.closed, "not while it is pushed to"
        assert lab.held.total_bytes < unread_max_bytes + 4 * MIB
        await until(lambda: session.closed and lab.held.total_bytes == 0)
        assert await works(port)
        (closed,) = lab.journal.find(LinkClosed, peer=name(deaf))
        assert f"{unread_max_bytes} is the most" in closed.why
        (warned,) = lab.journal.find(Warned)
        assert warned.text == f"closed the connection of {name(deaf)}: {closed.why}"
        assert list(lab.journal.peer_warnings._periods) == [("lab", UNREAD)]

    listening(port, use)


async def read_slowly(lab: ListenerLab, port: Port, crowd: ExitStack, behind_bytes: int) -> None:
    """A peer that reads, always behind by so much, and by 120 MiB in all."""
    slow, session = await accepted(lab, port, crowd)
    left = 0
    for _ in range(40):
        for _ in range(3):
            session.invoke_oneway(RemotingCommand(40, body=bytes(MIB)))
            left += MIB
        while left > behind_bytes:
            data = await asyncio.to_thread(slow.recv, MIB)
            assert data, "it was closed"
            left -= len(data)
    assert not session.closed


def test_slow_reading_peer_is_never_closed(
    port: Port, crowd: ExitStack, unread_max_bytes: int
) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        await read_slowly(lab, port, crowd, unread_max_bytes // 2)

    listening(port, use)


def test_slow_reading_peer_is_not_closed_at_the_common_limit(port: Port, crowd: ExitStack) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        await read_slowly(lab, port, crowd, 8 * MIB)

    listening(port, use, held_max_bytes=16 * MIB)


def test_requests_of_a_peer_that_does_not_read_stay_unread(port: Port, crowd: ExitStack) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        greedy = connect(port, crowd)
        request = Connection().encode(RemotingCommand(7, body=bytes(100_000)))
        greedy.setblocking(False)
        sent = full = 0
        while full < 20:
            try:
                sent += greedy.send(request[sent % len(request) :])
                full = 0
            except BlockingIOError:
                full += 1
                await asyncio.sleep(0.001)
        taken = lab.taken
        assert taken < sent // len(request)
        assert lab.held.total_bytes < 3 * MIB
        for _ in range(20):
            await asyncio.sleep(0)
        assert lab.taken == taken, "nothing more, however long it waits"
        greedy.setblocking(True)
        greedy.settimeout(5)
        received = 0
        while received < sent // len(request) * len(request):
            received += len(await asyncio.to_thread(greedy.recv, MIB))
        assert lab.taken == sent // len(request), "all of it, once it reads"

    listening(port, use)


def test_requests_waiting_for_a_reading_peer_are_counted(port: Port, crowd: ExitStack) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        def take(session: Session, command: RemotingCommand) -> None:
            lab.taken += 1
            session.send(RemotingCommand(0, flag=FLAG_RESPONSE, body=bytes(MIB)))

        lab.dispatch = take
        greedy, session = await accepted(lab, port, crowd)
        greedy.sendall(Connection().encode(RemotingCommand(7)) * 50)
        await until(lambda: session.link.write_blocked)
        link = session.link
        assert isinstance(link, tcp.TcpLink)
        assert session.unfinished_bytes > 0
        assert lab.held.total_bytes == link._pressure.unread_bytes + session.unfinished_bytes
        received = 0
        while received < 50 * MIB:
            received += len(await asyncio.to_thread(greedy.recv, MIB))
        await until(lambda: lab.held.total_bytes == 0)
        assert lab.taken == 50

    listening(port, use)


def test_peer_with_many_requests_does_not_delay_others(port: Port, crowd: ExitStack) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        count = 3_000
        order: list[str] = []

        def take(session: Session, command: RemotingCommand) -> None:
            order.append(session.remote_addr)
            for _ in range(20):  # some work: all of it takes a second or so
                sum(range(1_000))
            lab.take(session, command)

        lab.dispatch = take
        greedy, modest = connect(port, crowd), connect(port, crowd)
        await until(lambda: len(lab.sessions) == 2)
        request = Connection().encode(RemotingCommand(7))
        greedy.sendall(request * count)
        await until(lambda: len(order) > 0)
        modest.sendall(request)
        await until(lambda: name(modest) in order)
        assert order.index(name(modest)) < count // 2
        lab.sessions[0].pause()
        lab.sessions[0].resume()
        assert len(order) == count + 1, "but after a pause all are handled at once"

    listening(port, use)


@pytest.mark.parametrize("how", ["turn", "read", "paused"])
def test_bug_while_resuming_does_not_leave_a_peer_unread(
    port: Port, crowd: ExitStack, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        def resume_processing(session: Session) -> None:
            monkeypatch.undo()
            raise ZeroDivisionError

        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        sock, session = await accepted(lab, port, crowd)
        link = session.link
        assert isinstance(link, tcp.TcpLink)
        monkeypatch.setattr(Session, "resume_processing", resume_processing)
        if how == "turn":
            link._turn.ends_ms = 1
            assert link.should_yield()
        elif how == "read":
            link.pause_writing()
            with pytest.raises(ZeroDivisionError):
                link.resume_writing()
        else:
            session.pause()
            with pytest.raises(ZeroDivisionError):
                session.resume()
            assert link._turn.ends_ms == 0
        for _ in range(2):
            sock.sendall(Connection().encode(RemotingCommand(7)))
            assert await asyncio.to_thread(sock.recv, 100)

    listening(port, use)


def test_unfinished_frames_are_bounded_in_total(port: Port, crowd: ExitStack) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        announced = struct.pack(">I", 15 * MIB)
        socks = [connect(port, crowd) for _ in range(4)]
        for sock in socks:
            sock.sendall(announced)
        await until(lambda: lab.held.total_bytes == 16)
        for sock, kib in zip(socks, (300, 500, 300, 500), strict=True):
            await asyncio.to_thread(sock.sendall, bytes(kib << 10))
        await until(lambda: len(lab.journal.find(LinkClosed)) == 1)
        (closed,) = lab.journal.find(LinkClosed)
        assert closed.peer in (name(socks[1]), name(socks[3]))
        assert list(lab.journal.peer_warnings._periods) == [("lab", HELD)]
        assert "all peers make us hold" in closed.why
        await until(lambda: lab.held.total_bytes == (300 + 300 + 500 << 10) + 12)
        assert await works(port)
        for sock in socks:
            sock.close()
        await until(lambda: lab.held.total_bytes == 0)

    listening(port, use, held_max_bytes=(1200 << 10))


def test_announced_frame_takes_no_memory(port: Port, crowd: ExitStack) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        socks = [connect(port, crowd) for _ in range(50)]
        for sock in socks:
            sock.sendall(struct.pack(">I", 15 * MIB))
        await until(lambda: lab.held.total_bytes == 4 * len(socks))
        buffers = [session._connection._buffer for session in lab.sessions]
        assert sum(buffer.__sizeof__() for buffer in buffers) < 10_000

    listening(port, use)


def test_closing_a_peer_that_does_not_read_is_quick(
    port: Port, crowd: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tcp, "_LINGER_S", 0.05)

    async def use(lab: ListenerLab, listener: Listener) -> None:
        deaf, session = await accepted(lab, port, crowd)
        before = descriptors()
        session.invoke_oneway(RemotingCommand(40, body=bytes(15 * MIB)))
        session.close("enough")
        assert descriptors() == before
        assert lab.held.total_bytes > MIB
        await until(lambda: descriptors() == before - 1)
        assert lab.held.total_bytes == 0
        deaf.close()

    listening(port, use)


def test_byte_by_byte_request_is_answered(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        def ask() -> bytes:
            frame = Connection().encode(RemotingCommand(7, body=b"slow"))
            with TcpPeer(port.addr) as peer:
                peer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for at in range(len(frame)):
                    peer.sock.sendall(frame[at : at + 1])
                return peer.receive(0).body

        assert await asyncio.to_thread(ask) == b"slow"

    listening(port, use)


def test_half_closed_peer_gets_its_answers(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        def ask() -> tuple[bytes, bool]:
            with TcpPeer(port.addr) as peer:
                opaque = peer.send(7, body=b"and good-bye")
                peer.sock.shutdown(socket.SHUT_WR)
                return peer.receive(opaque).body, peer.at_end()

        assert await asyncio.to_thread(ask) == (b"and good-bye", True)

    listening(port, use)


def test_reset_within_a_frame_is_one_warning(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        with socket.create_connection((HOST, port.port), 5) as sock:
            sock.sendall(struct.pack(">I", MIB) + bytes(1000))
            await until(lambda: lab.held.total_bytes > 1000)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await lab.gone.wait()
        await until(lambda: lab.held.total_bytes == 0)
        (warned,) = lab.journal.find(Warned)
        assert "ended within a frame, of which 1004 bytes had arrived" in warned.text
        assert lab.journal.find(HandlerFailed) == []

    listening(port, use)


def test_connections_are_accepted_again_when_descriptors_are_free(
    port: Port, crowd: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_module, "PAUSE_S", 0.05)

    async def use(lab: ListenerLab, listener: Listener) -> None:
        assert await works(port)
        spare = SPARE_DESCRIPTORS
        monkeypatch.setattr(listener_module, "descriptor_limit", lambda: spare)
        refused = connect(port, crowd)
        assert await asyncio.to_thread(refused.recv, 1) == b"", "closed, and no other"
        waiting = connect(port, crowd)
        assert len(lab.sessions) == 1
        monkeypatch.undo()
        waiting.sendall(Connection().encode(RemotingCommand(7)))
        assert await asyncio.to_thread(waiting.recv, 1) == b"\0", "it waited in the backlog"
        assert lab.refused == [
            f"accepts no connection for 0.05 s: all but {spare} descriptors are in use"
        ]

    listening(port, use)


def test_descriptor_limit_is_that_of_this_process() -> None:
    assert descriptor_limit() >= 256


def test_flood_of_connections_leaves_nothing_behind(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        gc.collect()  # what earlier tests left must not be closed while this one counts
        before = descriptors()

        def flood() -> None:
            for number in range(300):
                with socket.create_connection((HOST, port.port), 5) as sock:
                    sock.sendall(bytes((number % 256,)) * 20)

        await asyncio.to_thread(flood)
        assert await works(port)
        await until(lambda: descriptors() == before)
        assert lab.held.total_bytes == 0
        assert all(session.closed for session in lab.sessions)
        assert len(lab.journal.find(Warned)) < 30
        assert lab.journal.find(HandlerFailed) == []

    listening(port, use)
