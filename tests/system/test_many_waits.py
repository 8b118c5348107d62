"""Many calls of `wait_for` at once, each with a function of its own, beside a sender."""

from __future__ import annotations

import threading

from fakemq import Cluster
from fakemq.clock.machine_time import real_elapsed_ms


def test_many_waits_look_three_times_a_millisecond_together() -> None:
    calls = 0
    waits, sent = threading.Barrier(101), threading.Event()

    def wait() -> None:
        asked = False

        def look() -> bool:
            nonlocal calls, asked
            calls += 1
            if not asked:
                asked = True
                waits.wait(30)
            return sent.is_set()

        mq.wait_for(look, timeout="60s")

    threads = [threading.Thread(target=wait) for _ in range(100)]
    with Cluster(topics={"orders": 1}) as mq:
        for thread in threads:
            thread.start()
        waits.wait(30)
        calls, began_ms = 0, real_elapsed_ms()
        for _ in range(200):
            mq.seed("orders", [b"one"])
        most = 3 * (real_elapsed_ms() - began_ms) + 4 * len(threads)
        assert calls <= most
        sent.set()
        mq.seed("orders", [b"last"])
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
