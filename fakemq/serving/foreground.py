"""Runs a cluster in the foreground of a process: on the main thread, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from fakemq.clock.progress import ProgressBar
from fakemq.errors import FakemqError
from fakemq.serving.driver import EventLoop
from fakemq.serving.garbage import ShortCollections
from fakemq.serving.ready import (
    ReadyInfo,
    ready_info,
    ready_line,
    remove_ready_file,
    write_ready_file,
)
from fakemq.serving.server import ClusterServer
from fakemq.store.descriptors import raise_descriptor_limit

if TYPE_CHECKING:
    from types import FrameType

    from fakemq.config.spec import ClusterSpec
    from fakemq.core.cluster import ClusterCore

OpenControl = Callable[["ClusterServer"], Coroutine[object, object, "str | None"]]
"""Open the HTTP ports of a running server; return the URL of the control port, None without it."""

Watch = Callable[["ClusterServer", ReadyInfo], Coroutine[object, object, None]]
"""Runs beside a server that is ready, until it is cancelled."""


def run(
    spec: ClusterSpec,
    on_ready: Callable[[ReadyInfo], None],
    open_control: OpenControl | None = None,
    watch: Watch | None = None,
) -> int:
    """Run the cluster until a signal, then stop it cleanly; return the exit code.

    ``on_ready`` is called once everything listens and is registered; ``watch`` then runs beside the
    cluster until its stop. A second signal during the stop ends the process at once. Raise
    FakemqError if the cluster cannot start.
    """
    raise_descriptor_limit()
    server = ClusterServer(spec)
    loop = _new_loop()
    try:
        loop.run_until_complete(_serve(server, on_ready, open_control, watch))
    finally:
        loop.close()
    return 0


async def _serve(
    server: ClusterServer,
    on_ready: Callable[[ReadyInfo], None],
    open_control: OpenControl | None,
    watch: Watch | None,
) -> None:
    loop = asyncio.get_running_loop()
    signalled = asyncio.Event()

    def stop(number: int) -> None:
        if signalled.is_set():
            os._exit(128 + number)
        signalled.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
        _at_once(number, server.core.end_moves)
    collections = ShortCollections(
        loop.call_soon_threadsafe, lambda: any(link.outside for link in server.core.network.links)
    )
    bars_end = _show_recoveries(server)
    try:
        await server.start()
    finally:
        bars_end()
    try:
        await _either(server.registered(), signalled.wait())
        if not signalled.is_set():
            control_url = None if open_control is None else await open_control(server)
            info = ready_info(server, control_url)
            on_ready(info)
            collections.begin()
            if watch is not None:
                await _either(watch(server, info), signalled.wait())
            await signalled.wait()
    finally:
        collections.end()
        await server.stop()


def _show_recoveries(server: ClusterServer) -> Callable[[], None]:
    """Show on a terminal how far the logs of stores are checked; return what ends that."""
    if not sys.stderr.isatty():
        return lambda: None

    return show_recoveries(server.core, sys.stderr)


def _at_once(number: int, act: Callable[[], None]) -> None:
    """Call ``act`` from the signal handler itself.

    During a long movement of time the loop has no turn in which it could handle the signal.
    """
    to_loop = signal.getsignal(number)

    def handle(number: int, frame: FrameType | None) -> None:
        act()
        if callable(to_loop):
            to_loop(number, frame)

    signal.signal(number, handle)
    signal.siginterrupt(number, False)


async def _either(*waits: Coroutine[object, object, object]) -> None:
    """Wait for the first of several coroutines, and cancel the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def _new_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's loop if the extra ``fast`` is installed, else asyncio's."""
    try:
        import uvloop
    except ImportError:
        return EventLoop()
    return uvloop.new_event_loop()


# For a command line


def serve(
    spec: ClusterSpec,
    open_control: OpenControl | None = None,
    watch: Watch | None = None,
) -> int:
    """Run a cluster, or a single node, until SIGTERM or SIGINT; return the exit code.

    ``open_control`` is called once all nodes are registered; ``watch`` runs beside the cluster
    after the ready line. Raise FakemqError if the cluster cannot start, for example because a port
    is taken or the ready file's folder is missing.
    """
    path = spec.ready_file
    written: list[ReadyInfo] = []
    if path is not None:
        remove_ready_file(path)

    def on_ready(info: ReadyInfo) -> None:
        if path is not None:
            write_ready_file(path, info)
            written.append(info)
        print(ready_line(info), flush=True)

    try:
        if watch is None:
            return run(spec, on_ready, open_control)
        return run(spec, on_ready, open_control, watch)
    finally:
        if path is not None and written:
            with suppress(FakemqError):  # it would hide why the run ended
                remove_ready_file(path, written[0])


# Bars on a terminal while the logs of stores are checked at a start.


def show_recoveries(core: ClusterCore, stream: TextIO) -> Callable[[], None]:
    """Show a bar for each broker while it checks its log, if that takes long.

    Return what removes the bars: a log may end before its files do.
    """
    bars = []
    for broker in core.brokers.values():
        disk = broker.store.disk
        if disk is not None:
            bars.append(_Bar(broker.name, stream))
            disk.on_read = bars[-1].read

    def end() -> None:
        for bar in bars:
            bar.end()

    return end


class _Bar:
    def __init__(self, node: str, stream: TextIO) -> None:
        self._node = node
        self._stream = stream
        self._progress: ProgressBar | None = None

    def read(self, done_bytes: int, total_bytes: int) -> None:
        if self._progress is None:
            self._progress = ProgressBar(
                total_bytes, self._stream, title=f"{self._node}: checks its log"
            )
        self._progress.reached(done_bytes)

    def end(self) -> None:
        if self._progress is not None:
            self._progress.clear()
            self._progress = None
