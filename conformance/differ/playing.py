"""Play a sequence on one cluster, and write down what the cluster answers, request by request."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from conformance.differ.sequences import Sequence, Step, replaced
from conformance.run import Run
from conformance.wire.peer import ANSWER_TIMEOUT_S, NO_CODE, Display, Peer
from conformance.wire.requests import V2_NAMES, place_of
from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.protocol.codes import RequestCode, code_name
from fakemq.protocol.topics import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC

CONFIG = {
    "messageDelayLevel": " ".join(["9h"] * 18),
    "transactionCheckInterval": "36000000",
    "enablePropertyFilter": "true",
}
"""A config of brokers with which nothing happens later: what a sequence does, it does at once."""

NO_ANSWER_S = 0.1
"""How long is waited for an answer of the real cluster that the fake did not send."""
SILENT_FAKE_S = 1.0
"""How long is waited for an answer of the fake. END_TRANSACTION often has none: its answer comes
before that to the next request, or not at all."""
SETTLE_MS = 5_000
_STORING = {
    *(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE),
    *(RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2),
    *(RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.END_TRANSACTION),
}
_HALF_TOPICS = (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC)
_DELAYED = "DELAY\x01"
_TO_SHARED_QUEUES = (_DELAYED, "TRAN_MSG\x01")
"""Properties of messages whose queue is one that sequences share."""
_PLACE = re.compile(r'("physicOffset": )(\d+)')
ASKS = "  asks "
"""In the first line of what a broker asks of a client."""


class Block(NamedTuple):
    """What was said of one request, or of one table at the end."""

    title: str
    code: int
    """The request's code; 0 for a table."""
    lines: tuple[str, ...]


class Play:
    """One sequence on one cluster.

    On the real cluster, ``silent`` are the numbers of requests that the fake did not answer: an
    answer is not waited for long. On the fake it is None. `silent` then says which ones this
    cluster did not answer.
    """

    def __init__(self, run: Run, tag: str, *, silent: Collection[int] | None = None) -> None:
        self.run = run
        self.tag = tag
        self.silent: set[int] = set()
        self._expected_silent = silent
        self._stored: dict[str, list[str]] = {"place": [], "id": [], "offset": []}
        asked = [
            (RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": "0"}) for topic in _HALF_TOPICS
        ]
        answers = self._peer("broker-a").quietly_all(asked)
        for topic, answer in zip(_HALF_TOPICS, answers, strict=True):
            run.normaliser.starts[topic] = int(answer.fields["offset"])

    def name(self, text: str) -> str:
        """Return a text with the names of this run."""
        return replaced(text, self.tag, self._stored)

    def create_topic(self) -> None:
        """Create the topic ``<A>``, with two queues, on the broker."""
        fields = {
            "topic": self.name("<A>"),
            "defaultTopic": "TBW102",
            "readQueueNums": "2",
            "writeQueueNums": "2",
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
        }
        answer = self._peer("broker-a").quietly(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
        assert answer.code == 0, answer

    def steps(self, sequence: Sequence) -> Iterator[Block]:
        """Send each request and return what was said of it; at the end, what clients were asked."""
        asked: list[str] = []
        for number, step in enumerate(sequence):
            begin = len(self.run.lines)
            self._send(number, step)
            answers, asks = _parted(self.run.lines[begin:])
            asked += asks
            if step.code == RequestCode.QUERY_CONSUME_QUEUE:
                answers = [_PLACE.sub(self._place, line) for line in answers]
            yield Block(f"{number + 1}. {code_name(step.code)}", step.code, tuple(answers))
        yield Block("what the broker asked of the client", 0, tuple(asked))

    def _place(self, found: re.Match[str]) -> str:
        return found[1] + self.run.normaliser.places.name("broker-a", int(found[2]))

    def _peer(self, place: str) -> Peer:
        return self.run.peer("client", place)

    def _send(self, number: int, step: Step) -> None:
        fields = {key: self.name(value) for key, value in step.fields.items()}
        texts = fields.get("properties", "") + fields.get(V2_NAMES["properties"], "")
        shared = [one for one in _TO_SHARED_QUEUES if one in texts]
        try:
            pending = self._peer(step.place).send(
                step.code,
                fields,
                step.body_bytes(self.name),
                binary=step.binary,
                display=Display(("queueOffset",) if shared else ()),
            )
            answer = pending.answer(self._patience_s(number, step))
        except TimeoutError:
            self.silent.add(number)
            self._peer(step.place).say("no answer")
            return
        except ConnectionError:
            self._peer(step.place).say("closes the connection")
            self.run.close("client", step.place)
            return
        if answer.code == 0 and answer.fields.get("msgId"):
            self._learn(answer.fields, is_delayed=_DELAYED in shared)
        if step.code in _STORING and self._expected_silent is not None:
            self.settle()

    def _patience_s(self, number: int, step: Step) -> float:
        """Return how long to wait for an answer."""
        if self._expected_silent is not None:
            return NO_ANSWER_S if number in self._expected_silent else ANSWER_TIMEOUT_S
        if step.code != RequestCode.END_TRANSACTION:
            return SILENT_FAKE_S
        self._peer(step.place).quietly(NO_CODE)
        return 0

    def _learn(self, fields: dict[str, str], *, is_delayed: bool) -> None:
        for one in fields["msgId"].split(","):
            if len(one) == 32:
                self._stored["id"].append(one)
                self._stored["place"].append(str(place_of({"msgId": one})))
        # The normaliser knows where the queues of half messages began, but not those of levels.
        self._stored["offset"].append("0" if is_delayed else fields.get("queueOffset", "0"))

    def settle(self) -> None:
        """Wait until the broker has dispatched all that is in its log."""
        until_ms = real_elapsed_ms() + SETTLE_MS
        while real_elapsed_ms() < until_ms:
            answer = self._peer("broker-a").quietly(RequestCode.GET_BROKER_RUNTIME_INFO)
            if b'"dispatchBehindBytes":"0"' in answer.body:
                return
        raise TimeoutError(f"the broker still dispatches after {SETTLE_MS} ms")


def _parted(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return lines without what the broker asked of the client, and these."""
    answers: list[str] = []
    asks: list[str] = []
    where = answers
    for line in lines:
        if not line.startswith(" "):
            where = asks if ASKS in line else answers
        where.append(line)
    return answers, asks
