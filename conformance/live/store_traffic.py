"""The same requests to any broker: every way in which a message, an offset or a topic is stored."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from functools import partial

from conformance.capture.requests import properties, send_fields, send_v2_fields
from conformance.targets.runtime_info import figures
from conformance.wire.raw import RawConnection, create_topic, frame, json_header, split
from conformance.wire.requests import batch_item
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import SCHEDULE_TOPIC, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC

TOPIC, OTHER, GROUP = "Golden", "Silver", "GGolden"
PRODUCERS = "GGoldenProducer"
CHECKER = "CID_RMQ_SYS_TRANS"
CONFIG = {
    "messageDelayLevel": "1s 1s",
    # A check is made and finds nothing old enough, so that it puts nothing back.
    "transactionCheckInterval": "1000",
    "transactionTimeOut": "3600000",
}
"""The broker's, so that nothing depends on how long anything takes."""
PREPARED, COMMIT, ROLLBACK = 4, 8, 12
COMPRESSED = 1

Until = Callable[[Callable[[], bool]], None]
"""Lets time pass until a condition holds."""


class Traffic:
    """One client's requests to a broker, by IPv4 and by IPv6.

    ``until`` is how time passes at that broker; whatever depends on it is waited for before the
    next request, so that everything is stored in the same order everywhere. ``born_ms`` is when all
    messages were born: half messages of days ago are not for long.
    """

    def __init__(self, port: int, until: Until, born_ms: int) -> None:
        self._port = port
        self._until = until
        self._born = {"bornTimestamp": str(born_ms)}
        self._sent = 0

    def run(self) -> None:
        with RawConnection(f"127.0.0.1:{self._port}") as self._connection:
            self._administer()
            for _ in range(2):
                self._sends()
                self._batches()
                self._transactions()
                self._delays()
                self._retries()
            self._offsets()
        with RawConnection(f"[::1]:{self._port}") as self._connection:
            self._sends()
            self._batches()
            self._delays()
            self._see_checks()

    # -- requests -----------------------------------------------------------------------------

    def _ask(
        self, code: int, fields: Mapping[str, str] | None, body: bytes = b""
    ) -> Mapping[str, str]:
        header = json_header(self._connection.call(frame(code, fields, body)))
        assert header["code"] == 0, header
        found = header.get("extFields") or {}
        assert isinstance(found, dict)
        return found

    def _put(
        self, body: bytes, queue: int = 0, sys_flag: int = 0, topic: str = TOPIC, **pairs: str
    ) -> Mapping[str, str]:
        self._sent += 1
        pairs = {"UNIQ_KEY": f"7F000001{self._sent:024X}", "WAIT": "true", **pairs}
        fields = send_fields(properties(**pairs), queue, sys_flag, topic) | self._born
        return self._ask(RequestCode.SEND_MESSAGE, fields, body)

    def _end_of(self, topic: str, queue: int = 0) -> int:
        """Return where a queue ends, with all that was sent before: Java fills queues later."""
        self._until(self._is_dispatched)
        return self._max_offset(topic, queue)

    def _is_dispatched(self) -> bool:
        answer = self._connection.call(frame(RequestCode.GET_BROKER_RUNTIME_INFO))
        return figures(answer).get("dispatchBehindBytes") == "0"

    def _max_offset(self, topic: str, queue: int) -> int:
        fields = {"topic": topic, "queueId": str(queue)}
        return int(self._ask(RequestCode.GET_MAX_OFFSET, fields)["offset"])

    def _has_come(self, topic: str, queue: int, end: int) -> bool:
        return self._max_offset(topic, queue) == end

    # -- traffic ------------------------------------------------------------------------------

    def _administer(self) -> None:
        for topic, queues in ((TOPIC, 4), (OTHER, 2)):
            create_topic(f"127.0.0.1:{self._port}", topic, queues)
        group = {
            "groupName": GROUP,
            "consumeEnable": True,
            "consumeFromMinEnable": True,
            "consumeBroadcastEnable": True,
            "retryQueueNums": 1,
            "retryMaxTimes": 3,
            "brokerId": 0,
            "whichBrokerWhenConsumeSlowly": 1,
            "notifyConsumerIdsChangedEnable": True,
        }
        self._ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, json.dumps(group).encode())

        # A check makes this topic: in 4.9.7 at the latest the one that a clean stop sets off.
        self._until(lambda: f'"{TRANS_HALF_TOPIC}"' in self._topics())

    def _topics(self) -> str:
        return split(self._connection.call(frame(RequestCode.GET_ALL_TOPIC_CONFIG)))[2].decode()

    def _sends(self) -> None:
        for number in range(60):
            queue = number % 4
            self._put(b"plain %d " % number + bytes(range(number)), queue)
            self._put(b"", queue % 2, topic=OTHER, TAGS=f"Tag{number % 3}", KEYS=f"k{number} all")
        self._put("größe".encode(), TAGS="Größe", KEYS="ü x", colour="rot", größe="ü")
        self._put(zlib.compress(b"compressed body " * 64), 1, COMPRESSED, KEYS="small")
        self._put(b"x" * 9_000, 2)
        self._put(b"to a topic that does not exist", topic="Auto", KEYS="first")

    def _batches(self) -> None:
        for size in (1, 3, 20):
            body = b"".join(
                batch_item(
                    b"batch %d" % number,
                    number,
                    properties(
                        TAGS="TagB",
                        KEYS=f"b{number}",
                        WAIT="true",
                        UNIQ_KEY=f"7F000002{self._sent:08X}{number:016X}",
                    ),
                )
                for number in range(size)
            )
            self._sent += 1
            fields = send_v2_fields("", 3, batch=True) | {"g": self._born["bornTimestamp"]}
            self._ask(RequestCode.SEND_BATCH_MESSAGE, fields, body)

    def _transactions(self) -> None:
        for how in (COMMIT, ROLLBACK, None):
            found = self._put(
                b"half", 1, PREPARED, TRAN_MSG="true", PGROUP=PRODUCERS, KEYS="t", TAGS="TagT"
            )
            if how is not None:
                self._ask(
                    RequestCode.END_TRANSACTION,
                    {
                        "producerGroup": PRODUCERS,
                        "tranStateTableOffset": found["queueOffset"],
                        "commitLogOffset": str(int(found["msgId"][16:], 16)),
                        "commitOrRollback": str(how),
                        "fromTransactionCheck": "false",
                        "msgId": "M",
                        "transactionId": "T",
                    },
                )

    def _delays(self) -> None:
        for level, queue in ((1, 0), (2, 1)):
            end = self._end_of(TOPIC, queue)
            self._put(b"late", queue, DELAY=str(level), KEYS="late", TAGS="TagD")
            self._until(partial(self._has_come, TOPIC, queue, end + 1))

    def _see_checks(self) -> None:
        """Wait until checks have reached the first half message that is still open."""
        for topic in (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC):
            self._until(partial(self._is_checked, topic, 2))

    def _is_checked(self, topic: str, offset: int) -> bool:
        fields = {"consumerGroup": CHECKER, "topic": topic, "queueId": "0"}
        return self._ask(RequestCode.QUERY_CONSUMER_OFFSET, fields)["offset"] == str(offset)

    def _retries(self) -> None:
        found = self._put(b"again", 2, KEYS="again", TAGS="TagR")
        retry = f"%RETRY%{GROUP}"
        fields = {
            "offset": str(int(found["msgId"][16:], 16)),
            "group": GROUP,
            "delayLevel": "1",
            "originMsgId": found["msgId"],
            "originTopic": TOPIC,
            "unitMode": "false",
            "maxReconsumeTimes": "3",
        }
        waiting, end = self._end_of(SCHEDULE_TOPIC, 0), self._end_of(retry)
        self._ask(RequestCode.CONSUMER_SEND_MSG_BACK, fields)
        self._until(partial(self._has_come, retry, 0, end + 1))
        assert self._end_of(SCHEDULE_TOPIC, 0) == waiting + 1
        self._ask(RequestCode.CONSUMER_SEND_MSG_BACK, fields | {"delayLevel": "-1"})

    def _offsets(self) -> None:
        for queue, offset in ((0, 7), (1, 3), (3, 1)):
            fields = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": str(queue)}
            self._ask(RequestCode.UPDATE_CONSUMER_OFFSET, fields | {"commitOffset": str(offset)})
        for queue in (1, 0):
            fields = {"consumerGroup": "other", "topic": OTHER, "queueId": str(queue)}
            self._ask(RequestCode.UPDATE_CONSUMER_OFFSET, fields | {"commitOffset": "5"})
