"""What becomes of connections on which nonsense comes: answered, left alone, or closed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from conformance.normalise import shortened
from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire import malformed
from conformance.wire.peer import NO_CODE, SILENCE_S, Frame, frame_of
from conformance.wire.raw import RawConnection, frame
from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode, code_name

PROBE = 4242
ANSWER_TIMEOUT_S = 60.0
V5_CODES = {RequestCode.LITE_PULL_MESSAGE}
"""Codes of later versions, which a 4.9.7 broker has not."""
BY_WHAT_IS_STORED = {
    *(RequestCode.GET_CONSUME_STATS, RequestCode.QUERY_TOPIC_CONSUME_BY_WHO),
    *(RequestCode.QUERY_CORRECTION_OFFSET, RequestCode.CLONE_GROUP_OFFSET),
}
"""Without fields, Java fails as soon as it compares null with an offset's topic or group."""
BY_AGE = {RequestCode.GET_BROKER_RUNTIME_INFO}
"""In its first seconds a real broker fails, as it has no samples yet."""
BY_WHAT_IT_STUMBLES_OVER = {RequestCode.CONSUME_MESSAGE_DIRECTLY}
"""Which exception it is depends on where Java's reader of message ids gets lost."""
JSON_BODIES = (
    *(RequestCode.HEART_BEAT, RequestCode.CHECK_CLIENT_CONFIG),
    *(RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ),
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
)


class Conversation:
    """One connection, and the frames that come on it."""

    def __init__(self, addr: str) -> None:
        self._connection = RawConnection(addr, ANSWER_TIMEOUT_S)
        self.came: list[Frame] = []
        self.closed = False

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def send(self, data: bytes) -> None:
        with suppress(ConnectionError):  # what was read before the end still counts
            self._connection.send(data)

    def receive(self, count: int, timeout_s: float) -> None:
        """Receive ``count`` frames, or those that come in time."""
        self._connection._socket.settimeout(timeout_s)
        try:
            for _ in range(count):
                self.came.append(frame_of(self._connection.receive()))
        except TimeoutError:
            pass
        except ConnectionError:
            self.closed = True

    def probe(self, whole: bytes) -> None:
        """Ask something sensible, and take in all that comes until it is answered."""
        self.send(whole)
        while not self.closed and not any(one.opaque == PROBE for one in self.came):
            self.receive(1, ANSWER_TIMEOUT_S)


def answer_text(run: Run, answer: Frame) -> str:
    form = " in binary" if answer.is_binary else ""
    remark = "" if answer.remark is None else f", {run.normaliser.text(answer.remark)!r}"
    return f"{answer.code}{form}{shortened(remark)}"


def probe_of(place: str) -> bytes:
    """What is answered at once there; a name server answers no code that it does not know."""
    if place == "namesrv":
        return frame(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SNowhere"}, opaque=PROBE)
    return frame(NO_CODE, {}, opaque=PROBE)


def throw(run: Run, place: str, kinds: Iterable[malformed.Malformed]) -> None:
    """Send each on a connection of its own, and write down what becomes of that."""
    for kind in kinds:
        with Conversation(run.addrs[place]) as conversation:
            conversation.send(kind.data)
            conversation.receive(1, SILENCE_S)
            conversation.probe(probe_of(place))
            if not conversation.closed and len(conversation.came) == 1:
                conversation.receive(1, SILENCE_S)
            answers = [one for one in conversation.came if one.opaque != PROBE]
            assert all(kind.opaque in (None, one.opaque) for one in answers), kind.name
            said = [answer_text(run, one) for one in answers]
            end = "closed" if conversation.closed else "open"
            run.lines.append(f"{place}  {kind.name}: {'; '.join([*said, end])}")


def ask_at_once(run: Run, place: str, codes: Iterable[RequestCode]) -> list[RequestCode]:
    """Send a request of each code without fields; list the answers, return the answered codes."""
    codes = list(codes)
    with Conversation(run.addrs[place]) as conversation:
        for code in codes:
            conversation.send(frame(code, {}, opaque=code))
        conversation.probe(probe_of(place))
        conversation.receive(len(codes), SILENCE_S)  # real ones answer in no order
        assert not conversation.closed
    answers = {one.opaque: one for one in conversation.came}
    for code in codes:
        said = answer_text(run, answers[code]) if code in answers else "no answer"
        run.lines.append(f"{place}  {code_name(code)} ({code}): {said}")
    return [code for code in codes if code in answers]


def ask_in_turn(
    run: Run, place: str, codes: Iterable[RequestCode], value: str, body: bytes
) -> None:
    """Send a request of each code, every field ``value``, and write down each answer."""
    with Conversation(run.addrs[place]) as conversation:
        for code in codes:
            fields = dict.fromkeys(fields_of(code), value)
            conversation.send(frame(code, fields, body, opaque=code))
            conversation.receive(1, ANSWER_TIMEOUT_S)
            (answer,) = conversation.came
            conversation.came.clear()
            run.lines.append(f"{place}  {code_name(code)} ({code}): {answer_text(run, answer)}")


def fields_of(code: int) -> list[str]:
    """Return the names of the fields of a code's request header."""
    (row,) = (row for row in table.rows() if row.code == code)
    return [wire for wire, _, _ in row.request_header.field_specs()]


@scenario("frames that are none")
def wild_lengths(run: Run) -> None:
    for place in ("broker-a", "broker-a vip", "namesrv"):
        throw(run, place, malformed.LENGTHS)


@scenario("headers that are no object, or a strange one")
def wild_headers(run: Run) -> None:
    throw(run, "broker-a", malformed.HEADERS)


@scenario("headers whose fields are not what they should be")
def wild_values(run: Run) -> None:
    throw(run, "broker-a", malformed.VALUES)


@scenario("binary headers whose lengths lie")
def wild_binary_headers(run: Run) -> None:
    throw(run, "broker-a", malformed.BINARY)


@scenario("every code: without any field, and with nonsense")
def every_code(run: Run) -> None:
    codes = [code for code in RequestCode if code not in V5_CODES]
    for place, left_out in (("broker-a", BY_WHAT_IS_STORED | BY_AGE), ("namesrv", set())):
        answered = ask_at_once(run, place, (code for code in codes if code not in left_out))
        run.note("every field x, and a body that is no text")
        read = [code for code in answered if code not in BY_WHAT_IT_STUMBLES_OVER]
        ask_in_turn(run, place, read, "x", b"\xff\xfe\x00 nonsense")


@scenario("bodies that are JSON, but not of what was expected")
def wild_bodies(run: Run) -> None:
    for body in ("{}", "[]", "null", "42", '"text"', '{"a":', "[{}]", '{"mqSet":5}'):
        run.note(f"body {body}")
        ask_in_turn(run, "broker-a", JSON_BODIES, "x", body.encode())
        ask_in_turn(run, "namesrv", [RequestCode.QUERY_DATA_VERSION], "x", body.encode())
