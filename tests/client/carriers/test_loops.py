"""What a client needs of a loop for every request, on asyncio and on trio."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import anyio
import pytest
import trio.lowlevel

from fakemq.client.carriers.loops import AsyncioLoop, Loop, TrioTasks, current_loop

pytestmark = pytest.mark.anyio

LONG_MS = 60_000


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        yield ours, theirs


class Reading:
    """Reads a socket until it has taken a number of bytes, or the end."""

    def __init__(self, sock: socket.socket, count: int) -> None:
        self.taken = b""
        self.at_end = False
        self._sock = sock
        self._count = count

    def receive(self) -> bytes | None:
        try:
            return self._sock.recv(4)
        except BlockingIOError:
            return None

    def take(self, data: bytes) -> bool:
        self.taken += data
        self.at_end = not data
        return not self.at_end and len(self.taken) < self._count

    async def run(self, loop: Loop) -> None:
        await loop.read(self._sock, self.receive, self.take)


async def test_wake_that_was_set_is_not_waited_for() -> None:
    wake = current_loop().wake()
    wake.set()
    wake.set()
    with anyio.fail_after(10):
        await wake


async def test_wake_wakes_the_task_that_awaits_it() -> None:
    wake = current_loop().wake()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(current_loop().wait, wake, LONG_MS)
            await anyio.lowlevel.checkpoint()
            wake.set()


async def test_wait_ends_with_its_time() -> None:
    loop = current_loop()
    with anyio.fail_after(10):
        await loop.wait(loop.wake(), 1)


async def test_wake_may_be_set_when_its_task_is_cancelled() -> None:
    loop = current_loop()
    wake = loop.wake()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await loop.wait(wake, LONG_MS)
    assert scope.cancelled_caught
    wake.set()


async def test_read_takes_what_arrives_in_order(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    reading = Reading(ours, 12)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(reading.run, current_loop())
            for part in (b"some", b"more", b"last"):
                theirs.sendall(part)
                await anyio.lowlevel.checkpoint()
    assert reading.taken == b"somemorelast"


async def test_read_takes_the_end(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    theirs.sendall(b"some")
    theirs.shutdown(socket.SHUT_WR)
    reading = Reading(ours, 100)
    with anyio.fail_after(10):
        await reading.run(current_loop())
    assert (reading.taken, reading.at_end) == (b"some", True)


async def test_read_that_is_cancelled_leaves_the_socket_alone(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    first = Reading(ours, 100)
    async with anyio.create_task_group() as group:
        group.start_soon(first.run, current_loop())
        await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    theirs.sendall(b"some")
    second = Reading(ours, 4)
    with anyio.fail_after(10):
        await second.run(current_loop())
    assert (first.taken, second.taken) == (b"", b"some")


async def test_loop_without_readers_reads_by_anyio(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = current_loop()
    if isinstance(loop, AsyncioLoop):
        add_reader = loop.key.add_reader
        refusals = [NotImplementedError()]

        def refuse(*args: object) -> object:
            if refusals:
                raise refusals.pop()  # as Windows' default loop; anyio has a thread for that
            return add_reader(*args)  # type: ignore[arg-type]  # as they came

        monkeypatch.setattr(loop.key, "add_reader", refuse)
    ours, theirs = pair
    theirs.sendall(b"some")
    reading = Reading(ours, 4)
    with anyio.fail_after(10):
        await reading.run(loop)
    assert reading.taken == b"some"


@pytest.mark.parametrize("anyio_backend", ["trio"])  # asyncio's Ctrl-C cancels the main task alone
async def test_tasks_of_a_group_are_out_of_reach_of_ctrl_c(anyio_backend: str) -> None:
    loop = current_loop()
    async with loop.task_group() as group:
        group.start_soon(check)


async def check() -> None:
    assert trio.lowlevel.currently_ki_protected()
    # And so is the coroutine that the loop runs: the first one, or Ctrl-C could end it just before
    # and after the task's own function.
    frame = trio.lowlevel.current_task().coro.cr_frame
    assert frame is not None
    assert frame.f_globals["__name__"] == TrioTasks.__module__
