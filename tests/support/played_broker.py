"""One broker and its name server, played for consumers on a `ScriptedCarrier`."""

from __future__ import annotations

from collections.abc import Callable

from fakemq.client.instance import ClientInstance
from fakemq.client.operation import Call
from fakemq.client.options import ClientConfig
from fakemq.client.services import ClientServices
from fakemq.protocol import properties as names
from fakemq.protocol.bodies.heartbeat import GetConsumerListByGroupResponseBody, HeartbeatData
from fakemq.protocol.bodies.queue import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.offset import (
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from fakemq.protocol.headers.pull import PullMessageRequestHeader
from fakemq.protocol.headers.send import (
    ConsumerSendMsgBackRequestHeader,
    SendMessageRequestHeaderV2,
)
from fakemq.protocol.message import encode_record
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.sysflag import PullSysFlag
from tests.support.scripted_carrier import HELD, HeldCall, Outcome, ScriptedCarrier
from tests.support.scripted_operation import NAMESRV, A, answer, route

GROUP = "billing"
CLIENT = "10.0.0.1@7"


class PlayedBroker:
    """Broker ``a`` with its messages, offsets, members and locks; ``carrier`` reaches it.

    A function in ``answers``, by request code, is asked first; None lets the broker answer.
    """

    def __init__(self, *, queues: int = 1, topics: tuple[str, ...] = ("orders",)) -> None:
        self.topics = dict.fromkeys(topics, queues)
        self.messages: dict[MessageQueue, list[bytes]] = {}
        self.first: dict[MessageQueue, int] = {}
        self.offsets: dict[tuple[str, MessageQueue], int] = {}
        self.members = [CLIENT]
        self.locks: dict[MessageQueue, str] = {}
        self.sent_back: list[ConsumerSendMsgBackRequestHeader] = []
        self.sent: list[tuple[SendMessageRequestHeaderV2, bytes]] = []
        self.heartbeats: list[HeartbeatData] = []
        self.pulls: list[PullMessageRequestHeader] = []
        self.suggested_broker = 0
        self.answers: dict[int, Callable[[Call], Outcome | None]] = {}
        self.carrier = ScriptedCarrier(self._answer)
        self._handlers: dict[int, Callable[[Call], Outcome]] = {
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self._route,
            RequestCode.HEART_BEAT: self._heartbeat,
            RequestCode.GET_CONSUMER_LIST_BY_GROUP: self._member_ids,
            RequestCode.QUERY_CONSUMER_OFFSET: self._offset,
            RequestCode.UPDATE_CONSUMER_OFFSET: self._commit,
            RequestCode.GET_MAX_OFFSET: lambda call: answer(offset=self._end(_queue(call))),
            RequestCode.GET_MIN_OFFSET: lambda call: answer(offset=self.first.get(_queue(call), 0)),
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: lambda call: answer(offset=1),
            RequestCode.PULL_MESSAGE: self._pull,
            RequestCode.LOCK_BATCH_MQ: self._lock,
            RequestCode.UNLOCK_BATCH_MQ: self._unlock,
            RequestCode.CONSUMER_SEND_MSG_BACK: self._send_back,
            RequestCode.SEND_MESSAGE_V2: self._send,
        }

    def services(self, **options: object) -> ClientServices:
        """A client of this broker."""
        config = ClientConfig(seed=1, **{"client_id": CLIENT, **options})  # type: ignore[arg-type]
        instance = ClientInstance(NAMESRV, config, time=self.carrier.time, ip="10.0.0.1", pid=7)
        return ClientServices(instance, self.carrier)

    def queue(self, queue_id: int = 0, topic: str = "orders") -> MessageQueue:
        return MessageQueue(topic=topic, broker_name="a", queue_id=queue_id)

    def put(
        self,
        body: bytes,
        *,
        queue_id: int = 0,
        topic: str = "orders",
        tags: str = "",
        reconsume_times: int = 0,
        sys_flag: int = 0,
        **properties: str,
    ) -> int:
        """Store a message and wake the pulls that are held; return its offset."""
        queue = self.queue(queue_id, topic)
        self.topics.setdefault(topic, queue_id + 1)
        offset = self._end(queue)
        fields = {**({names.TAGS: tags} if tags else {}), **properties}
        record = encode_record(
            topic,
            body,
            encode_properties_as_java(fields),
            queue_id=queue_id,
            born_host=("10.0.0.1", 1),
            store_host=("10.0.0.2", 10911),
            queue_offset=offset,
            physical_offset=1_000 * offset,
            reconsume_times=reconsume_times,
            sys_flag=sys_flag,
        )
        self.messages.setdefault(queue, []).append(record)
        for held in list(self.carrier.held):
            if held.call.command.code == RequestCode.PULL_MESSAGE and _queue(held.call) == queue:
                self._answer_held(held)
        return offset

    def _answer_held(self, held: HeldCall) -> None:
        self.carrier.held.remove(held)
        outcome = self._pull(held.call)
        assert not isinstance(outcome, str)
        held.answer(outcome)

    def committed(self, queue_id: int = 0, topic: str = "orders", group: str = GROUP) -> int | None:
        """Return the group's offset; None if it has none."""
        return self.offsets.get((group, self.queue(queue_id, topic)))

    # -- answers --------------------------------------------------------------

    def _answer(self, call: Call) -> Outcome:
        asked = self.answers.get(call.command.code)
        outcome = None if asked is None else asked(call)
        if outcome is not None:
            return outcome
        handler = self._handlers.get(call.command.code)
        return answer() if handler is None else handler(call)

    def _route(self, call: Call) -> Outcome:
        queues = self.topics.get(call.command.ext_fields["topic"])
        if queues is None:
            return answer(ResponseCode.TOPIC_NOT_EXIST)
        return answer(body=route("a", queues=queues))

    def _heartbeat(self, call: Call) -> Outcome:
        assert call.addr == A
        self.heartbeats.append(HeartbeatData.decode(call.command.body))
        for one in self.heartbeats[-1].consumer_data_set:
            self.topics.setdefault(f"%RETRY%{one.group_name}", 1)  # as a broker creates it
        return answer()

    def _member_ids(self, call: Call) -> Outcome:
        return answer(body=GetConsumerListByGroupResponseBody(consumer_id_list=list(self.members)))

    def _offset(self, call: Call) -> Outcome:
        header = QueryConsumerOffsetRequestHeader.decode(call.command.ext_fields)
        offset = self.offsets.get((header.consumer_group, _queue(call)))
        if offset is None and self.first.get(_queue(call), 0) == 0:
            offset = 0  # as a broker answers while message 0 is still stored
        return answer(ResponseCode.QUERY_NOT_FOUND) if offset is None else answer(offset=offset)

    def _commit(self, call: Call) -> Outcome:
        header = UpdateConsumerOffsetRequestHeader.decode(call.command.ext_fields)
        self.offsets[header.consumer_group, _queue(call)] = header.commit_offset
        return answer()

    def _pull(self, call: Call) -> Outcome:
        header = PullMessageRequestHeader.decode(call.command.ext_fields)
        self.pulls.append(header)
        queue = _queue(call)
        if header.sys_flag & PullSysFlag.COMMIT_OFFSET:
            self.offsets[header.consumer_group, queue] = header.commit_offset
        first, end, at = self.first.get(queue, 0), self._end(queue), header.queue_offset
        if at < first or at > end:
            moved = first if at < first else end
            return self._pulled(ResponseCode.PULL_OFFSET_MOVED, moved, queue)
        if at == end:
            self.carrier.call_later(
                header.suspend_timeout_millis, lambda: self._expire(call), kind="pull_hold"
            )
            return HELD
        records = self.messages[queue][at - first : at - first + header.max_msg_nums]
        return self._pulled(0, at + len(records), queue, b"".join(records))

    def _expire(self, call: Call) -> None:
        """Answer a pull that was held for as long as it allows."""
        for held in list(self.carrier.held):
            if held.call is call:
                self.carrier.held.remove(held)
                offset = int(call.command.ext_fields["queueOffset"])
                held.answer(self._pulled(ResponseCode.PULL_NOT_FOUND, offset, _queue(call)))

    def _pulled(
        self, code: int, next_offset: int, queue: MessageQueue, body: bytes = b""
    ) -> RemotingCommand:
        return answer(
            code,
            body=body,
            suggestWhichBrokerId=self.suggested_broker,
            nextBeginOffset=next_offset,
            minOffset=self.first.get(queue, 0),
            maxOffset=self._end(queue),
        )

    def _lock(self, call: Call) -> Outcome:
        body = LockBatchRequestBody.decode(call.command.body)
        owner = body.client_id or ""
        had = [one for one in body.mq_set if self.locks.setdefault(one, owner) == owner]
        return answer(body=LockBatchResponseBody(lock_ok_mq_set=had))

    def _unlock(self, call: Call) -> Outcome:
        body = UnlockBatchRequestBody.decode(call.command.body)
        for one in body.mq_set:
            if self.locks.get(one) == body.client_id:
                del self.locks[one]
        return answer()

    def _send_back(self, call: Call) -> Outcome:
        header = ConsumerSendMsgBackRequestHeader.decode(call.command.ext_fields)
        self.sent_back.append(header)
        return answer()

    def _send(self, call: Call) -> Outcome:
        header = SendMessageRequestHeaderV2.decode(call.command.ext_fields)
        self.sent.append((header, call.command.body))
        return answer(msgId="0A", queueId=header.queue_id, queueOffset=0)

    def _end(self, queue: MessageQueue) -> int:
        return self.first.get(queue, 0) + len(self.messages.get(queue, ()))


def _queue(call: Call) -> MessageQueue:
    fields = call.command.ext_fields
    return MessageQueue(topic=fields["topic"], broker_name="a", queue_id=int(fields["queueId"]))
