"""GET_LITE_CLIENT_INFO: the lite topics of a client."""

from __future__ import annotations

import pytest

from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.lite import GetLiteClientInfoRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.lites import asked, lite_broker, make_parent, queue_of, subscribe


def header(**fields: str | int) -> GetLiteClientInfoRequestHeader:
    found = GetLiteClientInfoRequestHeader(parent_topic="sessions", group="agents", client_id="c1")
    vars(found).update(fields)
    return found


def test_client_has_its_light_queues(lab: BrokerLab) -> None:
    peer = lab.peer(lite_broker(lab).addr)
    subscribe(peer, "a", "b")
    found = asked(peer, RequestCode5.GET_LITE_CLIENT_INFO, header())
    assert sorted(found.pop("liteTopicSet")) == [queue_of("a"), queue_of("b")]
    assert found == {
        "parentTopic": "sessions",
        "group": "agents",
        "clientId": "c1",
        "liteTopicCount": 2,
        "lastAccessTime": -1,
        "lastConsumeTime": 0,
    }
    few = asked(peer, RequestCode5.GET_LITE_CLIENT_INFO, header(max_count=1))
    assert (few["liteTopicCount"], len(few["liteTopicSet"])) == (2, 1)


def test_unknown_client_has_none(lab: BrokerLab) -> None:
    peer = lab.peer(lite_broker(lab).addr)
    found = asked(peer, RequestCode5.GET_LITE_CLIENT_INFO, header(client_id="c9"))
    assert found["liteTopicCount"] == -1
    assert "liteTopicSet" not in found


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"parent_topic": "other"}, 29), ({"parent_topic": "nowhere"}, 17), ({"max_count": 0}, 1)],
)
def test_other_questions_are_refused(
    lab: BrokerLab, fields: dict[str, str | int], code: int
) -> None:
    broker = lite_broker(lab)
    make_parent(broker, "other")
    answer = lab.peer(broker.addr).ask(RequestCode5.GET_LITE_CLIENT_INFO, header(**fields))
    assert answer.code == code
