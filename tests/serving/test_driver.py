"""Moving clock and network on a loop: woken when something is due, and never otherwise."""

from __future__ import annotations

import asyncio
from functools import partial

from freezegun import freeze_time

from fakemq.clock.clock import Clock
from fakemq.clock.machine_time import thread_busy_ms
from fakemq.clock.slices import SLICE_MS
from fakemq.net.memory import MemoryNetwork
from fakemq.serving.driver import Driver, EventLoop


def run(main: object) -> None:
    loop = EventLoop()
    try:
        loop.run_until_complete(main)  # type: ignore[arg-type]
    finally:
        loop.close()


def turns(driver: Driver) -> list[int]:
    """Counts the turns that the driver takes from now on."""
    counted: list[int] = []
    take = driver._take_turn

    def count() -> None:
        counted.append(1)
        take()

    driver._take_turn = count  # type: ignore[method-assign]
    return counted


def test_timer_fires_by_itself() -> None:
    async def main() -> None:
        clock, fired = Clock(), asyncio.Event()
        driver = Driver(clock, MemoryNetwork())
        counted = turns(driver)
        clock.call_later(20, fired.set, kind="pull_hold", owner="lab")
        await asyncio.wait_for(fired.wait(), 5)
        assert len(counted) == 2, "one to see the timer, one to fire it"
        driver.close()

    run(main())


def test_earlier_timer_wakes_the_loop_and_the_same_timer_does_not() -> None:
    async def main() -> None:
        clock, fired = Clock(), asyncio.Event()
        driver = Driver(clock, MemoryNetwork())
        counted = turns(driver)
        for delay_ms in (60_000, 60_000, 60_000):  # each a pull that was held and answered
            timer = clock.call_later(delay_ms, fired.set, kind="pull_hold", owner="lab")
            await asyncio.sleep(0)
            timer.cancel()
        assert len(counted) == 1
        clock.call_later(20, fired.set, kind="pull_hold", owner="lab")
        await asyncio.wait_for(fired.wait(), 5)
        assert len(counted) == 3, "one to see the earlier timer, one to fire it"
        driver.close()

    run(main())


def test_idle_driver_takes_no_turn() -> None:
    async def main() -> None:
        clock = Clock(frozen=True)
        driver = Driver(clock, MemoryNetwork())
        clock.call_later(0, lambda: None, kind="pull_hold", owner="lab")
        await asyncio.sleep(0)
        counted = turns(driver)
        await asyncio.sleep(0.02)  # the one sleep: that nothing happens takes time to see
        assert counted == []
        assert driver._wake is None
        driver.close()

    run(main())


def test_posted_data_are_settled_in_the_next_turn() -> None:
    async def main() -> None:
        network = MemoryNetwork()
        arrived: list[int] = []
        driver = Driver(Clock(), network)
        for number in range(3):
            network.post(partial(arrived.append, number))
        assert arrived == []
        await asyncio.sleep(0)
        assert arrived == [0, 1, 2]
        driver.close()

    run(main())


def test_data_posted_by_a_timer_are_settled_in_the_same_turn() -> None:
    async def main() -> None:
        clock, network = Clock(frozen=True), MemoryNetwork()
        done: list[int] = []
        driver = Driver(clock, network)
        for number in range(2):
            clock.call_later(
                10,
                partial(network.post, partial(done.append, number)),
                kind="pull_hold",
                owner="lab",
            )
        clock.advance("10ms")
        assert done == [0, 1]
        driver.close()

    run(main())


def test_closed_driver_is_not_notified() -> None:
    async def main() -> None:
        clock, network = Clock(), MemoryNetwork()
        fired: list[int] = []
        driver = Driver(clock, network)
        clock.call_later(0, lambda: fired.append(1), kind="pull_hold", owner="lab")
        driver.close()
        clock.call_later(0, lambda: fired.append(2), kind="pull_hold", owner="lab")
        network.post(lambda: fired.append(3))
        await asyncio.sleep(0.01)
        assert fired == []

    run(main())


def test_loop_runs_while_time_is_frozen() -> None:
    loop = EventLoop()
    with freeze_time("2001-02-03"):
        before = loop.time()
        loop.run_until_complete(asyncio.sleep(0.005))
        assert loop.time() > before
    loop.close()


def test_thousands_of_due_timers_leave_the_loop_to_others() -> None:
    async def main() -> None:
        clock, fired = Clock(), list[int]()
        driver = Driver(clock, MemoryNetwork())
        counted = turns(driver)

        def work(number: int) -> None:
            fired.append(number)
            until_ms = thread_busy_ms() + 2
            while thread_busy_ms() < until_ms:
                pass

        for number in range(20):
            clock.call_later(1, partial(work, number), kind="pop_hold", owner="lab")
        async with asyncio.timeout(5):
            while len(fired) < 20:
                await asyncio.sleep(0)
        assert fired == list(range(20))
        assert len(counted) >= 20 * 2 // SLICE_MS
        driver.close()

    run(main())
