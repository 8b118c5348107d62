"""Asynchronous clients that are closed in another event loop than theirs."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest

import fakemq
from fakemq.client import AsyncProducer, AsyncPushConsumer, MQClientError


@pytest.mark.parametrize("kind", ["producer", "consumer"])
def test_close_in_another_loop_is_refused_and_then_done_in_its_own(
    mq: fakemq.Cluster, kind: str
) -> None:
    def make() -> AsyncProducer | AsyncPushConsumer:
        if kind == "producer":
            return AsyncProducer(mq.namesrv_addr, group="g")
        return AsyncPushConsumer(
            mq.namesrv_addr, group="g", subscribe="orders", on_message=lambda _: None
        )

    async def close() -> None:
        with pytest.raises(MQClientError, match="was started in another event loop: await its"):
            await face.close()

    face = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with asyncio.Runner() as own:
            own.run(face.start())
            own_loop = own.get_loop()
            asyncio.set_event_loop(None)
            with asyncio.Runner() as other:
                other.run(close())
            asyncio.set_event_loop(own_loop)
            own.run(face.close())
        gc.collect()
