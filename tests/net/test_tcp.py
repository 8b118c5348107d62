"""Sessions over real sockets."""

from __future__ import annotations

import asyncio
import errno
import gc
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from fakemq.events import LinkClosed, Warned
from fakemq.net.session import Session
from fakemq.net.tcp import TcpLink, _inbox
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import Connection
from fakemq.protocol.limits import FRAME_MAX_BYTES
from fakemq.serving.listener import Listener, Port, TcpConnector
from tests.support.echo import Echo
from tests.support.listener_lab import TOO_MUCH, ListenerLab, listening, until
from tests.support.tcp import HOST, TcpPeer, refuses


def test_request_over_tcp_is_answered(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        def ask() -> tuple[bytes, str]:
            with TcpPeer(port.addr) as peer:
                name = "{}:{}".format(*peer.sock.getsockname())
                big = b"x" * 3_000_000
                assert peer.ask(7, body=big).body == big
                return peer.ask(7, body=b"hello").body, name

        body, name = await asyncio.to_thread(ask)
        assert body == b"hello"
        await lab.gone.wait()
        (closed,) = lab.journal.find(LinkClosed)
        assert (closed.peer, closed.why) == (name, "closed by the peer")
        assert lab.sessions[0].outside

    listening(port, use)


def test_closed_link_is_freed_without_the_garbage_collector(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        gc.disable()
        try:

            def ask() -> None:
                with TcpPeer(port.addr) as peer:
                    assert peer.ask(7, body=b"hello").body == b"hello"

            await asyncio.to_thread(ask)
            await lab.gone.wait()
            await lab.link_is_freed()
        finally:
            gc.enable()

    listening(port, use)


def test_oversized_answer_closes_after_earlier_answers(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        def ask() -> bytes:
            connection = Connection()
            requests = [connection.encode(RemotingCommand(code)) for code in (7, TOO_MUCH, 7)]
            with TcpPeer(port.addr) as peer:
                peer.sock.sendall(b"".join(requests))
                answers = b""
                while data := peer.sock.recv(1 << 16):
                    answers += data
                return answers

        answers = await asyncio.to_thread(ask)
        assert len(Connection().receive_data(answers)) == 1
        await lab.gone.wait()
        (warned,) = lab.journal.find(Warned)
        assert "cannot send the answer to QUERY_MESSAGE" in warned.text
        assert f"{FRAME_MAX_BYTES} is the most" in warned.text

    listening(port, use)


def test_data_are_sent_without_delay(port: Port) -> None:
    # Else a request to a client waits for its acknowledgement of the last answer: 40 ms.
    async def use(lab: ListenerLab, listener: Listener) -> None:
        with TcpPeer(port.addr) as peer:
            await asyncio.to_thread(peer.ask, 7)
            link = lab.sessions[0].link
            assert isinstance(link, TcpLink)
            sock = link._transport.get_extra_info("socket")
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    listening(port, use)


def test_reset_connection_is_reported(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        def reset() -> None:
            peer = TcpPeer(port.addr)
            peer.ask(7)
            peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.sock.close()

        await asyncio.to_thread(reset)
        await lab.gone.wait()
        assert "reset by peer" in lab.journal.find(LinkClosed)[0].why

    listening(port, use)


def test_connection_in_the_turn_of_the_close_is_closed(port: Port) -> None:
    # By its own hand: both in one turn of the loop, as a busy machine has it.
    async def use(lab: ListenerLab, listener: Listener) -> None:
        sock = listener._sock
        assert sock is not None
        with socket.create_connection((HOST, port.port), 5) as late:
            listener._accept_all(sock)
            listener.close()
            await listener.settled()
            assert await asyncio.to_thread(late.recv, 1) == b""
        assert lab.sessions == []
        assert refuses(port.port)

    listening(port, use)


def test_connection_just_before_a_restart_is_closed(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        sock = listener._sock
        assert sock is not None
        with socket.create_connection((HOST, port.port), 5) as late:
            listener._accept_all(sock)
            listener.close()
            listener.open()
            await listener.settled()
            assert await asyncio.to_thread(late.recv, 1) == b""
        assert lab.sessions == []
        assert not refuses(port.port)

    listening(port, use)


def test_accepting_pauses_when_descriptors_run_out(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        class Exhausted:
            def accept(self) -> None:
                raise OSError(errno.EMFILE, "Too many open files")

            def fileno(self) -> int:
                return listener._sock.fileno()  # type: ignore[union-attr]

        loop = asyncio.get_running_loop()
        listener._accept_all(Exhausted())  # type: ignore[arg-type]
        assert not loop.remove_reader(listener._sock), "it is not watched now"  # type: ignore[arg-type]
        assert listener._sock is not None
        listener._watch(listener._sock)  # what the loop calls a second later
        assert (await asyncio.to_thread(answered, port.addr)) == b"hello"

    listening(port, use)


def answered(addr: str) -> bytes:
    with TcpPeer(addr) as peer:
        return peer.ask(7, body=b"hello").body


def test_outside_address_is_connected_to(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        connector = TcpConnector()
        opened: asyncio.Future[Session | None] = asyncio.get_running_loop().create_future()
        connector.open(port.addr, lab.accept, opened.set_result)
        session = await opened
        assert session is not None
        assert (session.outside, session.remote_addr) == (True, port.addr)
        replied: asyncio.Future[RemotingCommand | None] = opened.get_loop().create_future()
        session.invoke(RemotingCommand(7, body=b"hello"), 3_000, replied.set_result)
        reply = await replied
        assert reply is not None
        assert reply.body == b"hello"
        session.close("done")
        await connector.close()

    listening(port, use)


def test_waiting_request_is_held_until_answered(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        releases: list[Callable[[], None]] = []

        def park(session: Session, command: RemotingCommand) -> None:
            releases.append(session.hold(command.code))

        lab.dispatch = park
        with TcpPeer(port.addr) as first, TcpPeer(port.addr) as second:
            first.send(600)
            await until(lambda: lab.held.total_bytes == 600)
            releases.pop()()
            releases.append(lab.sessions[0].hold(100))  # most is answered
            second.send(500)
            await until(lambda: lab.sessions[1].unfinished_bytes == 500)
            assert lab.held.total_bytes == 600
            second.send(401)
            await lab.gone.wait()
            assert [session.closed for session in lab.sessions] == [False, True]
            assert lab.held.total_bytes == 100

    listening(port, use, held_max_bytes=1000)


# -- a paused node ----------------------------------------------------------------------------


@pytest.mark.parametrize("accepted_paused", [True, False])
def test_paused_node_blocks_its_peer_and_reads_all_after_resume(
    port: Port, accepted_paused: bool
) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        lab.paused = accepted_paused
        frame = Connection().encode(RemotingCommand(7, body=b"x" * 50_000))
        with socket.create_connection((HOST, port.port), 5) as sock:
            await until(lambda: len(lab.sessions) == 1)
            session = lab.sessions[0]
            session.pause()
            sock.setblocking(False)
            sent = 0
            with suppress(BlockingIOError):
                while sent < 1 << 26:
                    sent += sock.send(frame[sent % len(frame) :])
                    await asyncio.sleep(0)
            assert sent < 1 << 26, "the system keeps some megabytes, we nothing"
            assert lab.taken == 0
            session.resume()
            assert lab.taken == sent // len(frame), "read before anything else is done"
            sock.sendall(frame[sent % len(frame) :])
            await until(lambda: lab.taken == sent // len(frame) + 1)

    listening(port, use)


@pytest.mark.parametrize("reset", [True, False])
def test_peer_that_left_meanwhile_is_noticed_on_resume(port: Port, reset: bool) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        sock = socket.create_connection((HOST, port.port), 5)
        await until(lambda: len(lab.sessions) == 1)
        session = lab.sessions[0]
        session.pause()
        if reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            sock.sendall(Connection().encode(RemotingCommand(7)))
        sock.close()
        for _ in range(3):
            await asyncio.sleep(0)
        assert (session.closed, lab.taken) == (False, 0)
        session.resume()
        assert (session.closed, lab.taken) == (True, 0 if reset else 1)
        session.resume()
        (closed,) = lab.journal.find(LinkClosed)
        assert ("reset by peer" if reset else "closed by the peer") in closed.why

    listening(port, use)


def test_peer_that_does_not_read_is_not_read_from(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        with socket.create_connection((HOST, port.port), 5) as sock:
            await until(lambda: len(lab.sessions) == 1)
            session = lab.sessions[0]
            session.link.write(b"x" * (1 << 24))  # more than fits: the transport pauses us
            session.pause()
            sock.sendall(Connection().encode(RemotingCommand(7)))
            session.resume()
            for _ in range(3):
                await asyncio.sleep(0)
            assert lab.taken == 0, "the node continues, but the peer still does not read"
            session.pause()
            left = 1 << 24
            while left:
                left -= len(await asyncio.to_thread(sock.recv, 1 << 20))
            for _ in range(3):
                await asyncio.sleep(0)
            assert lab.taken == 0, "the peer reads, but the node is paused"
            session.resume()
            assert lab.taken == 1

    listening(port, use)


def test_failed_write_while_paused_is_noticed_on_resume(port: Port) -> None:
    async def use(lab: ListenerLab, listener: Listener) -> None:
        sock = socket.create_connection((HOST, port.port), 5)
        await until(lambda: len(lab.sessions) == 1)
        session = lab.sessions[0]
        session.link.write(b"x" * (1 << 24))
        session.pause()
        sock.close()  # with bytes unread: a reset
        assert isinstance(session.link, TcpLink)
        await until(session.link._transport.is_closing)
        await asyncio.sleep(0)
        assert not session.closed
        session.resume()
        assert session.closed

    listening(port, use)


# -- connecting -------------------------------------------------------------------------------


def test_other_protocols_use_the_same_links_and_listeners(port: Port) -> None:
    async def main() -> None:
        echo, asker = Echo(), Echo(answers=False)
        listener, connector = Listener(port, echo.on), TcpConnector()
        listener.open()
        opened: asyncio.Future[Echo | None] = asyncio.get_running_loop().create_future()
        connector.open(port.addr, asker.on, opened.set_result)
        assert await opened is asker
        asker.pause()
        asker.link.write(b"\xff no frame")
        await until(lambda: echo.received == b"\xff no frame")
        echo.link.close()
        for _ in range(3):
            await asyncio.sleep(0)
        assert (asker.received, asker.lost) == (b"", [])
        asker.resume()
        assert (asker.received, asker.lost) == (b"\xff no frame", ["closed by the peer"])
        assert echo.lost == [], "the closing end is not notified"
        listener.close()
        await connector.close()
        await asyncio.sleep(0)

    asyncio.run(main())


@pytest.mark.parametrize("addr", ["127.0.0.1:1", "127.0.0.1:99999", "no port", "[::1"])
def test_refused_connection_is_reported(addr: str) -> None:
    async def main() -> None:
        connector = TcpConnector()
        opened: asyncio.Future[Session | None] = asyncio.get_running_loop().create_future()
        connector.open(addr, ListenerLab().accept, opened.set_result)
        assert await asyncio.wait_for(opened, 5) is None
        await connector.close()

    asyncio.run(main())


def test_closing_the_connector_ends_open_attempts() -> None:
    async def main() -> None:
        connector = TcpConnector()
        connector.open("127.0.0.1:1", ListenerLab().accept, lambda session: None)
        await connector.close()
        assert connector._tasks == set()

    asyncio.run(main())


def test_loops_of_two_threads_have_separate_buffers() -> None:
    views = [_inbox.view, _inbox.view]
    thread = threading.Thread(target=lambda: views.append(_inbox.view))
    thread.start()
    thread.join()
    assert views[0] is views[1]
    assert views[0].obj is not views[2].obj
