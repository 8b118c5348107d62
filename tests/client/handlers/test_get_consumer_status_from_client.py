"""GET_CONSUMER_STATUS_FROM_CLIENT at a client."""

from __future__ import annotations

from fakemq.protocol.bodies.offset import GetConsumerStatusBody
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.client import GetConsumerStatusRequestHeader
from tests.support.played_broker import GROUP, PlayedBroker
from tests.support.push_lab import PushLab
from tests.support.scripted_operation import A


def ask(lab: PushLab, topic: str = "orders", group: str = GROUP) -> RemotingCommand:
    header = GetConsumerStatusRequestHeader(topic=topic, group=group)
    code = RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT
    lab.carrier.push(A, RemotingCommand(code, ext_fields=header.encode(), opaque=77))
    (received,) = lab.carrier.received
    assert (received.answer.opaque, received.answer.is_response) == (77, True)
    return received.answer


def test_offsets_of_the_topic_are_returned() -> None:
    lab = PushLab(PlayedBroker(queues=2)).start()
    lab.put(b"0", b"1")
    lab.put(b"0", queue_id=1)
    answer = ask(lab)
    assert answer.code == ResponseCode.SUCCESS
    assert GetConsumerStatusBody.decode(answer.body).message_queue_table == {
        lab.broker.queue(0): 2,
        lab.broker.queue(1): 1,
    }


def test_body_is_written_as_java_writes_it() -> None:
    lab = PushLab(PlayedBroker()).start()
    assert ask(lab).body == (
        b'{"consumerTable":{},"messageQueueTable":'
        b'{{"brokerName":"a","queueId":0,"topic":"orders"}:0}}'
    )


def test_group_without_a_consumer_has_no_offsets() -> None:
    lab = PushLab(PlayedBroker()).start()
    answer = ask(lab, group="others")
    assert answer.code == ResponseCode.SUCCESS
    assert GetConsumerStatusBody.decode(answer.body).message_queue_table == {}
