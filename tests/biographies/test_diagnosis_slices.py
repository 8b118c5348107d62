"""A diagnosis is made in slices, however much the journal has."""

from __future__ import annotations

import fakemq
from fakemq.core.cluster import ClusterCore
from fakemq.store.inner_message import inner_message
from tests.support.calls import calls_of

MANY = 2_000


def test_each_step_of_a_diagnosis_is_short() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 4, "unused": 4}) as mq:

        def look(core: ClusterCore) -> list[int]:
            broker = core.broker("broker-a")
            with broker.persistence.at_once():
                for number in range(MANY):
                    broker.topics.create(f"topic-{number}", 4)
            for _ in range(MANY):
                broker.put(inner_message("orders", 0, b"x"))
            steps = mq._diagnosis("unused", None)
            calls = []
            ended: list[object] = []
            while not ended:
                calls.append(calls_of(lambda: ended.append(1) if next(steps, 1) else None))
            return calls

        calls = mq.inspect(look)
    # The first step imports, and the next ones read the journal, a thousand entries each.
    assert max(calls[10:]) < MANY
    assert len(calls) > MANY
