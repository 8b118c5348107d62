"""The event that a broker stores when a pull asks for an offset that its queue does not have."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.events import PullMoved
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.sysflag import PullSysFlag
from tests.support.clients import GROUP, TOPIC, pull, pull_header, send
from tests.support.peer import Peer


def test_moved_offset_is_reported_in_a_message(peer: Peer) -> None:
    send(peer)
    pull(peer, 5)
    event = pull(peer, topic="OFFSET_MOVED_EVENT", subscription=GROUP)
    assert event.remark == "FOUND"
    body = {
        "consumerGroup": GROUP,
        "messageQueue": {"brokerName": "broker-a", "queueId": 0, "topic": TOPIC},
        "offsetNew": 1,
        "offsetRequest": 5,
    }
    assert json.dumps(body, separators=(",", ":")).encode() in event.body
    assert f"KEYS\x01{GROUP}".encode() in event.body
    assert f"TAGS\x01{GROUP}".encode() in event.body
    assert b"DELAY\x010" in event.body


def test_moved_offset_is_in_the_journal(peer: Peer, broker: Broker) -> None:
    send(peer)
    pull(peer, 5)
    (moved,) = broker.journal.find(PullMoved)
    assert (moved.group, moved.topic, moved.queue_id) == (GROUP, TOPIC, 0)
    assert (moved.offset, moved.next_offset) == (5, 1)


def test_pull_without_the_offset_to_commit_fails_when_its_event_is_stored(peer: Peer) -> None:
    send(peer)
    header = pull_header(
        queue_offset=9, sys_flag=PullSysFlag.COMMIT_OFFSET | PullSysFlag.SUBSCRIPTION
    )
    del vars(header)["commit_offset"]
    response = peer.ask(RequestCode.PULL_MESSAGE, header)
    assert (response.remark or "").startswith("java.lang.NullPointerException")
    assert pull(peer, topic="OFFSET_MOVED_EVENT", subscription=GROUP).remark == "FOUND"
