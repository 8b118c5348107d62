"""What clients do at one broker before its metrics are read: the same requests at any broker.

Some counters say how much came in and went out, so all texts have fixed sizes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from conformance.wire.pops import Handle, handles, pop_fields
from conformance.wire.raw import RawConnection, frame, json_header, split
from conformance.wire.releases import RELEASES
from conformance.wire.requests import (
    COMMIT,
    HELD,
    PREPARED,
    ROLLBACK,
    UNIQUE_ID,
    batch,
    end_fields,
    group_config,
    heartbeat,
    properties,
    pull_fields,
    send_back_fields,
    send_v2_fields,
    texts,
    topic_fields,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5

CONFIG = {"timerWheelEnable": "true", "messageDelayLevel": "1s 2s 1s 2s 1s"}
ORDERS, POPPED = "orders", "popped"
PULLERS, POPPERS, PRODUCERS = "GPullers", "GPoppers", "PMetrics"
VERSION = RELEASES["5.5.0"].version
_INVISIBLE_MS = 1_000


class _Answer(NamedTuple):
    code: int
    fields: Mapping[str, str]
    body: bytes


class Traffic:
    """Two clients of a broker; `run` plays everything, and their connections stay open.

    ``wait`` lets a number of seconds pass at the broker; ``now_ms`` is the time of producers. What
    `run` leaves behind needs some seconds more: a delayed message, a timer, a message that becomes
    visible again, and a held pull.
    """

    def __init__(
        self, broker_addr: str, wait: Callable[[float], None], now_ms: Callable[[], int]
    ) -> None:
        self._connection = RawConnection(broker_addr, timeout=30)
        self._holding = RawConnection(broker_addr, timeout=30)
        self._wait = wait
        self._now_ms = now_ms
        self._opaque = 0

    def __enter__(self) -> Traffic:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._holding.close()

    def _frame(self, code: int, fields: Mapping[str, object], body: object, flag: int = 0) -> bytes:
        self._opaque += 1
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = texts(fields)
        return frame(code, named, content, opaque=self._opaque, flag=flag, version=VERSION)

    def _ask(self, code: int, fields: Mapping[str, object], body: object = b"") -> _Answer:
        self._connection.send(self._frame(code, fields, body))
        while True:
            whole = self._connection.receive()
            header = json_header(whole)
            if header["opaque"] == self._opaque and header["flag"] == 1:
                break
        found = header.get("extFields") or {}
        assert isinstance(found, dict)
        assert isinstance(header["code"], int)
        return _Answer(header["code"], found, split(whole)[2])

    def _send(self, topic: str, number: int, queue_id: int = 0, **pairs: str) -> _Answer:
        text = properties(UNIQ_KEY=UNIQUE_ID.format(number), WAIT="true", **pairs)
        flag = PREPARED if "TRAN_MSG" in pairs else 0
        fields = send_v2_fields(topic, queue_id, a=PRODUCERS, i=text, f=flag, g=self._now_ms())
        answer = self._ask(RequestCode.SEND_MESSAGE_V2, fields, b"x" * 100)
        assert answer.code == 0, answer
        return answer

    def _half(self, number: int) -> _Answer:
        return self._send(ORDERS, number, TRAN_MSG="true", PGROUP=PRODUCERS)

    def _end(self, half: _Answer, number: int, how: int) -> None:
        fields = end_fields(PRODUCERS, half.fields, number, how)
        answer = self._ask(RequestCode.END_TRANSACTION, fields)
        assert answer.code == 0, answer

    def run(self) -> None:
        """Create, send, pull and pop."""
        self._create()
        self._beat()
        self._produce()
        self._pull()
        self._pop()

    def _create(self) -> None:
        for topic in (ORDERS, POPPED):
            fields = topic_fields(topic, readQueueNums=2, writeQueueNums=2, order=False)
            assert self._ask(RequestCode.UPDATE_AND_CREATE_TOPIC, fields).code == 0
        refused = self._ask(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields("no topic"))
        assert refused.code != 0
        for group in (PULLERS, POPPERS):
            code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
            assert self._ask(code, {}, group_config(group)).code == 0

    def _beat(self) -> None:
        pullers = heartbeat("pulling@1", PULLERS, ORDERS, producers=[PRODUCERS])
        poppers = heartbeat("popping@1", POPPERS, POPPED)
        popping = json.dumps(poppers).replace("CONSUME_PASSIVELY", "CONSUME_POP").encode()
        for beat in (pullers, popping):
            assert self._ask(RequestCode.HEART_BEAT, {}, beat).code == 0

    def _produce(self) -> None:
        for number in range(3):
            self._send(ORDERS, number)
        self._send(ORDERS, 3, 1, __SHARDINGKEY="k")
        self._send(ORDERS, 4, DELAY="1")
        self._send(ORDERS, 5, TIMER_DELAY_SEC="2")
        self._send(ORDERS, 6, TIMER_DELAY_SEC="3600")
        for number in range(7, 11):
            self._send(POPPED, number)
        fields = send_v2_fields(ORDERS, 1, a=PRODUCERS, m=True, g=self._now_ms())
        text = properties(WAIT="true")
        body = batch(b"y" * 50, b"y" * 50, text=text)
        assert self._ask(RequestCode.SEND_BATCH_MESSAGE, fields, body).code == 0
        self._end(self._half(20), 20, COMMIT)
        self._end(self._half(21), 21, ROLLBACK)
        self._half(22)
        lost = self._ask(RequestCode.SEND_MESSAGE_V2, send_v2_fields("no topic"), b"x")
        assert lost.code != 0
        self._wait(0.5)

    def _pull(self) -> None:
        fields = pull_fields(ORDERS, consumerGroup=PULLERS, maxMsgNums=2)
        first = self._ask(RequestCode.PULL_MESSAGE, fields)
        assert first.code == 0
        nothing = self._ask(RequestCode.PULL_MESSAGE, fields | {"queueOffset": 100})
        assert nothing.code != 0
        held = fields | {"queueId": 1, "queueOffset": 3, "sysFlag": HELD}
        held["suspendTimeoutMillis"] = 1_000
        self._holding.send(self._frame(RequestCode.PULL_MESSAGE, held, b""))
        commit = {"consumerGroup": PULLERS, "topic": ORDERS, "queueId": 0, "commitOffset": 1}
        assert self._ask(RequestCode.UPDATE_CONSUMER_OFFSET, commit).code == 0
        self._connection.send(self._frame(RequestCode.UPDATE_CONSUMER_OFFSET, commit, b"", flag=2))
        back = send_back_fields(PULLERS, 0, -1, originMsgId="", originTopic=ORDERS)
        assert self._ask(RequestCode.CONSUMER_SEND_MSG_BACK, back).code == 0
        later = send_back_fields(PULLERS, 0, 1, originMsgId="", originTopic=ORDERS)
        assert self._ask(RequestCode.CONSUMER_SEND_MSG_BACK, later).code == 0
        assert self._ask(9_999, {}).code != 0

    def _pop(self) -> None:
        popped = self._pop_some(2, _INVISIBLE_MS)
        fields = popped[0].fields(POPPED, consumerGroup=POPPERS)
        assert self._ask(RequestCode5.ACK_MESSAGE, fields).code == 0
        [longer] = self._pop_some(1, 60_000)
        changed = longer.fields(POPPED, consumerGroup=POPPERS, invisibleTime=90_000)
        assert self._ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, changed).code == 0

    def _pop_some(self, most: int, invisible_ms: int) -> list[Handle]:
        fields = pop_fields(
            POPPED,
            0,
            consumerGroup=POPPERS,
            maxMsgNums=most,
            invisibleTime=invisible_ms,
            bornTime=self._now_ms(),
        )
        answer = self._ask(RequestCode5.POP_MESSAGE, fields)
        assert answer.code == 0, answer
        return handles(answer.fields, answer.body)
