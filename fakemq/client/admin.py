"""Requests of admin tools and applications to brokers: offsets, topics, groups, single messages."""

from __future__ import annotations

from collections.abc import Callable

from fakemq.client.arguments import require_fit_body
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.instance import ClientInstance
from fakemq.client.messages import viewed_messages
from fakemq.client.operation import Operation, Reading
from fakemq.client.routes import MASTER_ID, masters
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.route import BrokerData
from fakemq.protocol.bodies.stats import ConsumeStats, TopicOffset, TopicStatsTable
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.headers.group import GetConsumeStatsRequestHeader
from fakemq.protocol.headers.offset import (
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
)
from fakemq.protocol.headers.query import (
    UNIQUE_MSG_QUERY_FLAG,
    QueryMessageRequestHeader,
    ViewMessageRequestHeader,
)
from fakemq.protocol.headers.rpc import RpcRequestHeader
from fakemq.protocol.headers.topic import GetTopicStatsInfoRequestHeader
from fakemq.protocol.hosts import format_host
from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.limits import ANSWER_JSON
from fakemq.protocol.message import MessageExt
from fakemq.protocol.message_id import decode_offset_id
from fakemq.protocol.message_types import MESSAGE_TYPE
from fakemq.protocol.properties import KEY_SEPARATOR
from fakemq.protocol.sysflag import PermName


class Admin:
    """Reads and changes a cluster; belongs to no group.

    Source: client/impl/MQAdminImpl.java (4.9.7)
    """

    def __init__(self, instance: ClientInstance) -> None:
        self._instance = instance

    # -- offsets of queues --------------------------------------------------------------------

    def max_offset(self, queue: MessageQueue) -> Operation[int]:
        """Return the offset that the queue's next message will get."""
        code = RequestCode.GET_MAX_OFFSET
        response, reading = yield from self._ask(queue, code, GetMaxOffsetRequestHeader)
        with reading:
            return GetMaxOffsetResponseHeader.decode(response.ext_fields).offset

    def min_offset(self, queue: MessageQueue) -> Operation[int]:
        """Return the first offset that is still stored."""
        code = RequestCode.GET_MIN_OFFSET
        response, reading = yield from self._ask(queue, code, GetMinOffsetRequestHeader)
        with reading:
            return GetMinOffsetResponseHeader.decode(response.ext_fields).offset

    def search_offset(self, queue: MessageQueue, timestamp_ms: int) -> Operation[int]:
        """Return the offset of the first message stored at or after a broker's time."""
        code = RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
        response, reading = yield from self._ask(
            queue, code, SearchOffsetRequestHeader, timestamp=timestamp_ms
        )
        with reading:
            return SearchOffsetResponseHeader.decode(response.ext_fields).offset

    def topic_offsets(self, topic: str, addr: str) -> Operation[dict[MessageQueue, TopicOffset]]:
        """Return the first and next offset of each writable queue of the topic at one broker."""
        header = GetTopicStatsInfoRequestHeader(topic=topic)
        command = self._instance.command(RequestCode.GET_TOPIC_STATS_INFO, header)
        response = yield from self._instance.invoke_ok(addr, command)
        with Reading(addr):
            return TopicStatsTable.decode(response.body, limits=ANSWER_JSON).offset_table

    def earliest_store_time_ms(self, queue: MessageQueue) -> Operation[int]:
        """Return when the queue's first message was stored; -1 if it has none."""
        code = RequestCode.GET_EARLIEST_MSG_STORETIME
        response, reading = yield from self._ask(queue, code, GetEarliestMsgStoretimeRequestHeader)
        with reading:
            return GetEarliestMsgStoretimeResponseHeader.decode(response.ext_fields).timestamp

    def _ask(
        self,
        queue: MessageQueue,
        code: RequestCode,
        header_of: Callable[..., RpcRequestHeader],
        **more: int,
    ) -> Operation[tuple[RemotingCommand, Reading]]:
        """Return the answer of the queue's master, and the block in which to read it.

        The request's header has the queue, and ``more`` fields.
        """
        addr = yield from self._instance.master_addr(queue)
        header = header_of(
            topic=queue.topic or "", queue_id=queue.queue_id, bname=queue.broker_name, **more
        )
        response = yield from self._instance.invoke_ok(addr, self._instance.command(code, header))
        return response, Reading(addr)

    # -- messages -----------------------------------------------------------------------------

    def view_message(self, offset_msg_id: str) -> Operation[MessageExt]:
        """Return the message with an offset id. Raise MQClientError, MQBrokerError."""
        try:
            host, offset = decode_offset_id(offset_msg_id)
        except RemoteProtocolError as error:
            raise MQClientError(
                f"query message by id finished, but no message: {error}", ResponseCode.NO_MESSAGE
            ) from error
        header = ViewMessageRequestHeader(offset=offset)
        command = self._instance.command(RequestCode.VIEW_MESSAGE_BY_ID, header)
        addr = format_host(host)
        response = yield from self._instance.invoke_ok(addr, command)
        with Reading(addr):
            for message in viewed_messages(response.body):
                return message
        raise MQClientError(f"an answer without a message for {offset_msg_id}")

    def query_messages(
        self,
        topic: str,
        key: str,
        *,
        max_num: int = 64,
        begin_ms: int = 0,
        end_ms: int = LONG_MAX,
    ) -> Operation[list[MessageExt]]:
        """Return the topic's newest messages with a key, stored between two times; oldest first.

        Every broker returns at most ``max_num``. Differs: an empty result is no error.

        Source: client/impl/MQAdminImpl.java#queryMessage (4.9.7)
        """
        header = QueryMessageRequestHeader(
            topic=topic, key=key, max_num=max_num, begin_timestamp=begin_ms, end_timestamp=end_ms
        )
        found = yield from self._query(header)
        return sorted(found, key=lambda one: one.store_timestamp_ms)

    def query_message_by_unique_key(
        self, topic: str, unique_key: str
    ) -> Operation[MessageExt | None]:
        """Return the message with this unique id, or None; of several the first stored one.

        Source: client/impl/MQAdminImpl.java#queryMessageByUniqKey (4.9.7)
        """
        found = yield from self._query(key_query(topic, unique_key, 32), unique=True)
        return min(found, key=lambda one: one.store_timestamp_ms, default=None)

    def _query(
        self, header: QueryMessageRequestHeader, *, unique: bool = False
    ) -> Operation[list[MessageExt]]:
        """Return the results of all brokers of the topic; ignore failures if any broker answers."""
        route = yield from self._instance.known_route(header.topic)
        if route is None:
            raise MQClientError(
                f"The topic[{header.topic}] not matched route info", ResponseCode.TOPIC_NOT_EXIST
            )
        found: list[MessageExt] = []
        failures: list[MQBrokerError | RemotingError] = []
        addrs = [addr for one in route.data.broker_datas if (addr := any_addr(one)) is not None]
        for addr in addrs:
            try:
                found += yield from messages_at(self._instance, addr, header, unique=unique)
            except (MQBrokerError, RemotingError) as error:
                failures.append(error)
        if failures and len(failures) == len(addrs):
            raise failures[-1]
        return found

    # -- topics and groups --------------------------------------------------------------------

    def consume_stats(self, group: str, topic: str | None = None) -> Operation[ConsumeStats]:
        """Return how far a group has consumed one topic, or all of its topics, at every master.

        Source: tools/admin/DefaultMQAdminExtImpl.java#examineConsumeStats (4.9.7)
        """
        addrs = yield from self._masters_of(None)
        result = ConsumeStats()
        for addr in addrs:
            add_stats(result, (yield from consume_stats_at(self._instance, addr, group, topic)))
        return result

    def create_topic(
        self,
        topic: str,
        queues: int = 8,
        *,
        cluster: str | None = None,
        perm: int = PermName.READ | PermName.WRITE,
        message_type: str | None = None,
    ) -> Operation[list[str]]:
        """Create or change a topic; return the addresses of the masters that succeeded.

        These are the masters of ``cluster``, or all masters that have the create-topic key.
        ``message_type``, such as ``FIFO``, is for brokers of 5.5.0; those of 4.9.7 ignore it. Raise
        MQClientError if there are no masters; raise the last error if every master failed.
        """
        from fakemq.protocol.v5.headers.topic import CreateTopicRequestHeader5

        key = self._instance.config.create_topic_key
        if cluster is None:
            route = yield from self._instance.fetch_route(key)
            addrs = masters(route.broker_datas) if route else []
        else:
            addrs = yield from self._masters_of(cluster)
        if not addrs:
            raise MQClientError(f"Not found broker, maybe key is wrong: {cluster or key}")
        header = CreateTopicRequestHeader5(
            topic=topic,
            default_topic=key,
            read_queue_nums=queues,
            write_queue_nums=queues,
            perm=perm,
            topic_filter_type="SINGLE_TAG",
            topic_sys_flag=0,
            order=False,
            attributes=None if message_type is None else f"+{MESSAGE_TYPE}={message_type}",
        )
        done: list[str] = []
        failure: MQBrokerError | RemotingError | None = None
        for addr in addrs:
            command = self._instance.command(RequestCode.UPDATE_AND_CREATE_TOPIC, header)
            try:
                yield from self._instance.invoke_ok(addr, command)
            except (MQBrokerError, RemotingError) as error:
                failure = error
            else:
                done.append(addr)
        if failure is not None and not done:
            raise failure
        return done

    def create_group(
        self, group: SubscriptionGroupConfig, *, cluster: str | None = None
    ) -> Operation[list[str]]:
        """Create or change a group at all masters, or a cluster's; return their addresses.

        Raise ConfigError for a number that does not fit its field.
        """
        require_fit_body(group)
        addrs = yield from self._masters_of(cluster)
        if not addrs:
            raise MQClientError(f"no master in cluster {cluster or 'of any name'}")
        for addr in addrs:
            command = self._instance.command(
                RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=group.encode()
            )
            yield from self._instance.invoke_ok(addr, command)
        return addrs

    def _masters_of(self, cluster: str | None) -> Operation[list[str]]:
        info = yield from self._instance.cluster_info()
        if cluster is None:
            brokers = info.broker_addr_table
        else:
            names = info.cluster_addr_table.get(cluster, [])
            table = info.broker_addr_table
            brokers = {name: table[name] for name in names if name in table}
        return masters(list(brokers.values()))


def any_addr(broker: BrokerData) -> str | None:
    """Return the master's address, or that of any slave."""
    addrs = broker.broker_addrs
    return addrs.get(MASTER_ID, next(iter(addrs.values()), None))


def key_query(topic: str, key: str, max_num: int = 64) -> QueryMessageRequestHeader:
    """Return the query for messages with a key, or with a unique id, of all times."""
    return QueryMessageRequestHeader(
        topic=topic, key=key, max_num=max_num, begin_timestamp=0, end_timestamp=LONG_MAX
    )


def messages_at(
    instance: ClientInstance, addr: str, header: QueryMessageRequestHeader, *, unique: bool
) -> Operation[list[MessageExt]]:
    """Return the messages that one broker finds; ``unique``: by unique id, not by key.

    Raise MQBrokerError, RemotingError; an empty result is no error.
    """
    command = instance.command(RequestCode.QUERY_MESSAGE, header)
    if unique:
        command.ext_fields[UNIQUE_MSG_QUERY_FLAG] = "true"
    try:
        response = yield from instance.invoke_ok(addr, command)
    except MQBrokerError as error:
        if error.code == ResponseCode.QUERY_NOT_FOUND:
            return []
        raise
    with Reading(addr):
        found = list(viewed_messages(response.body))
    if unique:
        return [one for one in found if one.msg_id == header.key]
    # Brokers find by hash, and so other keys as well.
    return [
        one
        for one in found
        if one.topic == header.topic and header.key in (one.keys or "").split(KEY_SEPARATOR)
    ]


def consume_stats_at(
    instance: ClientInstance, addr: str, group: str, topic: str | None
) -> Operation[ConsumeStats]:
    """Return how far a group has consumed one topic, or all of its topics, at one broker.

    Raise MQBrokerError, RemotingError.
    """
    header = GetConsumeStatsRequestHeader(consumer_group=group, topic=topic)
    command = instance.command(RequestCode.GET_CONSUME_STATS, header)
    response = yield from instance.invoke_ok(addr, command)
    with Reading(addr):
        return ConsumeStats.decode(response.body, limits=ANSWER_JSON)


def add_stats(whole: ConsumeStats, part: ConsumeStats) -> None:
    """Add the queues and the rate of one broker to those of others."""
    whole.offset_table |= part.offset_table
    whole.consume_tps += part.consume_tps
