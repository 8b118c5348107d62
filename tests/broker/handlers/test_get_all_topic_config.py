"""GET_ALL_TOPIC_CONFIG: every topic with its config, and the data version."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.topic import TopicConfigSerializeWrapper
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import BrokerLab


def test_all_topics_are_listed_with_their_version(lab: BrokerLab, broker: Broker) -> None:
    # Slaves ask at the VIP port.
    response = lab.peer(broker.vip_addr).ask(RequestCode.GET_ALL_TOPIC_CONFIG)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    wrapper = TopicConfigSerializeWrapper.decode(response.body)
    assert wrapper.topic_config_table == broker.topics.snapshot()
    assert wrapper.data_version == broker.topics.data_version
    assert response.body.startswith(b'{"dataVersion":{"counter":0,"timestamp":')
