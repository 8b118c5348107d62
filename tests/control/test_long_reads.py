"""Requests that read long topics, and others meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import fakemq
from tests.support.control import Http
from tests.support.long_reads import wait_until_in_slices


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("sent", {"topic": "orders", "count": 5_000}),
        ("not-redelivered", {"topic": "orders", "group": "billing"}),
    ],
)
def test_long_assertion_lets_other_requests_go_first(
    mq: fakemq.Cluster, http_client: Http, path: str, body: dict[str, object]
) -> None:
    mq.seed("orders", ["x"] * 5_000)
    with ThreadPoolExecutor(1) as pool:
        asserting = pool.submit(http_client.post, f"/v1/assert/{path}", body)
        wait_until_in_slices(mq, asserting)
        assert mq.queues("orders")
        assert not asserting.done()
        asserting.result()
