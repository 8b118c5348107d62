"""NOTIFY_CONSUMER_IDS_CHANGED at a client."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from fakemq.protocol.headers.client import NotifyConsumerIdsChangedRequestHeader
from tests.support.played_broker import CLIENT, GROUP, PlayedBroker
from tests.support.push_lab import PushLab
from tests.support.scripted_operation import A


def test_queues_are_divided_anew_at_once() -> None:
    broker = PlayedBroker(queues=2)
    lab = PushLab(broker).start()
    assert lab.owned("orders") == [broker.queue(0), broker.queue(1)]
    broker.members = [CLIENT, "10.0.0.9@1"]
    header = NotifyConsumerIdsChangedRequestHeader(consumer_group=GROUP)
    request = RemotingCommand(
        RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, ext_fields=header.encode(), flag=FLAG_ONEWAY
    )
    lab.carrier.push(A, request)
    assert lab.owned("orders") == [broker.queue(0)]
    assert lab.carrier.received == []
