"""What an operator asks of brokers about groups and their clients; no part of what is judged."""

from __future__ import annotations

from collections.abc import Collection

from conformance.python.spelling import spelled
from fakemq.client import Client, MQBrokerError, MQClientError, SendResult
from fakemq.client.pull_operations import PullOperations
from fakemq.protocol.bodies.connection import ConsumerConnection, ProducerConnection
from fakemq.protocol.bodies.consumer import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from fakemq.protocol.bodies.group import GroupList
from fakemq.protocol.bodies.offset import ResetOffsetBody
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.header import Header
from fakemq.protocol.headers.client import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetProducerConnectionListRequestHeader,
)
from fakemq.protocol.headers.offset import ResetOffsetRequestHeader
from fakemq.protocol.headers.topic import (
    DeleteTopicRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)

RELAYED_TIMEOUT_MS = 20_000


def summary(running: ConsumerRunningInfo, topic: str) -> str:
    """Return what the Java program says of a consumer's account of itself."""
    queues = sum(queue.topic == topic for queue in running.mq_table)
    return (
        f"{running.properties.get('PROP_CONSUME_TYPE')}"
        f" orderly={running.properties.get('PROP_CONSUMEORDERLY')}"
        f" subscriptions={len(running.subscription_set)} queues={queues}"
        f" stack={spelled(bool(running.jstack))}"
    )


class Operator:
    """Asks every master; groups are whole names."""

    def __init__(self, client: Client, masters: Collection[str]) -> None:
        self._client = client
        self._masters = masters

    def _ask(self, addr: str, code: RequestCode, header: Header) -> RemotingCommand:
        """Return a master's answer. Raise MQBrokerError unless it is a success."""
        command = self._client.instance.command(code, header)
        answer = self._client.invoke(addr, command, RELAYED_TIMEOUT_MS)
        if answer.code != ResponseCode.SUCCESS:
            raise MQBrokerError(answer.code, answer.remark, addr)
        return answer

    def _ask_any(self, code: RequestCode, header: Header) -> RemotingCommand:
        """Return the answer of the first master that succeeds, or raise the last error."""
        failure: MQBrokerError | None = None
        for addr in self._masters:
            try:
                return self._ask(addr, code, header)
            except MQBrokerError as error:
                failure = error
        assert failure is not None
        raise failure

    def consumers(self, group: str) -> ConsumerConnection:
        """Return the members of a group."""
        header = GetConsumerConnectionListRequestHeader(consumer_group=group)
        answer = self._ask_any(RequestCode.GET_CONSUMER_CONNECTION_LIST, header)
        return ConsumerConnection.decode(answer.body)

    def subscriptions(self, group: str) -> str:
        """Return a group's subscriptions as the Java program says them; "" without members."""
        try:
            table = self.consumers(group).subscription_table
        except MQBrokerError:
            return ""
        texts = {}
        for topic in sorted(table):
            one = table[topic]
            tags, codes = sorted(one.tags_set), sorted(one.code_set)
            texts[topic] = (
                f"{one.expression_type} {one.sub_string} {spelled(tags)} {spelled(codes)}"
            )
        return spelled(texts)

    def producers(self, group: str) -> int:
        """Return how many producers of a group a broker knows."""
        header = GetProducerConnectionListRequestHeader(producer_group=group)
        answer = self._ask_any(RequestCode.GET_PRODUCER_CONNECTION_LIST, header)
        return len(ProducerConnection.decode(answer.body).connection_set)

    def running_info(
        self, group: str, client_id: str, *, stack: bool = False
    ) -> ConsumerRunningInfo:
        """Return what a consumer reports of itself."""
        return ConsumerRunningInfo.decode(self.running_info_body(group, client_id, stack=stack))

    def running_info_body(self, group: str, client_id: str, *, stack: bool = False) -> bytes:
        """Return the answer's body as the client wrote it."""
        header = GetConsumerRunningInfoRequestHeader(
            consumer_group=group, client_id=client_id, jstack_enable=stack
        )
        return self._ask_any(RequestCode.GET_CONSUMER_RUNNING_INFO, header).body

    def consume_directly(
        self, group: str, client_id: str, sent: SendResult
    ) -> ConsumeMessageDirectlyResult:
        """Have a consumer consume a message now, whatever its offsets."""
        header = ConsumeMessageDirectlyResultRequestHeader(
            consumer_group=group,
            client_id=client_id,
            msg_id=sent.offset_msg_id,
            broker_name=sent.broker_name,
        )
        answer = self._ask_any(RequestCode.CONSUME_MESSAGE_DIRECTLY, header)
        return ConsumeMessageDirectlyResult.decode(answer.body)

    def groups_of(self, topic: str) -> list[str]:
        """Return the groups that consume a topic."""
        header = QueryTopicConsumeByWhoRequestHeader(topic=topic)
        answer = self._ask_any(RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
        return GroupList.decode(answer.body).group_list

    def delete_topic(self, topic: str) -> None:
        """Delete a topic at every master and name server."""
        header = DeleteTopicRequestHeader(topic=topic)
        for addr in self._masters:
            self._ask(addr, RequestCode.DELETE_TOPIC_IN_BROKER, header)
        for addr in self._client.instance.name_servers.addrs:
            self._ask(addr, RequestCode.DELETE_TOPIC_IN_NAMESRV, header)

    def reset_offsets(
        self, addr: str, topic: str, group: str, timestamp_ms: int, *, force: bool
    ) -> dict[MessageQueue, int]:
        """Have a master reset the offsets of a group's members; return the new ones."""
        header = ResetOffsetRequestHeader(
            topic=topic, group=group, timestamp=timestamp_ms, is_force=force
        )
        try:
            answer = self._ask(addr, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
        except MQBrokerError as error:  # as Java's tool calls it
            raise MQClientError(error.remark or "", error.code) from None
        return dict(ResetOffsetBody.decode(answer.body).offset_table)

    def set_offsets(self, group: str, queues: Collection[MessageQueue], timestamp_ms: int) -> None:
        """Commit a time's offsets for a group without members."""
        operations = PullOperations(self._client.instance, group)
        for queue in queues:
            offset = self._client.search_offset(queue, timestamp_ms)
            self._client.run(operations.update_offset(queue, offset, oneway=False))
