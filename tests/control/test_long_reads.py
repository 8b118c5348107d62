"""Requests that read long topics, and others meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import fakemq
from fakemq.events import HandlerFailed
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


@pytest.mark.parametrize("indexed", [True, False])
def test_biography_of_one_of_many_messages_lets_others_go_first(indexed: bool) -> None:
    config = {"messageIndexEnable": str(indexed).lower()}
    with (
        fakemq.Cluster(control_port=0, clock="frozen", config=config) as mq,
        ThreadPoolExecutor(1) as pool,
    ):
        assert mq.control_url is not None
        http = Http(mq.control_url)
        wanted = mq.seed("orders", ["x"] * 5_000)[-1]
        path = "/v1/topics/orders/messages/{}/biography"
        for name in (wanted.msg_id, wanted.offset_msg_id):
            asking = pool.submit(http.get, path.format(name))
            wait_until_in_slices(mq, asking)
            assert asking.result()["steps"] == [str(step) for step in wanted.biography]
        unknown = http.ask("GET", path.format("none"))
        assert (unknown.status, unknown.error) == (404, "no message none in orders")
        assert not mq.journal.find(HandlerFailed)


def test_long_list_of_delayed_messages_lets_others_go_first(
    mq: fakemq.Cluster, http_client: Http
) -> None:
    mq.seed("others", ["x"], delay="30s")
    mq.seed("orders", ["x"] * 3_000, delay="10s")
    with ThreadPoolExecutor(1) as pool:
        for asked in (
            lambda: len(http_client.get("/v1/delayed?topic=orders")),
            lambda: len(mq.delayed("orders")),
        ):
            asking = pool.submit(asked)
            wait_until_in_slices(mq, asking)
            assert asking.result() == 3_000
    assert [one.topic for one in mq.delayed()] == ["orders"] * 3_000 + ["others"]


def test_long_diagnosis_lets_others_go_first(mq: fakemq.Cluster, http_client: Http) -> None:
    mq.seed("orders", ["x"] * 2_000)
    expected = mq.diagnosis("orders")  # the journal is read now
    assert "2000 messages of orders" in expected[0]
    with ThreadPoolExecutor(1) as pool:
        for asked in (
            lambda: http_client.get("/v1/diagnosis?topic=orders"),
            lambda: mq.diagnosis("orders"),
        ):
            asking = pool.submit(asked)
            wait_until_in_slices(mq, asking)
            assert asking.result() == expected
