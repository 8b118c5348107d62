"""What the pages ask the control port for: overview, search, assertions, the live journal."""

from __future__ import annotations

import http.client
import json
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

import fakemq
from fakemq.control import journal
from fakemq.core import overview
from fakemq.core.cluster import ClusterCore
from fakemq.events import LogAppended, TopicChanged
from fakemq.protocol.grpc import messages as m
from tests.support.browser import Browser, needs_chromium, text_of
from tests.support.control import Http, send_with_id
from tests.support.grpc_client import grpc_client


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        masters=2, slaves=1, topics={"orders": 2}, control_port=0, start_at="2024-02-29T12:00:00Z"
    ) as cluster:
        yield cluster


def test_pages_load_nothing_from_elsewhere(mq: fakemq.Cluster) -> None:
    assert mq.control_url is not None
    client = Http(mq.control_url)
    for path in (
        "/",
        "/docs",
        "/page/style.css",
        "/page/common.js",
        "/page/index.js",
        "/page/journal.js",
        "/page/docs.js",
    ):
        answer = client.ask("GET", path)
        assert answer.status == 200
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        foreign = [
            word for word in str(answer.json).split() if "http://" in word or "https://" in word
        ]
        assert [word for word in foreign if "www.w3.org/2000/svg" not in word] == []
    assert client.ask("GET", "/page/__init__.py").status == 404


def test_body_needs_a_json_content_type(mq: fakemq.Cluster) -> None:
    assert mq.control_url is not None
    client = Http(mq.control_url)
    body = b'{"duration": "1s"}'
    for given in ("text/plain", "application/x-www-form-urlencoded", ""):
        refused = client.ask("POST", "/v1/clock/advance", body, {"Content-Type": given})
        assert refused.status == 415
        assert "expected application/json" in refused.error
    assert (
        client.ask("POST", "/v1/clock/freeze", None, {"Content-Type": "text/plain"}).status == 415
    )
    assert client.ask("POST", "/v1/clock/freeze").status == 200
    kind = {"Content-Type": "application/json; charset=utf-8"}
    assert client.ask("POST", "/v1/clock/advance", body, kind).status == 200
    foreign = client.ask("POST", "/v1/clock/freeze", None, {"Origin": "http://evil.example"})
    assert foreign.status == 403


def test_overview_has_nodes_links_clients_and_faults(mq: fakemq.Cluster) -> None:
    assert mq.control_url is not None
    mq.seed("orders", ["a"])
    mq.consumer(group="billing", subscribe="orders")
    pairs = {("broker-a-0", "broker-a-1"), ("broker-b-0", "broker-b-1")}
    mq.wait_for(lambda: pairs <= {(one.a, one.b) for one in mq.inspect(overview.links)[0]})
    (member,) = mq.group("billing").members()
    mq.faults.latency("broker-a", "broker-a-1", "5ms", must_fire=False)
    seen = Http(mq.control_url).get("/v1/overview")
    links = {(one["a"], one["b"]): one for one in seen["links"]}
    assert links["broker-a-0", "broker-a-1"]["faulty"]
    assert not links["broker-b-0", "broker-b-1"]["faulty"]
    assert links["broker-a-0", "namesrv-0"]["count"] >= 1
    assert [one["b"] for one in seen["links"] if one["client"] and one["a"] == "broker-a-0"] == [
        member.client_id
    ]
    assert [one["client_id"] for one in seen["clients"]] == [member.client_id]
    assert [one["what"] for one in seen["faults"]] == ["latency 5 ms broker-a-0 – broker-a-1"]
    assert {one["name"]: one["messages"] for one in seen["topics"]}["orders"] == 1
    mq.faults.clear()


def test_overview_finds_groups_and_clients_that_are_left_out() -> None:
    def register(core: ClusterCore) -> None:
        assert core.proxy is not None
        for number in range(overview.MOST + 3):
            connection: Any = SimpleNamespace(
                remote_addr=f"10.0.0.9:{number}", outside=True, closed=False
            )
            name = f"{number:03}"
            core.proxy.clients.register(
                "consumer", f"Group-{name}", f"Me-{name}", "PYTHON", connection
            )

    with fakemq.Cluster(grpc=True, control_port=0) as mq:
        mq.inspect(register)
        for number in range(overview.MOST + 3):
            mq.group(f"Group-{number:03}").set(retry_max_times=3)
        assert mq.control_url is not None
        client = Http(mq.control_url)
        seen = client.get("/v1/overview")
        assert (seen["groups_left_out"], seen["clients_left_out"]) == (3, 3)
        assert "Me-202" not in {one["client_id"] for one in seen["clients"]}
        for query in ("client=mE-202", "client=group-202", "client=0.9:202"):
            found = client.get(f"/v1/overview?{query}")
            assert [one["client_id"] for one in found["clients"]] == ["Me-202"]
            assert (found["groups_left_out"], found["clients_left_out"]) == (3, 0)
        found = client.get("/v1/overview?group=gROUP-202")
        assert [one["name"] for one in found["groups"]] == ["Group-202"]
        assert (found["groups_left_out"], found["clients_left_out"]) == (0, 3)


def test_overview_has_the_clients_of_the_grpc_front() -> None:
    connection: Any = SimpleNamespace(remote_addr="10.0.0.9:1", outside=True, closed=False)

    def register(core: ClusterCore) -> None:
        assert core.proxy is not None
        core.proxy.clients.register("consumer", "billing", "me@1", "PYTHON", connection)

    with fakemq.Cluster(grpc=True, control_port=0) as mq:
        mq.inspect(register)
        assert mq.control_url is not None
        (client,) = Http(mq.control_url).get("/v1/overview")["clients"]
        assert client == {
            "role": "consumer",
            "group": "billing",
            "client_id": "me@1",
            "peer": "10.0.0.9:1",
        }


def test_link_of_a_grpc_client_has_its_id() -> None:
    settings = m.TelemetryCommand(
        settings=m.Settings(
            client_type=m.ClientType.PRODUCER,
            publishing=m.Publishing(topics=[m.Resource(name="orders")]),
        )
    )
    with (
        fakemq.Cluster(grpc=True, control_port=0, topics={"orders": 1}) as mq,
        grpc_client(mq.grpc_addr) as client,
    ):
        answers = client.telemetry([settings], x_mq_client_id="me@1", x_mq_language="PYTHON")
        next(answers)
        assert mq.control_url is not None
        seen = Http(mq.control_url).get("/v1/overview")
        answers.cancel()
    links = [(one["a"], one["b"]) for one in seen["links"] if one["client"]]
    assert links == [("proxy-0", "me@1")]
    (one,) = seen["clients"]
    assert (one["role"], one["group"], one["client_id"]) == ("producer", "orders", "me@1")


def test_groups_of_rocketmq_itself_are_not_in_the_overview() -> None:
    with fakemq.Cluster(reference="5.5.0", control_port=0) as mq:
        assert mq.control_url is not None
        assert Http(mq.control_url).get("/v1/overview")["groups"] == []


def test_messages_are_found_by_id_and_key(mq: fakemq.Cluster) -> None:
    assert mq.control_url is not None
    client = Http(mq.control_url)
    one, other = mq.seed("orders", ["a", "b"], keys="k-1 k-2")
    for word, expected in ((one.msg_id, 1), (one.offset_msg_id, 1), ("k-2", 2), ("k", 0)):
        assert len(client.get(f"/v1/messages?word={word}")) == expected
    (found,) = client.get(f"/v1/messages?word={other.msg_id}")
    assert (found["topic"], found["queue_id"], found["offset"]) == (
        "orders",
        other.queue_id,
        other.offset,
    )
    assert client.ask("GET", "/v1/messages?word=").status == 400


@pytest.mark.parametrize(
    "msg_id", ["../../../../page/x", "a/b", "a%2Fb", "..", "%", "\u00fc ?#&;", "/", "\\"]
)
def test_id_of_a_message_may_have_any_characters(mq: fakemq.Cluster, msg_id: str) -> None:
    assert mq.control_url is not None
    client = Http(mq.control_url)
    send_with_id(mq, "orders", msg_id)
    assert [one.msg_id for one in mq.messages("orders")] == [msg_id]
    path = f"/v1/topics/orders/messages/{quote(msg_id, safe='')}/biography"
    biography = client.get(path)
    assert any("stored in orders" in step for step in biography["steps"])
    (found,) = client.get(f"/v1/messages?word={quote(msg_id)}")
    assert found["msg_id"] == msg_id
    same = client.get(f"/v1/topics/%6frders/messages/{found['offset_msg_id']}/biography")
    assert (same["name"], same["steps"][0]) == (biography["name"], biography["steps"][0])


@pytest.mark.parametrize("name", ["a%2Fb", "..%2F..%2Fa", "%2F"])
def test_name_with_a_slash_creates_nothing(mq: fakemq.Cluster, name: str) -> None:
    assert mq.control_url is not None
    client = Http(mq.control_url)
    before = mq.topics()
    assert client.ask("PUT", f"/v1/topics/{name}", {}).status == 400
    assert client.ask("POST", f"/v1/topics/{name}/messages", {"bodies": ["x"]}).status == 400
    assert client.ask("PUT", f"/v1/groups/{name}", {"settings": {}}).status == 400
    assert mq.topics() == before


def test_assertions_hold_or_say_why(mq: fakemq.Cluster) -> None:
    assert mq.control_url is not None
    client = Http(mq.control_url)
    mq.seed("orders", ["a", "b"], keys="k")
    assert (
        client.post("/v1/assert/sent", {"topic": "orders", "bodies": ["b", {"base64": "YQ=="}]})
        == {}
    )
    failed = client.ask("POST", "/v1/assert/consumed", {"topic": "orders", "group": "billing"})
    assert failed.status == 412
    assert "seen:     0\nmost likely:\n  2 messages of orders" in failed.error
    assert client.post("/v1/assert/not-redelivered", {"topic": "orders", "group": "billing"}) == {}
    assert client.ask("POST", "/v1/assert/in-dlq", {"group": "billing", "count": 1}).status == 412
    assert (
        client.ask(
            "POST", "/v1/assert/delivered-once", {"topic": "orders", "group": "billing"}
        ).status
        == 412
    )
    assert client.ask("POST", "/v1/assert/sent", {"topic": "ordrs", "count": 0}).status == 404


def test_stream_has_batches_of_bounded_size(mq: fakemq.Cluster) -> None:
    assert mq.control_url is not None
    connection = http.client.HTTPConnection(urlsplit(mq.control_url).netloc, timeout=20)
    connection.request("GET", "/v1/journal/stream?kind=LogAppended&where=topic=orders")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    mq.seed("orders", ["x"] * 1_000)
    entries = skipped = 0
    while entries + skipped < 1_000:
        line = answer.readline()
        if line.startswith(b"data: "):
            batch = json.loads(line[6:])
            assert len(batch["entries"]) <= journal.BATCH_MOST
            assert {one["kind"] for one in batch["entries"]} <= {"LogAppended"}
            entries, skipped = entries + len(batch["entries"]), skipped + batch["skipped"]
    assert entries + skipped == 1_000 == len(mq.journal.find(LogAppended, topic="orders"))
    answer.close()
    connection.close()
    mq.seed("orders", ["y"])


@pytest.mark.parametrize("query", ["", "?kind=TopicChanged"])
def test_stream_begins_anew_after_a_reset_however_long_the_new_journal_is(
    mq: fakemq.Cluster, query: str
) -> None:
    def begin_longer(core: ClusterCore) -> None:
        number = core.journal.last_seq + 200
        core.journal.clear()
        for _ in range(number):
            core.journal.add(TopicChanged(node="broker-a-0", topic="orders", how="anew"))

    assert mq.control_url is not None
    mq.create_topic("others")
    connection = http.client.HTTPConnection(urlsplit(mq.control_url).netloc, timeout=20)
    connection.request("GET", f"/v1/journal/stream{query}")
    answer = connection.getresponse()
    before = next_batch(answer)["next_since"]
    mq.inspect(begin_longer)
    batch = next_batch(answer)
    while all(one["fields"].get("how") != "anew" for one in batch["entries"]):
        batch = next_batch(answer)  # that was of before the reset
    seqs = [one["seq"] for one in batch["entries"]]
    assert batch["skipped"] == seqs[0] - 1 > before, "all before these are new, too"
    answer.close()
    connection.close()


def first_batch(url: str, query: str) -> Any:
    """Return the data of the first event of a stream."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    connection.request("GET", f"/v1/journal/stream?{query}")
    answer = connection.getresponse()
    try:
        return next_batch(answer)
    finally:
        answer.close()
        connection.close()


def test_stream_begins_where_another_has_ended(mq: fakemq.Cluster) -> None:
    def happen(core: ClusterCore) -> None:
        for _ in range(150):
            core.journal.add(TopicChanged(node="broker-a-0", topic="orders", how="later"))

    assert mq.control_url is not None
    place = "kind=TopicChanged&where=how=later"
    before = first_batch(mq.control_url, place)
    assert before["entries"] == [], "it says where it begins, although there is no such entry"
    assert before["next_since"] > 0
    mq.inspect(happen)
    place += f"&since={before['next_since']}&epoch={before['epoch']}"
    batch = first_batch(mq.control_url, place)
    assert (len(batch["entries"]), batch["skipped"]) == (journal.BATCH_MOST, 50)
    assert batch["epoch"] == before["epoch"]
    mq.inspect(lambda core: core.journal.clear())
    for _ in range(20):
        mq.inspect(happen)
    batch = first_batch(mq.control_url, place)
    assert (len(batch["entries"]), batch["skipped"]) == (journal.BATCH_MOST, 20 * 150 - 100)
    assert batch["epoch"] == before["epoch"] + 1


def next_batch(answer: http.client.HTTPResponse) -> Any:
    """Return the next event's data."""
    while not (line := answer.readline()).startswith(b"data: "):
        assert line, "the stream has ended"
    return json.loads(line[6:])


def test_readers_of_the_stream_are_limited(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mq.control_url is not None
    monkeypatch.setattr(journal, "READERS_MOST", 1)
    first = http.client.HTTPConnection(urlsplit(mq.control_url).netloc, timeout=20)
    first.request("GET", "/v1/journal/stream")
    answer = first.getresponse()
    answer.readline()
    refused = Http(mq.control_url).ask("GET", "/v1/journal/stream")
    assert refused.status == 429
    assert Http(mq.control_url).ask("GET", "/v1/journal/stream?where=x").status in (400, 429)
    answer.close()
    first.close()


def test_readers_that_come_together_are_limited(mq: fakemq.Cluster) -> None:
    assert mq.control_url is not None
    place = urlsplit(mq.control_url)
    address = place.hostname, place.port
    with ExitStack() as stack:
        peers = [
            stack.enter_context(socket.create_connection(address, timeout=20))
            for _ in range(journal.READERS_MOST + 8)
        ]

        def ask(core: ClusterCore) -> None:
            # On the cluster's thread, which reads all of them afterwards, in one turn.
            for peer in peers:
                peer.sendall(b"GET /v1/journal/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")

        mq.inspect(ask)
        statuses = [peer.recv(12)[-3:] for peer in peers]
    assert Counter(statuses) == {b"200": journal.READERS_MOST, b"429": 8}
    # The places are free again once the readers are gone.
    mq.wait_for(lambda: Http(place.geturl()).ask("HEAD", "/v1/journal/stream").status == 200)


@needs_chromium
@pytest.mark.slow  # a browser
def test_page_that_waits_for_the_token_takes_it_from_a_new_address(opened: Browser) -> None:
    with fakemq.Cluster(control_port=0, control_token="s3cret") as mq:
        opened.open("about:blank")
        opened.open(f"{mq.control_url}/")
        opened.wait("document.getElementById('login').open")
        opened.run("location.hash = 'content'")
        assert opened.run("document.getElementById('login').open")
        opened.run("location.hash = 'token=s3cret'")
        opened.wait(f"{text_of('cluster')}.includes('DefaultCluster')")
        assert not opened.run("document.getElementById('login').open")
        assert "s3cret" not in opened.run("location.href")
