"""Moving time and waiting can be given up: by stopping, by cancelling, by Ctrl-C, by a signal."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import anyio.to_thread
import pytest

from fakemq import AsyncCluster, Cluster
from fakemq.errors import ConfigError, FakemqError, WaitTimeout
from fakemq.events import ClockMoved, LogAppended
from fakemq.handles import patience
from fakemq.handles.running import LongCall
from tests.support.tcp import TcpPeer
from tests.support.time import skip_nothing

FAR = "3650d"
"""Hours of real time, unless it is ended."""
START = "2024-02-29T12:00:00Z"
START_MS = 1_709_208_000_000


@pytest.fixture
def mq() -> Iterator[Cluster]:
    with Cluster(clock="frozen", start_at=START) as cluster:
        skip_nothing(cluster)
        yield cluster


def on_the_way(mq: Cluster, act: Callable[[], None], after_ms: int = 1500) -> None:
    """Have ``act`` called on the cluster's thread, when so much of its time has passed."""
    mq.inspect(lambda core: core.clock.call_later(after_ms, act, kind="sim_fault", owner="test"))


def test_stop_ends_an_advance(mq: Cluster) -> None:
    begun = threading.Event()
    on_the_way(mq, begun.set)
    with ThreadPoolExecutor(1) as other:
        moving = other.submit(mq.clock.advance, FAR)
        assert begun.wait(5)
        mq.stop()
        with pytest.raises(FakemqError, match="is being stopped: time was moved by") as ended:
            moving.result(5)
    assert str(ended.value).endswith(f" of {3650 * 86_400_000} ms")


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[], None]]:
    """Presses Ctrl-C, from any thread."""
    main = threading.main_thread().ident
    assert main is not None
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.pthread_kill(main, signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_long_seed(mq: Cluster, ctrl_c: Callable[[], None]) -> None:
    many = 50_000
    stop = mq.inspect(lambda core: core.journal.listen(lambda _: first(), LogAppended))

    def first() -> None:
        stop()
        ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        mq.seed("orders", ["x"] * many)
    mq.wait_for(lambda: not mq.inspect(lambda core: core.clock.slices.waiting))
    assert 0 < sum(queue.max_offset for queue in mq.queues("orders")) < many


@pytest.mark.parametrize("outside_peers", [False, True])
def test_ctrl_c_ends_an_advance(
    mq: Cluster, ctrl_c: Callable[[], None], outside_peers: bool
) -> None:
    on_the_way(mq, ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        mq.clock.advance(FAR, outside_peers=outside_peers)
    now_ms = mq.clock.now_ms()
    assert START_MS + 1500 <= now_ms < START_MS + 3650 * 86_400_000
    moved = [(one.how, one.by_ms) for one in mq.journal.find(ClockMoved)]
    assert moved == [
        ("advance", 3650 * 86_400_000),
        ("give up", now_ms - START_MS - 3650 * 86_400_000),
    ]
    assert all(one.due_in_ms >= 0 for one in mq.clock.timers()), "what is not fired is still due"
    assert mq.clock.advance("1m")[-1].at_ms <= now_ms + 60_000 == mq.clock.now_ms()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelled_advance_ends(mq: Cluster, backend: str) -> None:
    face = AsyncCluster.of(mq)
    begun = threading.Event()
    on_the_way(mq, begun.set)

    async def main() -> None:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                assert await anyio.to_thread.run_sync(begun.wait, 5)
                group.cancel_scope.cancel()

            group.start_soon(cancel)
            await face.clock.advance(FAR)
        assert group.cancel_scope.cancelled_caught
        with anyio.fail_after(5):
            before_ms = mq.clock.now_ms()
            await face.clock.advance("1s")
        assert START_MS < before_ms == mq.clock.now_ms() - 1000

    anyio.run(main, backend=backend)


def test_abandoned_call_moves_nothing(mq: Cluster) -> None:
    wait = LongCall()
    wait.give_up()
    with pytest.raises(FakemqError, match="has given up"):
        mq.inspect(lambda core: core.until_given_up(wait, lambda: core.advance(1000)))
    assert mq.clock.now_ms() == START_MS
    assert not mq.journal.find(ClockMoved)


def test_absurd_durations_are_refused(mq: Cluster) -> None:
    moves: list[Callable[[], object]] = [
        lambda: mq.clock.advance("10000000000d"),
        lambda: mq.clock.advance_to("9999-01-01"),
    ]
    for move in moves:
        with pytest.raises(ConfigError, match=r"expected at most 3650 days") as refused:
            move()
        assert "\n" not in str(refused.value)
    assert mq.clock.now_ms() == START_MS
    waits: list[Callable[[], object]] = [
        lambda: mq.wait_for(lambda: True, timeout="-1s"),
        lambda: mq.run_until(lambda: True, at_most="-1s"),
    ]
    for wait in waits:
        with pytest.raises(ConfigError, match="='-1s': expected a duration that is not below 0"):
            wait()


SIGNALLED = """
import os, signal, threading, urllib.error, urllib.request
from fakemq.core.cluster import ClusterCore
from fakemq.config.spec import cluster_spec
from fakemq.control.port import open_control
from fakemq.serving import foreground
from functools import partial

class Asked(ClusterCore):
    def movement(self, ms, **options):
        end = lambda: os.kill(os.getpid(), signal.SIGTERM)
        self.clock.call_later(1000, end, kind="sim_fault", owner="test")
        self.clock.may_skip = lambda: False
        return super().movement(ms, **options)

def ask(url):
    try:
        request = urllib.request.Request(
            url + "/v1/clock/advance",
            b'{"duration": "3650d"}',
            {"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())

def ready(info):
    threading.Thread(target=ask, args=(info.control,)).start()

from fakemq.serving import server
server.ClusterCore = Asked
spec = cluster_spec(namesrv_port=0, broker_port=0, control_port=0, clock="frozen")
raise SystemExit(foreground.run(spec, ready, partial(open_control, spec.control)))
"""


def test_sigterm_ends_an_advance_of_the_control_port() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    assert "409 " in done.stdout
    assert "is being stopped: time was moved by" in done.stdout


# -- waiting ----------------------------------------------------------------------------------


@pytest.mark.parametrize("asks", ["nothing", "the cluster"])
def test_stop_ends_waits(mq: Cluster, asks: str) -> None:
    asked = threading.Event()

    def never() -> bool:
        asked.set()
        return asks == "the cluster" and mq.clock.now_ms() == 0

    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(mq.wait_for, never, "1h")
        assert asked.wait(60)
        mq.stop()
        with pytest.raises(FakemqError, match="stopped while it was waited for") as ended:
            waiting.result(60)
    assert not isinstance(ended.value, WaitTimeout)
    assert not mq._life.waits


def test_call_at_the_end_of_the_thread_is_not_waited_for(mq: Cluster) -> None:
    thread = mq._running()
    entered, never = threading.Event(), threading.Event()

    async def hang() -> None:
        entered.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(lambda: thread.wait(hang()))
        assert entered.wait(5)
        mq.stop()
        with pytest.raises(FakemqError, match="has been stopped"):
            waiting.result(5)
    with pytest.raises(FakemqError, match="has been stopped"):
        thread.call(never.set)


def test_run_until_waits_for_no_client_when_none_is_connected(
    mq: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "PATIENCE_MS", 3_600_000)  # a wait for a client would not end
    asked = 0

    def never() -> bool:
        nonlocal asked
        asked += 1
        return False

    with pytest.raises(WaitTimeout, match="not after 600000 ms of the cluster's time"):
        mq.run_until(never, at_most="10m")
    assert mq.clock.now_ms() == START_MS + 600_000
    assert asked > 30


def test_run_until_waits_for_connected_and_recent_clients(mq: Cluster) -> None:
    links = mq.inspect(lambda core: core.network.links)
    assert not links.reach_outside()
    with TcpPeer(mq.broker("broker-a").addr):
        mq.wait_for(links.reach_outside)
    mq.wait_for(lambda: not any(link.outside for link in links))
    assert links.reach_outside()


def test_run_until_does_not_overshoot_on_a_running_clock(mq: Cluster) -> None:
    mq.clock.unfreeze()
    with TcpPeer(mq.broker("broker-a").addr):
        mq.wait_for(mq.inspect(lambda core: core.network.links.reach_outside))
        before_ms = mq.clock.now_ms()
        with pytest.raises(WaitTimeout):
            mq.run_until(lambda: False, at_most="30s")
    assert 30_000 <= mq.clock.now_ms() - before_ms < 30_500


# -- when -------------------------------------------------------------------------------------


def test_deadline_shows_when_it_fired(mq: Cluster) -> None:
    pending = {(one.kind, one.owner): one.at_ms for one in mq.clock.timers()}
    assert all(one.at_ms == START_MS + one.due_in_ms for one in mq.clock.timers())
    fired = mq.clock.advance("1m")
    moments = [one.at_ms for one in fired]
    assert moments == sorted(moments)
    assert START_MS < moments[0] < moments[-1] <= START_MS + 60_000
    checks = [one for one in fired if one.kind == "txn_check"]
    assert [one.at_ms for one in checks] == [pending["txn_check", "broker-a-0"]]
    (late,) = mq.clock.advance_to_next("register_broker")[-1:]
    assert late.at_ms == mq.clock.now_ms()
