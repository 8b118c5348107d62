"""Requests that wait: for the journal to grow, and for what a test wants to see."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import fakemq
from fakemq.client import Client
from fakemq.control.port import ControlPort
from fakemq.core.cluster import ClusterCore
from fakemq.events import LinkOpened, TopicChanged
from fakemq.protocol.bodies.queue import MessageQueue
from tests.support.control import Answer, Http


def meanwhile(mq: fakemq.Cluster, ask: Callable[[], Any], do: Callable[[], object]) -> Any:
    """Return the answer of a waiting request while something is done."""
    (port,) = mq._running().server._services
    assert isinstance(port, ControlPort)
    never = threading.Event()
    with ThreadPoolExecutor(1) as other:
        answer: Future[Any] = other.submit(ask)
        while not (port._control._waits or answer.done()):  # seen nowhere else
            never.wait(0.001)
        assert not answer.done()
        do()
        return answer.result(10)


def test_long_poll_is_answered_by_the_next_entry(mq: fakemq.Cluster, http_client: Http) -> None:
    since = http_client.get("/v1/journal?limit=0")["next_since"] or len(mq.journal)
    path = f"/v1/journal?kind=LogAppended&where=topic=orders&since={since}&timeout=10s"
    found = meanwhile(mq, lambda: http_client.get(path), lambda: mq.seed("orders", ["one"]))
    (entry,) = found["entries"]
    assert (entry["kind"], entry["event"]["node"]) == ("LogAppended", "broker-a-0")
    assert found["next_since"] >= entry["seq"] > since


def test_time_moves_while_other_requests_wait(mq: fakemq.Cluster, http_client: Http) -> None:
    path = "/v1/journal?kind=BrokerGone&timeout=10s"
    mq.faults.silence("broker-a")
    found = meanwhile(
        mq,
        lambda: http_client.get(path),
        lambda: http_client.post("/v1/clock/advance", {"duration": "131s"}),
    )
    assert found["entries"][0]["event"]["broker_name"] == "broker-a"


def test_journal_is_read_in_pages(mq: fakemq.Cluster, http_client: Http) -> None:
    mq.seed("orders", [str(number) for number in range(5)])
    path = "/v1/journal?kind=LogAppended&where=topic=orders&limit=2"
    seen, since = [], 0
    for _ in range(4):
        page = http_client.get(f"{path}&since={since}")
        seen += [entry["event"]["queue_offset"] for entry in page["entries"]]
        since = page["next_since"]
    assert seen == [0, 0, 1, 1, 2]
    assert since == len(mq.journal)
    assert len(http_client.get(f"{path}&since=999999")["entries"]) == 2  # it began anew


def test_codes_are_found_by_name(mq: fakemq.Cluster, http_client: Http) -> None:
    path = "/v1/journal?kind=RequestHandled&where=code={}&where=response_code=0"
    by_name = http_client.get(path.format("REGISTER_BROKER"))["entries"]
    assert by_name == http_client.get(path.format(103))["entries"] != []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("kind=Deliverd", "no kind of event is called 'Deliverd'; did you mean Delivered?"),
        ("kind=Delivered&where=topics=a", "Delivered has no topics; it has: group, "),
        ("where=topic", "where=topic: expected FIELD=VALUE, such as where=topic=orders"),
        ("limit=many", "Expected `int`"),
        ("since=-1", "Expected `int` >= 0"),
        ("timeout=1h", "timeout='1h': expected up to 600 s"),
        ("kinds=a", "the query may have: kind, where, since, epoch, limit, timeout"),
        ("kind=A&kind=B", "kind is given 2 times; expected once"),
    ],
)
def test_invalid_queries_are_refused(http_client: Http, query: str, message: str) -> None:
    answer = http_client.ask("GET", f"/v1/journal?{query}")
    assert answer.status == 400
    assert message in answer.error


def test_waits_for_lag_messages_deliveries_and_members_end(
    mq: fakemq.Cluster, http_client: Http
) -> None:
    wanted = {
        "messages": {"topic": "orders", "at_least": 2},
        "delivered": {"topic": "orders", "group": "billing", "at_least": 2},
        "lag": {"group": "billing", "topic": "orders"},
        "journal": {"kind": "OffsetCommitted", "fields": {"group": "billing"}},
        "timeout": "10s",
    }
    mq.seed("orders", ["one"])
    seen = meanwhile(mq, lambda: http_client.post("/v1/wait-for", wanted), lambda: consume(mq))
    assert (seen["messages"], seen["delivered"], seen["lag"]) == (2, 2, 0)
    assert seen["journal"] >= 1


def consume(mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["two"])
    queue = MessageQueue(topic="orders", broker_name="broker-a", queue_id=0)
    with Client(mq.namesrv_addr, consumer_group="billing") as client:
        assert len(client.pull(queue, 0).messages) == 2
        client.update_offset(queue, 2, oneway=False)


def test_wait_that_times_out_names_what_is_missing(mq: fakemq.Cluster, http_client: Http) -> None:
    mq.seed("orders", ["one"])
    answer = http_client.ask(
        "POST",
        "/v1/wait-for",
        {
            "messages": {"topic": "orders", "at_least": 3},
            "lag": {"group": "billing", "topic": "orders"},
            "members": {"group": "billing"},
            "timeout": "20ms",
        },
    )
    assert answer.status == 408
    what, _, causes = answer.error.partition("; most likely:\n")
    assert what == (
        "not after 20 ms of real time: lag of billing in orders is 1, wanted at most 0,"
        " messages is 1, wanted at least 3, members is 0, wanted at least 1"
    )
    assert causes.split("\n") == [f"  {cause}" for cause in answer.json["diagnosis"]]
    assert "group billing has no member" in causes
    assert answer.json["diagnosis"] == mq.diagnosis("orders", "billing")
    assert "Dispatched" in answer.json["journal"][-1]


def test_wait_for_an_unknown_topic_times_out(http_client: Http) -> None:
    lag = {"group": "billing", "topic": "stock"}
    answer = http_client.ask("POST", "/v1/wait-for", {"lag": lag, "timeout": "20ms"})
    assert answer.status == 408
    assert answer.error == "not after 20 ms of real time: no topic 'stock' yet"
    assert "diagnosis" not in answer.json


@pytest.mark.parametrize("condition", ["lag", "delivered"])
@pytest.mark.parametrize("path", ["/v1/wait-for", "/v1/run-until"])
def test_wait_for_a_mistyped_name_is_refused_at_once(
    mq: fakemq.Cluster, http_client: Http, path: str, condition: str
) -> None:
    mq.group("billing").set(retry_max_times=3)
    for names, meant in (
        ({"group": "billing", "topic": "ordres"}, "no topic 'ordres'; did you mean orders?"),
        ({"group": "biling", "topic": "orders"}, "no group 'biling'; did you mean billing?"),
        ({"group": "biling", "topic": "stock"}, "no group 'biling'; did you mean billing?"),
    ):
        time = {"at_most": "1s"} if path == "/v1/run-until" else {"timeout": "9s"}
        answer = http_client.ask("POST", path, {condition: names, **time})
        assert answer.status == 404
        assert answer.error.startswith(meant)


def test_mistyped_topic_is_not_found(http_client: Http) -> None:
    answer = http_client.ask("GET", "/v1/topics/ordesr/messages")
    assert (answer.status, answer.error) == (404, "no topic 'ordesr'; did you mean orders?")


def test_wait_without_a_condition_is_refused(http_client: Http) -> None:
    answer = http_client.ask("POST", "/v1/wait-for", {})
    assert answer.status == 400
    assert answer.error.startswith("nothing to wait for; expected lag, ")


def test_reset_restarts_counting(mq: fakemq.Cluster, http_client: Http) -> None:
    wanted = {"journal": {"kind": "LogAppended", "at_least": 2}, "timeout": "10s"}
    mq.seed("orders", ["one"])

    def begin_anew() -> None:
        mq.reset()
        mq.seed("orders", ["two", "three"])

    seen = meanwhile(mq, lambda: http_client.post("/v1/wait-for", wanted), begin_anew)
    assert seen == {"journal": 2}


def begin_longer(core: ClusterCore) -> int:
    """Reset the journal, and let it be longer than before within the same turn of the loop."""
    number = core.journal.last_seq + 5
    core.journal.clear()
    for _ in range(number):
        core.journal.add(TopicChanged(node="broker-a-0", topic="orders", how="anew"))
    return number


def test_reset_is_seen_although_the_new_journal_is_longer(
    mq: fakemq.Cluster, http_client: Http
) -> None:
    before = http_client.get("/v1/state")["journal_seq"]
    wanted = {"kind": "TopicChanged", "fields": {"topic": "orders"}, "at_least": before + 5}
    seen = meanwhile(
        mq,
        lambda: http_client.post("/v1/wait-for", {"journal": wanted, "timeout": "5s"}),
        lambda: mq.inspect(begin_longer),
    )
    assert seen == {"journal": before + 5}
    since = http_client.get("/v1/state")["journal_seq"]
    path = f"/v1/journal?kind=TopicChanged&where=topic=orders&since={since}&timeout=10s"
    found = meanwhile(mq, lambda: http_client.get(path), lambda: mq.inspect(begin_longer))
    assert [one["seq"] for one in found["entries"]] == [*range(1, since + 6)]


def test_reset_between_two_requests_is_seen(mq: fakemq.Cluster, http_client: Http) -> None:
    first = http_client.get("/v1/journal")
    since, epoch = first["next_since"], first["epoch"]
    state = http_client.get("/v1/state")
    assert (state["journal_seq"], state["journal_epoch"]) == (since, epoch)
    mq.inspect(begin_longer)
    path = f"/v1/journal?kind=TopicChanged&where=topic=orders&since={since}"
    assert len(http_client.get(path)["entries"]) == 5, "a number alone does not show a reset"
    second = http_client.get(f"{path}&epoch={epoch}")
    assert second["epoch"] != epoch
    assert [one["seq"] for one in second["entries"]] == [*range(1, since + 6)]
    path = f"{path}&epoch={second['epoch']}"
    assert len(http_client.get(path)["entries"]) == 5, "no reset since then"
    wanted = {"kind": "TopicChanged", "fields": {"topic": "orders"}, "since": since}
    for known, count in ((epoch, since + 5), (second["epoch"], 5)):
        body = {"journal": {**wanted, "epoch": known, "at_least": count + 1}, "timeout": 0}
        refused = http_client.ask("POST", "/v1/wait-for", body)
        assert f"journal is {count}, wanted" in refused.error


def test_wait_is_answered_when_the_cluster_stops() -> None:
    with fakemq.Cluster(control_port=0) as other:
        assert other.control_url is not None
        there = Http(other.control_url)

        def ask() -> Answer:
            return there.ask("POST", "/v1/wait-for", {"journal": {"kind": "BrokerGone"}})

        answer = meanwhile(other, ask, other.stop)
    assert answer.status == 409
    assert answer.error == "the cluster is being stopped; by now: journal is 0, wanted at least 1"


def test_wait_ends_when_its_client_leaves(mq: fakemq.Cluster, http_client: Http) -> None:
    (port,) = mq._running().server._services
    assert isinstance(port, ControlPort)
    host, _, number = http_client.url.removeprefix("http://").rpartition(":")
    never = threading.Event()
    with socket.create_connection((host, int(number)), 10) as peer:
        peer.sendall(
            b"GET /v1/journal?kind=BrokerGone&timeout=600s HTTP/1.1\r\nHost: [::1]\r\n\r\n"
        )
        while not port._control._waits:
            never.wait(0.001)
    while port._control._waits:
        never.wait(0.001)


def test_nodes_stop_and_start_one_after_the_other(mq: fakemq.Cluster, http_client: Http) -> None:
    paths = [f"/v1/brokers/broker-a/{how}" for how in ("restart", "stop", "kill", "restart")]
    paths += ["/v1/reset", "/v1/brokers/broker-a/restart"]
    with ThreadPoolExecutor(len(paths)) as others:
        answers = list(others.map(lambda path: http_client.ask("POST", path), paths * 3))
    assert {answer.status for answer in answers} == {200}
    http_client.post("/v1/reset")
    assert http_client.get("/v1/brokers/broker-a")["state"] == "running"


def test_control_request_is_no_link_of_the_cluster(mq: fakemq.Cluster, http_client: Http) -> None:
    before = len(mq.journal.find(LinkOpened))
    http_client.get("/v1/state")
    assert len(mq.journal.find(LinkOpened)) == before


def test_causes_of_a_wait_for_deliveries_are_of_its_topic(
    mq: fakemq.Cluster, http_client: Http
) -> None:
    mq.seed("orders", ["tea"])
    mq.seed("others", ["coffee"])
    wanted = {"topic": "orders", "group": "g"}
    body = {"delivered": wanted, "timeout": "0.1s"}
    answer = http_client.ask("POST", "/v1/wait-for", body)
    assert answer.status == 408
    causes = "".join(answer.json["diagnosis"])
    assert "tea" in causes
    assert "coffee" not in causes
