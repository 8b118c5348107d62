"""A cluster in an asynchronous test's hands: what waits or moves time is awaited."""

from __future__ import annotations

from datetime import timedelta

import anyio
import pytest

import fakemq
from fakemq.cluster import AsyncCluster, Cluster
from fakemq.errors import WaitTimeout
from fakemq.events import BrokerGone, NodeStarted


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.anyio
async def test_asynchronous_cluster_serves_a_client() -> None:
    async with fakemq.AsyncCluster(topics={"orders": 1}, clock="frozen") as mq:
        mq.seed("orders", [b"one"])
        assert await mq.wait_for(lambda: mq.messages("orders"))
        assert await mq.clock.advance("1h")
        await mq.clock.advance_to(mq.clock.now() + timedelta(seconds=1))
        assert (await mq.clock.advance_to_next("register_broker"))[-1].kind == "register_broker"
        await mq.brokers[0].restart()
        mq.broker("broker-a").pause()
        assert await mq.run_until(lambda: mq.journal.find(BrokerGone), at_most="1h")
        mq.broker("broker-a").resume()
        await mq.broker("broker-a").stop()
        stopped = "most likely:\n  .* of orders: never delivered: its broker broker-a-0 is stopped"
        with pytest.raises(WaitTimeout, match=stopped):
            await mq.wait_for(lambda: False, timeout=0.01)
    assert not mq.running


def test_asynchronous_view_of_a_running_cluster_works() -> None:
    with Cluster() as mq:
        face = AsyncCluster.of(mq)
        face.faults.silence("broker-a")
        assert len(mq.faults.placed()) == 1
        assert face.namesrv_addr == mq.namesrv_addr


@pytest.mark.anyio
async def test_cluster_stopped_by_its_asynchronous_view_can_start_again() -> None:
    with Cluster() as mq:
        face = AsyncCluster.of(mq)
        await face.stop()
        assert not mq.running
        mq.start()
        assert face.namesrv_addr == mq.namesrv_addr
        assert face.journal.find(NodeStarted)


@pytest.mark.anyio
@pytest.mark.parametrize("wait", ["wait_for", "run_until"])
async def test_cancelled_wait_ends_at_once(wait: str) -> None:
    async with fakemq.AsyncCluster(clock="frozen") as mq:
        with anyio.move_on_after(0.05) as scope:
            if wait == "wait_for":
                await mq.wait_for(lambda: False, timeout="60s")
            else:
                await mq.run_until(lambda: False, at_most="3650d")
        assert scope.cancelled_caught


@pytest.mark.anyio
async def test_asynchronous_predicate_is_refused() -> None:
    async def predicate() -> bool:
        return True

    async with fakemq.AsyncCluster() as mq:
        with pytest.raises(TypeError, match="expected a plain function"):
            _ = await mq.wait_for(predicate)
