"""What tools ask the brokers of a cluster: their groups, their clients and their figures."""

from __future__ import annotations

from fakemq.client.admin import consume_stats_at, key_query, messages_at
from fakemq.client.errors import MQBrokerError
from fakemq.client.instance import ClientInstance
from fakemq.client.operation import Operation, Reading
from fakemq.protocol.bodies.connection import ConsumerConnection, ProducerTableInfo
from fakemq.protocol.bodies.group import (
    GroupList,
    SubscriptionGroupConfig,
    SubscriptionGroupWrapper,
)
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.bodies.route import TopicList
from fakemq.protocol.bodies.stats import ConsumeStats
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.client import (
    GetAllProducerInfoRequestHeader,
    GetConsumerConnectionListRequestHeader,
)
from fakemq.protocol.headers.topic import QueryTopicConsumeByWhoRequestHeader
from fakemq.protocol.message import MessageExt


class ClusterAdmin:
    """Asks one broker at a time; the caller chooses the brokers.

    Source: client/impl/MQClientAPIImpl.java, tools/admin/DefaultMQAdminExtImpl.java (4.9.7)
    """

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance

    def groups(self, addr: str) -> Operation[dict[str, SubscriptionGroupConfig]]:
        """Return a broker's subscription groups by name."""
        command = self._instance.command(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
        response = yield from self._instance.invoke_ok(addr, command)
        with Reading(addr):
            return SubscriptionGroupWrapper.decode(response.body).subscription_group_table

    def members(self, group: str, addr: str) -> Operation[ConsumerConnection | None]:
        """Return a group's members at one broker; None if there are none."""
        header = GetConsumerConnectionListRequestHeader(consumer_group=group)
        command = self._instance.command(RequestCode.GET_CONSUMER_CONNECTION_LIST, header)
        try:
            response = yield from self._instance.invoke_ok(addr, command)
        except MQBrokerError as error:
            if error.code == ResponseCode.CONSUMER_NOT_ONLINE:
                return None
            raise
        with Reading(addr):
            return ConsumerConnection.decode(response.body)

    def consume_stats(
        self, group: str, addr: str, topic: str | None = None
    ) -> Operation[ConsumeStats]:
        """Return how far a group has consumed one topic, or all of its topics, at one broker."""
        return consume_stats_at(self._instance, addr, group, topic)

    def messages(
        self, topic: str, key: str, addr: str, *, unique: bool
    ) -> Operation[list[MessageExt]]:
        """Return a topic's messages with a key, or with a unique id, at one broker."""
        return messages_at(self._instance, addr, key_query(topic, key), unique=unique)

    def producers(self, addr: str) -> Operation[ProducerTableInfo]:
        """Return a broker's producers by group; none if its release cannot list them."""
        header = GetAllProducerInfoRequestHeader()
        command = self._instance.command(RequestCode.GET_ALL_PRODUCER_INFO, header)
        try:
            response = yield from self._instance.invoke_ok(addr, command)
        except MQBrokerError as error:
            if error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                return ProducerTableInfo()
            raise
        with Reading(addr):
            return ProducerTableInfo.decode(response.body)

    def runtime_info(self, addr: str) -> Operation[dict[str, str]]:
        """Return a broker's figures by name."""
        command = self._instance.command(RequestCode.GET_BROKER_RUNTIME_INFO)
        response = yield from self._instance.invoke_ok(addr, command)
        with Reading(addr):
            return KVTable.decode(response.body).table

    def groups_of_topic(self, topic: str, addr: str) -> Operation[list[str]]:
        """Return the groups that have members for a topic, or offsets of it, at one broker."""
        header = QueryTopicConsumeByWhoRequestHeader(topic=topic)
        command = self._instance.command(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
        response = yield from self._instance.invoke_ok(addr, command)
        with Reading(addr):
            return GroupList.decode(response.body).group_list

    def system_topics(self, addr: str) -> Operation[list[str]]:
        """Return the topics that a broker itself uses."""
        command = self._instance.command(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
        response = yield from self._instance.invoke_ok(addr, command)
        with Reading(addr):
            return TopicList.decode(response.body).topic_list
