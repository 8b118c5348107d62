"""Requests that read long topics, and others meanwhile."""

from __future__ import annotations

from functools import partial

import pytest

import fakemq
from fakemq.events import HandlerFailed
from tests.support.control import Http
from tests.support.long_reads import result_of_slices


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
    result_of_slices(mq, lambda: http_client.post(f"/v1/assert/{path}", body))


@pytest.mark.parametrize("indexed", [True, False])
def test_biography_of_one_of_many_messages_lets_others_go_first(indexed: bool) -> None:
    config = {"messageIndexEnable": str(indexed).lower()}
    with fakemq.Cluster(control_port=0, clock="frozen", config=config) as mq:
        assert mq.control_url is not None
        http = Http(mq.control_url)
        wanted = mq.seed("orders", ["x"] * 5_000)[-1]
        path = "/v1/topics/orders/messages/{}/biography"
        for name in (wanted.msg_id, wanted.offset_msg_id):
            shown = result_of_slices(mq, partial(http.get, path.format(name)))
            assert shown["steps"] == [str(step) for step in wanted.biography]
        unknown = http.ask("GET", path.format("none"))
        assert (unknown.status, unknown.error) == (
            404,
            "the journal has no message with the unique id 'none'",
        )
        assert not mq.journal.find(HandlerFailed)


def test_long_list_of_delayed_messages_lets_others_go_first(
    mq: fakemq.Cluster, http_client: Http
) -> None:
    mq.seed("others", ["x"], delay="30s")
    mq.seed("orders", ["x"] * 3_000, delay="10s")
    asked = lambda: http_client.get("/v1/delayed?topic=orders")  # noqa: E731
    assert len(result_of_slices(mq, asked)) == 3_000
    assert len(result_of_slices(mq, lambda: mq.delayed("orders"))) == 3_000
    assert [one.topic for one in mq.delayed()] == ["orders"] * 3_000 + ["others"]


def test_long_diagnosis_lets_others_go_first(mq: fakemq.Cluster, http_client: Http) -> None:
    mq.seed("orders", ["x"] * 2_000)
    expected = mq.diagnosis("orders")  # the journal is read now
    assert "2000 messages of orders" in expected[0]
    asked = lambda: http_client.get("/v1/diagnosis?topic=orders")  # noqa: E731
    assert result_of_slices(mq, asked) == expected
    assert result_of_slices(mq, lambda: mq.diagnosis("orders")) == expected
