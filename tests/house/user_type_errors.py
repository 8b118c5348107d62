"""What a user's checker must refuse: mypy fails when an ignored error is no error any more."""

from __future__ import annotations

import fakemq
from fakemq.fixtures import factories
from fakemq.fixtures.external import ExternalCluster


def start() -> None:
    fakemq.Cluster(mastres=2)  # type: ignore[call-arg]
    fakemq.Cluster(masters="2")  # type: ignore[arg-type]
    factories.rocketmq_proc(clokc="frozen")  # type: ignore[call-arg]
    print(fakemq.Cluster().clok)  # type: ignore[attr-defined]


def use(there: ExternalCluster) -> None:
    print(there.clock)  # type: ignore[attr-defined]


async def wait(mq: fakemq.AsyncCluster) -> list[int]:
    mq.seed("orders", b"body, not a list of bodies")  # type: ignore[arg-type]
    return [mq.wait_for(lambda: 3)]  # type: ignore[list-item]
