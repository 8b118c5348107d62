"""What users of the control port ask for wrongly, and what they could not ask for before."""

from __future__ import annotations

from typing import Any

import pytest

import fakemq
from fakemq.client import Client, Message
from fakemq.events import HandlerFailed
from tests.support.control import Http

# -- what is wrong with a request is 400, and no bug -------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (
            {"fault": "reply", "args": ["SEND_MESSAGE_V2"], "kwargs": {"fields": 7}},
            400,
            "fields=7: expected names and values",
        ),
        ({"fault": "flip_byte", "args": ["x"]}, 404, "no message 'x'"),
        ({"fault": "flip_byte", "args": [7]}, 400, "message=7: expected a message, its id, or"),
        ({"fault": "flip_byte", "args": [{"topic": "orders", "of": 1}]}, 400, "or its place with"),
        ({"fault": "drop", "args": ["SEND_MESSAGE"], "kwargs": {"times": 1.5}}, 400, "times=1.5"),
        ({"fault": "nosuch"}, 400, "there is no fault 'nosuch'; there are: bandwidth, believe"),
        ({"fault": "silense"}, 400, "did you mean silence?"),
    ],
)
def test_invalid_fault_request_is_refused(
    mq: fakemq.Cluster, http_client: Http, body: Any, status: int, message: str
) -> None:
    answer = http_client.ask("POST", "/v1/faults", body)
    assert answer.status == status
    assert message in answer.error
    assert not mq.journal.find(HandlerFailed)


def test_message_without_room_is_refused(mq: fakemq.Cluster, http_client: Http) -> None:
    path = "/v1/topics/orders/messages"
    answer = http_client.ask("POST", path, {"bodies": ["x" * (8 << 20)]})
    assert answer.status == 400
    assert "did not take a message for orders: MESSAGE_ILLEGAL" in answer.error
    with mq.faults.disk_full("broker-a"):
        answer = http_client.ask("POST", path, {"bodies": ["x"]})
        assert answer.status == 409
        assert "SERVICE_NOT_AVAILABLE" in answer.error
        mq.wait_for(lambda: mq.faults.all()[0].used)
    assert not mq.journal.find(HandlerFailed)
    for odd in ({"properties": {"": "x"}}, {"properties": {"a": "\x02"}}, {"queue": -1}):
        assert http_client.ask("POST", path, {"bodies": ["x"], **odd}).status == 400
    assert http_client.ask("POST", path, {"bodies": ["x"], "queue": 7}).status == 404


def test_token_scheme_may_be_in_small_letters() -> None:
    with fakemq.Cluster(control_port=0, control_token="t") as mq:
        assert mq.control_url is not None
        for given, status in (("bearer t", 200), ("Bearer  t", 200), ("basic t", 401)):
            headers = {"Authorization": given}
            assert Http(mq.control_url).ask("GET", "/v1/state", headers=headers).status == status


# -- faults -----------------------------------------------------------------------------------


def test_requests_at_a_gate_are_listed(mq: fakemq.Cluster, http_client: Http) -> None:
    gate = {"fault": "park", "args": ["GET_ROUTEINFO_BY_TOPIC"], "kwargs": {"must_fire": False}}
    assert http_client.post("/v1/faults", gate)["waiting"] == 0
    placed = http_client.post("/v1/faults", {"fault": "believe_reports", "args": ["broker-a"]})
    assert placed["waiting"] is None
    assert mq.faults.all() == mq.faults.placed()
    mq.reset()
    again = http_client.post("/v1/faults", {"fault": "silence", "args": ["broker-a"]})
    assert (again["id"], again["waiting"]) == (1, None)
    mq.reset()


@pytest.mark.parametrize("by", ["msg_id", "offset_msg_id", "place", "message"])
def test_byte_is_flipped_by_message_id_and_position(
    mq: fakemq.Cluster, http_client: Http, by: str
) -> None:
    _, message = mq.seed("orders", [b"one", b"two"])
    place = {"topic": "orders", "broker": "broker-a", "queue_id": 1, "offset": 0}
    if by == "message":
        mq.faults.flip_byte(message)
    else:
        wanted = place if by == "place" else getattr(message, by)
        assert http_client.post("/v1/faults", {"fault": "flip_byte", "args": [wanted]})["fired"]
    bodies = [one.body for one in mq.messages("orders")]
    assert bodies[0] == b"one"
    assert bodies[1] == bytes([ord("t") ^ 0xFF]) + b"wo"


# -- nodes and messages -----------------------------------------------------------------------


def test_brokers_are_listed_promoted_and_demoted() -> None:
    with fakemq.Cluster(control_port=0, slaves=1, clock="frozen") as mq:
        assert mq.control_url is not None
        http = Http(mq.control_url)
        assert [one["name"] for one in http.get("/v1/brokers")] == ["broker-a-0", "broker-a-1"]
        http.post("/v1/brokers/broker-a-0/stop")
        assert http.post("/v1/brokers/broker-a-1/promote")["role"] == "ASYNC_MASTER"
        demoted = http.post("/v1/brokers/broker-a-0/demote", {"broker_id": 1})
        assert (demoted["role"], demoted["broker_id"]) == ("SLAVE", 1)


def test_disk_size_is_set(mq: fakemq.Cluster, http_client: Http) -> None:
    path = "/v1/brokers/broker-a/disk_size"
    assert http_client.post(path, {"size": "64MiB"})["name"] == "broker-a-0"
    assert http_client.ask("POST", path, {"size": "many"}).status == 400
    http_client.post(path, {"size": None})


def test_seeding_takes_a_queue_and_a_delay(mq: fakemq.Cluster, http_client: Http) -> None:
    path = "/v1/topics/orders/messages"
    more = {"keys": "k", "properties": {"colour": "red"}, "queue": 1}
    stored = http_client.post(path, {"bodies": ["a", "b"], **more})
    assert [(one["queue_id"], one["offset"]) for one in stored] == [(1, 0), (1, 1)]
    assert stored[0]["properties"]["colour"] == "red"
    assert stored[0]["keys"] == "k"
    assert http_client.post(path, {"bodies": ["c"], "properties": {"DELAY": "3"}}) == []
    (waiting,) = http_client.get("/v1/delayed")
    assert (waiting["topic"], waiting["level"]) == ("orders", 3)
    mq.clock.advance("11s")
    assert [one.body for one in mq.messages("orders")] == [b"a", b"b", b"c"]


def test_biography_and_diagnosis_are_returned(mq: fakemq.Cluster, http_client: Http) -> None:
    (seeded,) = mq.seed("orders", ["one"])
    path = f"/v1/topics/orders/messages/{seeded.msg_id}/biography"
    shown = http_client.get(path)
    assert shown["steps"] == [str(step) for step in seeded.biography]
    assert "stored in orders broker-a-0/0@0" in shown["steps"][0]
    assert http_client.ask("GET", path.replace(seeded.msg_id, "X")).status == 404
    (why,) = http_client.get("/v1/diagnosis?topic=orders&group=billing")
    assert "group billing has no member" in why


def test_run_until_ends_with_its_condition_or_at_its_bound(
    mq: fakemq.Cluster, http_client: Http
) -> None:
    with Client(mq.namesrv_addr) as client:
        client.send(Message("orders", b"later", properties={"DELAY": "3"}))
    wanted = {"messages": {"topic": "orders"}, "at_most": "20s"}
    assert http_client.post("/v1/run-until", wanted) == {"messages": 1}
    missing = http_client.ask(
        "POST", "/v1/run-until", {**wanted, "lag": {"group": "g", "topic": "orders"}}
    )
    assert missing.status == 408
    assert (
        "not after 20000 ms of the cluster's time: lag of g in orders is 1, wanted" in missing.error
    )
    assert "group g has no member" in missing.json["diagnosis"][0]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/v1/journal?since=1e3", "Expected `int`, got `1e3` - at `$.since`; the query may have"),
        ("/v1/journal?epoch=1.0", "Expected `int`, got `1.0` - at `$.epoch`"),
        ("/v1/topics/orders/messages?limit=1e1", "Expected `int`, got `1e1` - at `$.limit`"),
        ("/v1/groups/x?topic=", "Expected `str` of length >= 1 - at `$.topic[0]`"),
        ("/v1/diagnosis?group=", "Expected `str` of length >= 1 - at `$.group`"),
        ("/v1/delayed?topic=", "Expected `str` of length >= 1 - at `$.topic`"),
    ],
)
def test_query_that_means_no_integer_or_no_name_is_refused(
    mq: fakemq.Cluster, http_client: Http, path: str, error: str
) -> None:
    answer = http_client.ask("GET", path)
    assert answer.status == 400
    assert error in answer.error
    assert http_client.get("/v1/journal?since=0&timeout=1")["epoch"] >= 0
