"""An advance over HTTP: in parts, so that others are answered, and that it can be ended."""

from __future__ import annotations

import http.client
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import fakemq
from fakemq.events import ClockMoved
from tests.support.control import Http
from tests.support.time import skip_nothing

FAR = {"duration": "3650d"}


def begun(mq: fakemq.Cluster) -> None:
    mq.wait_for(lambda: mq.journal.find(ClockMoved, how="advance"))


def test_others_are_answered_and_can_end_an_advance(mq: fakemq.Cluster, http_client: Http) -> None:
    skip_nothing(mq)
    with ThreadPoolExecutor(1) as other:
        moving = other.submit(http_client.ask, "POST", "/v1/clock/advance", FAR)
        begun(mq)
        before_ms = http_client.get("/v1/clock")["now_ms"]
        mq.wait_for(lambda: http_client.get("/v1/clock")["now_ms"] > before_ms)
        http_client.delete("/v1/clock/advance")
        answer = moving.result(5)
    assert answer.status == 409
    assert answer.error.startswith("another request has ended the advance: time was moved by ")
    after_ms = mq.clock.now_ms()
    mq.seed("orders", ["time does not move"])
    assert mq.clock.now_ms() == after_ms
    moved = mq.journal.find(ClockMoved)
    assert [one.how for one in moved] == ["advance", "give up"]
    assert sum(one.by_ms for one in moved) == after_ms - mq.journal.entries(ClockMoved)[0].at_ms


JSON = {"Content-Type": "application/json"}


def test_advance_ends_when_its_client_disconnects(mq: fakemq.Cluster, http_client: Http) -> None:
    skip_nothing(mq)
    connection = http.client.HTTPConnection(urlsplit(http_client.url).netloc, timeout=10)
    connection.request("POST", "/v1/clock/advance", b'{"duration": "3650d"}', JSON)
    begun(mq)
    connection.close()
    mq.wait_for(lambda: mq.journal.find(ClockMoved, how="give up"))


def test_advances_of_several_clients_follow_each_other(
    mq: fakemq.Cluster, http_client: Http
) -> None:
    before_ms = mq.clock.now_ms()
    gate = threading.Barrier(3)

    def advance() -> int:
        gate.wait(5)
        return int(http_client.post("/v1/clock/advance", {"duration": "10m"})["now_ms"])

    with ThreadPoolExecutor(3) as others:
        ends = sorted(one.result(10) for one in [others.submit(advance) for _ in range(3)])
    assert ends == [before_ms + tens * 600_000 for tens in (1, 2, 3)]


def test_there_is_no_advance_to_end(http_client: Http) -> None:
    assert http_client.ask("DELETE", "/v1/clock/advance").status == 404


def test_advance_fires_the_same_deadlines_as_in_process(mq: fakemq.Cluster) -> None:
    assert mq.control_url is not None
    skip_nothing(mq)  # where routine is skipped depends on the parts, and so on real time
    with fakemq.Cluster(clock="frozen", start_at="2024-02-29T12:00:00Z", seed=1) as other:
        skip_nothing(other)
        here = [(one.kind, one.at_ms) for one in other.clock.advance("10m")]
    moved = Http(mq.control_url).post("/v1/clock/advance", {"duration": "10m"})
    there = [(one["kind"], one["at_ms"]) for one in moved["fired"]]
    assert [one for one in there if one[0] != "channel_idle"] == [
        one for one in here if one[0] != "channel_idle"
    ]
    assert moved["count"] == len(there)
