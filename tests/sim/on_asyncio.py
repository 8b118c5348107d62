"""Run a seed on an asyncio loop and print its journal; a test starts this as its own process.

The loop's driver settles the network between the steps, as in a server. The arguments are a seed
and a reference.
"""

from __future__ import annotations

import asyncio
import sys

from fakemq.journal.journal import line
from fakemq.serving.driver import Driver, EventLoop
from fakemq.sim.drawing import draw_plan
from fakemq.sim.replay import STORE, store_folder
from fakemq.sim.run import SimulationRun

STEP_MS = 700
MINUTES = 5


async def journal_of(seed: int, reference: str) -> list[str]:
    """Return the journal lines of a run on an asyncio loop."""
    plan = draw_plan(seed, MINUTES, reference)
    with store_folder() as root:
        sim = SimulationRun(plan, root)
        sim.core.stop_logging()
        lines: list[str] = []
        sim.core.journal.listen(lambda entry: lines.append(line(entry).replace(root, STORE)))
        driver = Driver(sim.core.clock, sim.core.network)
        try:
            sim.start()
            for at_ms in range(STEP_MS, plan.length_ms + STEP_MS, STEP_MS):
                sim.pass_to(min(at_ms, plan.length_ms))
                await asyncio.sleep(0)
            return list(lines)
        finally:
            driver.close()
            sim.close()


if __name__ == "__main__":
    loop = EventLoop()
    print("\n".join(loop.run_until_complete(journal_of(int(sys.argv[1]), sys.argv[2]))))
    loop.close()
