"""What each endpoint does to the cluster, and says of it."""

from __future__ import annotations

import base64
import re

import pytest

import fakemq
from fakemq.client import Client, Message, MQClientError
from fakemq.events import HandlerFailed
from fakemq.events.replication import Replicated
from tests.support.control import Http
from tests.support.tcp import TcpPeer

# -- nodes ------------------------------------------------------------------------------------


def test_state_is_shown(mq: fakemq.Cluster, http_client: Http) -> None:
    state = http_client.get("/v1/state")
    assert state["namesrv_addr"] == mq.namesrv_addr
    assert state["name_servers"] == [
        {"name": "namesrv-0", "state": "running", "skew_ms": 0, "addr": mq.namesrv_addr}
    ]
    (broker,) = state["brokers"]
    assert broker["name"] == "broker-a-0"
    assert (broker["addr"], broker["state"]) == (mq.broker("broker-a").addr, "running")
    assert state["clock"] == {
        "now_ms": 1_709_208_000_000,
        "now": "2024-02-29T12:00:00.000+00:00",
        "frozen": True,
        "rate": 1,
        "held": [],
        "holds": {},
    }
    assert (state["seed"], state["faults"]) == (mq.seed_value, [])
    assert state["journal_seq"] == len(mq.journal)


def test_broker_is_killed_and_restarted_with_another_config(
    mq: fakemq.Cluster, http_client: Http
) -> None:
    mq.seed("orders", ["one"])
    assert http_client.post("/v1/brokers/broker-a/kill")["state"] == "stopped"
    with pytest.raises(MQClientError), Client(mq.namesrv_addr) as client:
        client.send(Message("orders", b"no receiver"))
    restarted = http_client.post(
        "/v1/brokers/broker-a-0/restart", {"config": {"brokerPermission": 4}}
    )
    assert restarted["state"] == "running"
    assert [message.body for message in mq.messages("orders")] == [b"one"]
    assert http_client.get("/v1/brokers/broker-a")["state"] == "running"


def test_broker_is_stopped_paused_and_resumed(mq: fakemq.Cluster, http_client: Http) -> None:
    assert http_client.post("/v1/brokers/broker-a/pause")["state"] == "paused"
    assert mq.broker("broker-a").state == "paused"
    assert http_client.post("/v1/brokers/broker-a/resume")["state"] == "running"
    assert http_client.post("/v1/brokers/broker-a/stop")["state"] == "stopped"
    assert http_client.post("/v1/brokers/broker-a/restart")["state"] == "running"


def test_unknown_name_is_404_with_the_known_names(http_client: Http) -> None:
    gone = http_client.ask("POST", "/v1/brokers/broker-z/kill")
    assert (gone.status, gone.error) == (404, "no broker 'broker-z'; there are: broker-a-0")
    gone = http_client.ask("GET", "/v1/topics/bills")
    assert gone.status == 404
    assert gone.error.startswith("no topic 'bills'; there are: ")
    gone = http_client.ask("DELETE", "/v1/snapshots/1")
    assert (gone.status, gone.error) == (404, "no snapshot 1; there are: none")


def test_name_server_is_stopped_and_started(mq: fakemq.Cluster, http_client: Http) -> None:
    for act, state in (
        ("pause", "paused"),
        ("resume", "running"),
        ("kill", "stopped"),
        ("restart", "running"),
        ("stop", "stopped"),
    ):
        assert http_client.post(f"/v1/name-servers/namesrv-0/{act}")["state"] == state
        assert mq.name_server().state == state
    http_client.post(f"/v1/name-servers/{mq.namesrv_addr}/restart")
    skewed = http_client.post("/v1/name-servers/namesrv-0/skew", {"by": "-300ms"})
    assert skewed == http_client.get("/v1/name-servers/namesrv-0")
    assert skewed["skew_ms"] == mq.name_server().clock.skew_ms == -300
    answer = http_client.ask("GET", "/v1/name-servers/namesrv-7")
    assert (answer.status, "no name server 'namesrv-7'" in answer.error) == (404, True)


def test_restart_with_an_invalid_config_is_refused(http_client: Http) -> None:
    answer = http_client.ask(
        "POST", "/v1/brokers/broker-a/restart", {"config": {"listenPort": 10911}}
    )
    assert answer.status == 400
    assert "a broker keeps its listenPort" in answer.error


# -- topics -----------------------------------------------------------------------------------


def test_topics_are_created_changed_and_deleted(mq: fakemq.Cluster, http_client: Http) -> None:
    created = http_client.put("/v1/topics/bills", {"queues": 3})
    assert [queue["queue_id"] for queue in created["queues"]] == [0, 1, 2]
    assert "bills" in http_client.get("/v1/topics")
    changed = http_client.put("/v1/topics/bills", {"queues": 5, "perm": "R"})
    assert len(changed["queues"]) == 5
    with pytest.raises(MQClientError):
        send(mq, "bills")
    http_client.put("/v1/topics/bills", {"perm": "RW"})
    send(mq, "bills")
    assert http_client.get("/v1/topics/bills")["messages"] == 1
    assert http_client.delete("/v1/topics/bills") == {}
    assert "bills" not in mq.topics()


@pytest.mark.parametrize("queues", [0, 65_537, 1 << 31, 10**30])
def test_topic_is_refused_when_no_route_has_its_number_of_queues(
    mq: fakemq.Cluster, http_client: Http, queues: int
) -> None:
    for topic in ("bills", "orders"):
        answer = http_client.ask("PUT", f"/v1/topics/{topic}", {"queues": queues})
        assert answer.status == 400
        assert re.search("from 1 to 65536|Expected `int` <= 2147483647", answer.error)
    assert "bills" not in mq.topics()
    assert len(mq.queues("orders")) == 2


@pytest.mark.parametrize("wrong", [{"perm": "X"}, {"write_queues": -1}, {"write_queues": 65_537}])
def test_refused_change_creates_no_topic(
    mq: fakemq.Cluster, http_client: Http, wrong: dict[str, object]
) -> None:
    assert http_client.ask("PUT", "/v1/topics/bills", {"queues": 3, **wrong}).status == 400
    assert "bills" not in mq.topics()
    assert http_client.ask("PUT", "/v1/topics/orders", {"queues": 3, **wrong}).status == 400
    assert len(mq.queues("orders")) == 2


def send(mq: fakemq.Cluster, topic: str) -> None:
    with Client(mq.namesrv_addr) as client:
        client.send(Message(topic, b"one"))


def test_messages_are_stored_and_listed_by_pages(mq: fakemq.Cluster, http_client: Http) -> None:
    stored = http_client.post(
        "/v1/topics/orders/messages",
        {"bodies": ["größe", {"base64": base64.b64encode(b"\xff").decode()}], "tags": "new"},
    )
    assert [(one["queue_id"], one["tags"]) for one in stored] == [(0, "new"), (1, "new")]
    assert [message.body for message in mq.messages("orders")] == ["größe".encode(), b"\xff"]
    page = http_client.get("/v1/topics/orders/messages?offset=1&limit=1")
    assert (page["total"], page["offset"], len(page["messages"])) == (2, 1, 1)
    (second,) = page["messages"]
    assert (second["body"], second["text"], second["deliveries"]) == ("/w==", None, [])
    (first,) = http_client.get("/v1/topics/orders/messages?limit=1")["messages"]
    assert first["text"] == "größe"


def test_long_list_of_messages_is_stored_and_returned(
    mq: fakemq.Cluster, http_client: Http
) -> None:
    bodies = [str(number) for number in range(2_345)]
    shown = http_client.post("/v1/topics/orders/messages", {"bodies": bodies})
    assert [one["text"] for one in shown] == bodies
    assert [one.body.decode() for one in mq.messages("orders")] == bodies


def test_names_with_percent_signs_are_paths(mq: fakemq.Cluster, http_client: Http) -> None:
    mq.create_topic("%RETRY%billing", 1)
    assert http_client.get("/v1/topics/%25RETRY%25billing")["name"] == "%RETRY%billing"


def test_seeding_is_refused_when_no_broker_runs(mq: fakemq.Cluster, http_client: Http) -> None:
    mq.broker("broker-a").kill()
    answer = http_client.ask("POST", "/v1/topics/orders/messages", {"bodies": ["one"]})
    assert (answer.status, answer.error) == (
        409,
        "no broker runs that could store messages for orders",
    )


def test_seeding_is_refused_when_the_topic_is_at_no_running_broker() -> None:
    with fakemq.Cluster(masters=2, control_port=0, clock="frozen") as mq:
        assert mq.control_url is not None
        http = Http(mq.control_url)
        http.post("/v1/brokers/broker-a/kill")
        http.ask("PUT", "/v1/topics/late", {})
        http.post("/v1/brokers/broker-a/restart")
        http.post("/v1/brokers/broker-b/kill")
        answer = http.ask("POST", "/v1/topics/late/messages", {"bodies": ["one"]})
        assert answer.status == 409
        assert "no running master has the topic late; it is at broker-b-0" in answer.error
        assert not mq.journal.find(HandlerFailed)


def test_delayed_messages_are_listed(mq: fakemq.Cluster, http_client: Http) -> None:
    with Client(mq.namesrv_addr) as client:
        client.send(Message("orders", b"later", properties={"DELAY": "3"}))
    (waiting,) = http_client.get("/v1/delayed?topic=orders")
    assert (waiting["topic"], waiting["level"], waiting["text"]) == ("orders", 3, "later")
    assert waiting["due_at_ms"] == mq.clock.now_ms() + 10_000
    assert http_client.get("/v1/delayed?topic=bills") == []
    fired = http_client.post("/v1/clock/advance_to_next", {"kind": "delay_level"})["fired"]
    assert "delay_level_3" in [deadline["kind"] for deadline in fired]
    assert [message.body for message in mq.messages("orders")] == [b"later"]


# -- groups -----------------------------------------------------------------------------------


def test_groups_are_listed_and_changed(mq: fakemq.Cluster, http_client: Http) -> None:
    mq.seed("orders", ["one", "two", "three"])
    state = http_client.get("/v1/groups/billing?topic=orders")
    assert state["topics"] == [{"topic": "orders", "lag": 3, "offsets": []}]
    assert (state["members"], state["settings"]) == ([], {})
    changed = http_client.put("/v1/groups/billing", {"settings": {"retry_max_times": 3}})
    assert changed["settings"]["retry_max_times"] == 3
    assert "billing" in http_client.get("/v1/groups")
    assert not http_client.post("/v1/groups/billing/suspend")["settings"]["consume_enable"]
    assert http_client.post("/v1/groups/billing/resume")["settings"]["consume_enable"]
    http_client.delete("/v1/groups/billing?offsets=true")
    assert "billing" not in http_client.get("/v1/groups")


def test_unknown_setting_is_refused(http_client: Http) -> None:
    answer = http_client.ask("PUT", "/v1/groups/billing", {"settings": {"retries": 3}})
    assert answer.status == 400
    assert answer.error.startswith("a group has no retries; it has: consume_enable, ")


# -- time -------------------------------------------------------------------------------------


def test_clock_is_read_and_moved(mq: fakemq.Cluster, http_client: Http) -> None:
    assert not http_client.post("/v1/clock/unfreeze")["frozen"]
    assert http_client.post("/v1/clock/freeze")["frozen"]
    before_ms = mq.clock.now_ms()
    moved = http_client.post("/v1/clock/advance", {"duration": "31s"})
    assert moved["now_ms"] == mq.clock.now_ms() == before_ms + 31_000
    assert "register_broker" in [deadline["kind"] for deadline in moved["fired"]]
    moved = http_client.post("/v1/clock/advance_to", {"instant": "2024-03-01T00:00:00"})
    assert moved["now_ms"] == 1_709_251_200_000
    assert len(http_client.get("/v1/clock/timers")) == len(mq.clock.timers())
    back = http_client.ask("POST", "/v1/clock/advance_to", {"instant": "2024-02-01"})
    assert back.status == 400
    assert "time does not go back" in back.error
    none = http_client.ask("POST", "/v1/clock/advance_to_next", {"kind": "txn_chek"})
    assert (none.status, "txn_check" in none.error) == (404, True)


def test_clocks_have_rates_and_skews(mq: fakemq.Cluster, http_client: Http) -> None:
    assert http_client.post("/v1/clock/rate", {"rate": 2.5})["rate"] == mq.clock.rate == 2.5
    assert http_client.ask("POST", "/v1/clock/rate", {"rate": 0}).status == 400
    skewed = http_client.post("/v1/brokers/broker-a/skew", {"by": "-5s"})
    assert skewed["skew_ms"] == mq.broker("broker-a").clock.skew_ms == -5000


def test_holds_are_made_and_released(mq: fakemq.Cluster, http_client: Http) -> None:
    held = http_client.post("/v1/clock/holds", {"why": "looking"})
    with mq.clock.hold("thinking"):
        state = http_client.get("/v1/clock")
    assert state["holds"] == {str(held["id"]): "looking"}
    assert state["held"] == ["looking", "thinking"]
    http_client.delete(f"/v1/clock/holds/{held['id']}")
    assert http_client.get("/v1/clock")["holds"] == {}
    assert http_client.ask("DELETE", f"/v1/clock/holds/{held['id']}").status == 404


# -- faults -----------------------------------------------------------------------------------


def test_slave_is_truncated_and_started_at_once() -> None:
    with fakemq.Cluster(control_port=0, slaves=1, topics={"orders": 1}) as mq:
        mq.seed("orders", [b"1"])
        mq.wait_for(lambda: mq.journal.find(Replicated))
        assert mq.control_url is not None
        kwargs = {"lose_bytes": 1, "at_once": True}
        place = {"fault": "truncate_slave", "args": ["broker-a-1"], "kwargs": kwargs}
        assert Http(mq.control_url).post("/v1/faults", place)["fired"] == 1
        assert mq.broker("broker-a-1").state == "running"
        with TcpPeer(mq.broker("broker-a-1").addr):
            pass


def test_faults_are_placed_and_removed(mq: fakemq.Cluster, http_client: Http) -> None:
    placed = http_client.post("/v1/faults", {"fault": "silence", "kwargs": {"broker": "broker-a"}})
    (fault,) = mq.faults.placed()
    assert (placed["id"], placed["what"], placed["fired"]) == (fault.number, fault.what, 0)
    mq.faults.believe_reports("broker-a")
    assert [one["id"] for one in http_client.get("/v1/faults")] == [1, 2]
    assert not http_client.delete("/v1/faults/1")["placed"]
    assert [one.number for one in mq.faults.placed()] == [2]
    assert http_client.get("/v1/faults/2")["pending"]
    assert http_client.ask("POST", "/v1/faults/2/release").status == 409
    http_client.delete("/v1/faults")
    assert [one["placed"] for one in http_client.get("/v1/faults")] == [False, False]
    http_client.post("/v1/reset")
    assert http_client.get("/v1/faults") == []


def test_gated_request_is_released(mq: fakemq.Cluster, http_client: Http) -> None:
    held = {
        "fault": "hold",
        "args": ["clients", "broker-a"],
        "kwargs": {"always": True, "must_fire": False},
    }
    number = http_client.post("/v1/faults", held)["id"]
    assert mq.faults.placed()[0].number == number
    assert not http_client.post(f"/v1/faults/{number}/release")["placed"]
    assert mq.faults.placed() == []


def test_every_placing_of_a_fault_is_a_kind(http_client: Http) -> None:
    kinds = {kind["name"]: kind for kind in http_client.get("/v1/faults/kinds")}
    assert {"silence", "believe_reports"} <= kinds.keys()
    assert not {"all", "placed", "pending", "unused", "clear"} & kinds.keys()
    assert kinds["silence"]["call"].startswith("silence(broker: str, ")
    assert kinds["hold"]["call"].startswith("hold(a: str | Sequence[str], b: str | ")
    assert "one_way: bool = ..." in kinds["hold"]["call"]
    for kind in kinds.values():
        assert "Unpack" not in kind["call"]
        assert kind["doc"]
    assert kinds["silence"]["doc"].startswith("Stop the requests of a broker to a name server")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"fault": "silense"}, "there is no fault 'silense'; did you mean silence?"),
        (
            {"fault": "silence"},
            "silence() missing 1 required positional argument: 'broker'; expected silence(broker",
        ),
        ({"fault": "clear"}, "there is no fault 'clear'; DELETE /v1/faults removes all faults"),
        (
            {"fault": "silence", "args": ["broker-a"], "kwargs": {"broker_name": "broker-a"}},
            "silence has no argument 'broker_name'; expected silence(broker: str, ",
        ),
        (
            {"fault": "hold", "args": ["clients", "broker-a"], "kwargs": {"onec": True}},
            "hold has no argument 'onec'; expected hold(a: str | Sequence[str], b: ",
        ),
        ({}, "Object missing required field `fault`; the body may have: fault, args, kwargs"),
    ],
)
def test_invalid_fault_is_refused(http_client: Http, body: object, message: str) -> None:
    answer = http_client.ask("POST", "/v1/faults", body)
    assert answer.status == 400
    assert message in answer.error


# -- the whole --------------------------------------------------------------------------------


def test_reset_restores_the_start_state(mq: fakemq.Cluster, http_client: Http) -> None:
    mq.seed("orders", ["one"])
    mq.faults.silence("broker-a")
    mq.broker("broker-a").kill()
    http_client.post("/v1/clock/holds", {"why": "looking"})
    assert http_client.post("/v1/reset") == {}
    assert (mq.messages("orders"), mq.faults.all()) == ([], [])
    assert mq.broker("broker-a").state == "running"
    assert http_client.get("/v1/clock")["holds"] == {}


def test_snapshots_are_taken_and_restored(mq: fakemq.Cluster, http_client: Http) -> None:
    mq.seed("orders", ["one"])
    taken = http_client.post("/v1/snapshots")
    assert taken["nodes"] == ["broker-a-0"]
    mq.seed("orders", ["two"])
    mq.broker("broker-a").kill()
    http_client.post(f"/v1/snapshots/{taken['id']}/restore")
    assert [message.body for message in mq.messages("orders")] == [b"one"]
    assert http_client.get("/v1/snapshots") == [taken]
    http_client.delete(f"/v1/snapshots/{taken['id']}")
    assert http_client.get("/v1/snapshots") == []


@pytest.mark.parametrize("path", ["nsaddr", "nsaddr-unit?nofix=1", "mine"])
def test_address_server_lists_the_name_servers(
    mq: fakemq.Cluster, http_client: Http, path: str
) -> None:
    answer = http_client.ask("GET", f"/rocketmq/{path}")
    assert (answer.status, answer.json) == (200, mq.namesrv_addr)
    assert answer.headers.get_content_type() == "text/plain"
