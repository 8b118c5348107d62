"""One end of a connection: replies, time-outs, pauses, idleness; by hand, without a network."""

from __future__ import annotations

import pytest

from fakemq.events import HandlerFailed, LinkClosed, LinkOpened, RequestReceived, Warned
from fakemq.net.session import CHANNEL_IDLE_MS, COMMAND_BYTES, Session
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.limits import FRAME_MAX_BYTES, UNWRITTEN_MAX_BYTES
from tests.support.session_lab import SessionLab


@pytest.fixture
def lab() -> SessionLab:
    return SessionLab()


class Replies(list[RemotingCommand | None]):
    """What came back."""


# -- requests in ------------------------------------------------------------------------------


def test_frames_of_one_batch_are_answered_by_one_write(lab: SessionLab) -> None:
    lab.session.data_received(lab.frame(7, 1) + lab.frame(8, 2) + lab.frame(9, 3)[:5])
    assert [request.code for request in lab.requests] == [7, 8]
    assert len(lab.link.written) == 1
    assert [response.opaque for response in lab.sent()] == [1, 2]
    received = lab.journal.find(RequestReceived)
    assert [(one.code, one.opaque, one.peer) for one in received] == [
        (7, 1, "there:2"),
        (8, 2, "there:2"),
    ]


def test_body_of_slices_is_copied_into_the_write_of_its_batch(lab: SessionLab) -> None:
    log = memoryview(bytearray(b"one two three"))

    def take(session: Session, command: RemotingCommand) -> None:
        response = RemotingCommand(0, flag=FLAG_RESPONSE, opaque=command.opaque)
        session.send(response, (log[:3], log[8:]), answers=command.code)

    session = lab.session = Session(lab.link, lab, take)
    session.data_received(lab.frame(7, 1) + lab.frame(8, 2))
    assert len(lab.link.written) == 1
    take(session, RemotingCommand(9, opaque=3))  # one that was parked
    log[:] = b"." * len(log)
    assert [response.body for response in lab.sent()] == [b"onethree"] * 3


def test_violation_is_answered_and_then_closes_the_session(lab: SessionLab) -> None:
    lab.session.data_received(lab.frame(7) + b"\xff" * 16)
    assert len(lab.sent()) == 1
    assert lab.link.closed
    assert lab.gone == [lab.session]
    (warned,) = lab.journal.find(Warned)
    assert warned.text.startswith("closed the connection of there:2: ")
    lab.session.data_received(lab.frame(8))
    assert len(lab.requests) == 1


def test_unanswerable_request_affects_no_other(lab: SessionLab) -> None:
    def take(session: Session, command: RemotingCommand) -> None:
        if command.code == 8:
            raise ZeroDivisionError
        lab.take(session, command)

    session = lab.session = Session(lab.link, lab, take)
    session.data_received(lab.frame(7, 1) + lab.frame(8, 2) + lab.frame(9, 3))
    assert [response.opaque for response in lab.sent()] == [1, 3]
    (failed,) = lab.journal.find(HandlerFailed)
    assert (failed.node, failed.code) == ("lab", 8)
    session.invoke_oneway(RemotingCommand(40))
    assert len(lab.sent()) == 1, "written at once, as ever"


# -- a peer that asks and does not read -------------------------------------------------------


class Greedy(SessionLab):
    """A node with large answers, and a link that blocks after ``blocked_by`` bytes."""

    def __init__(self, answer_bytes: int, blocked_by: int) -> None:
        super().__init__()
        self.answer_bytes = answer_bytes
        self.link.write = self.write  # type: ignore[method-assign]
        self.blocked_by = blocked_by

    def write(self, data: bytes) -> None:
        self.link.written.append(data)
        self.link.write_blocked = sum(map(len, self.link.written)) >= self.blocked_by

    def take(self, session: Session, command: RemotingCommand) -> None:
        self.requests.append(command)
        body = bytes(self.answer_bytes)
        session.send(RemotingCommand(0, flag=FLAG_RESPONSE, opaque=command.opaque, body=body))

    def ask(self, count: int, more: bytes = b"") -> None:
        frames = (self.frame(7, opaque) for opaque in range(count))
        self.session.data_received(b"".join(frames) + more)

    def read(self) -> list[int]:
        """What the peer reads now: the opaques of the answers."""
        self.link.write_blocked = False
        opaques = [response.opaque for response in self.sent()]
        self.session.resume_processing()
        return opaques


def test_requests_wait_until_the_peer_reads_earlier_answers() -> None:
    lab = Greedy(UNWRITTEN_MAX_BYTES // 2, blocked_by=1)
    lab.ask(10)
    assert len(lab.requests) == 3, "one look at what was written is enough"
    lab.session.resume_processing()  # it reads nothing, and is called nevertheless
    assert len(lab.requests) == 6
    opaques = []
    while more := lab.read():
        opaques += more
    assert opaques == list(range(10))
    assert [command.opaque for command in lab.requests] == list(range(10))


def test_reading_peer_is_answered_at_once() -> None:
    lab = Greedy(UNWRITTEN_MAX_BYTES, blocked_by=1 << 40)
    lab.ask(10)
    assert len(lab.sent()) == 10
    assert max(map(len, lab.link.written), default=0) < 3 * UNWRITTEN_MAX_BYTES


def test_later_requests_are_handled_after_waiting_ones() -> None:
    lab = Greedy(2 * UNWRITTEN_MAX_BYTES, blocked_by=1)
    lab.ask(3)
    lab.session.data_received(lab.frame(7, 3))
    while lab.read():
        pass
    assert [command.opaque for command in lab.requests] == [0, 1, 2, 3]


def test_violation_behind_waiting_requests_is_reported_in_order() -> None:
    lab = Greedy(2 * UNWRITTEN_MAX_BYTES, blocked_by=1)
    lab.ask(2, b"\xff" * 8)
    assert lab.gone == []
    lab.read()
    assert lab.gone == [lab.session]
    assert [command.opaque for command in lab.requests] == [0, 1]


def test_requests_of_a_closed_session_are_not_handled() -> None:
    lab = Greedy(2 * UNWRITTEN_MAX_BYTES, blocked_by=1)
    lab.ask(2)
    lab.session.connection_lost()
    lab.session.resume_processing()
    assert len(lab.requests) == 1


def test_waiting_bytes_are_counted_until_handled_or_closed() -> None:
    lab = Greedy(2 * UNWRITTEN_MAX_BYTES, blocked_by=1)
    lab.ask(20)
    read_bytes = 20 * len(lab.frame(7))
    assert lab.session.unfinished_bytes > read_bytes
    lab.session.data_received(lab.frame(7)[:9])
    assert lab.session.unfinished_bytes > 18 * COMMAND_BYTES + read_bytes
    lab.blocked_by = 1 << 40
    while lab.read():
        pass
    assert (len(lab.requests), lab.session.unfinished_bytes) == (20, 9)
    lab.blocked_by = 1
    lab.ask(2, b"\0")
    lab.session.connection_lost()
    assert lab.session.unfinished_bytes == 0
    assert lab.session._left == []


def test_remaining_requests_wait_for_the_next_turn(lab: SessionLab) -> None:
    lab.link.turn_ends_at = 3
    lab.session.data_received(b"".join(lab.frame(10, opaque) for opaque in range(100)))
    assert [command.opaque for command in lab.requests] == list(range(24))
    assert len(lab.sent()) == 24, "what was handled is answered"
    lab.session.resume_processing()
    assert [response.opaque for response in lab.sent()] == list(range(24, 100))
    assert not lab.session.closed


@pytest.mark.parametrize(("code", "body_bytes"), [(320, 1), (11, 0), (10, 70_000)])
def test_request_that_may_take_long_waits_when_the_turn_is_over(
    lab: SessionLab, code: int, body_bytes: int
) -> None:
    lab.link.turn_ends_at = 2
    costly = RemotingCommand(code, opaque=2, body=bytes(body_bytes))
    frames = [lab.far.encode(costly), lab.frame(10, 1), lab.far.encode(costly)]
    lab.session.data_received(b"".join(frames))
    assert [command.code for command in lab.requests] == [code, 10]
    lab.session.resume_processing()
    assert [command.code for command in lab.requests] == [code, 10, code]


def test_lone_request_needs_no_look_at_the_time(lab: SessionLab) -> None:
    lab.session.data_received(lab.frame(320))
    assert lab.link.turns == 0


def test_violation_behind_a_turn_is_reported_in_the_next(lab: SessionLab) -> None:
    lab.link.turn_ends_at = 1
    frames = b"".join(lab.frame(7, opaque) for opaque in range(10))
    lab.session.data_received(frames + b"\xff" * 8)
    assert lab.gone == []
    lab.session.resume_processing()
    assert lab.gone == [lab.session]
    assert len(lab.requests) == 10


def test_long_reason_is_cut(lab: SessionLab) -> None:
    lab.session.close_for_violation("y" * 9000, "test")
    (closed,) = lab.journal.find(LinkClosed)
    assert len(closed.why) < 600


def test_session_without_a_dispatcher_answers_nothing(lab: SessionLab) -> None:
    session = Session(lab.link, lab, None)
    session.data_received(lab.frame(7))
    assert lab.link.written == []


# -- requests out -----------------------------------------------------------------------------


def test_replies_are_matched_to_their_requests(lab: SessionLab) -> None:
    one, two = Replies(), Replies()
    lab.session.invoke(RemotingCommand(7), 3_000, one.append)
    lab.session.invoke(RemotingCommand(8), 3_000, two.append)
    first, second = lab.sent()
    lab.answer(second.opaque)
    lab.answer(second.opaque)
    assert (len(one), len(two)) == (0, 1)
    lab.answer(first.opaque)
    assert len(one) == 1
    assert one[0] is not None
    lab.answer(4711)
    assert not [timer for timer in lab.real.timers() if timer.kind == "rpc_timeout"]


def test_missing_reply_is_none(lab: SessionLab) -> None:
    replies = Replies()
    lab.session.invoke(RemotingCommand(7), 3_000, replies.append)
    lab.real.advance(2.999)
    assert replies == []
    lab.real.advance(0.001)
    assert replies == [None]
    lab.answer(lab.sent()[0].opaque)
    assert replies == [None], "a late answer is dropped"


def test_lost_connection_is_none_for_all_open_requests(lab: SessionLab) -> None:
    replies = Replies()
    lab.session.invoke(RemotingCommand(7), 3_000, replies.append)
    lab.session.invoke(RemotingCommand(8), 3_000, replies.append)
    lab.session.connection_lost()
    assert replies == [None, None]
    lab.session.invoke(RemotingCommand(9), 3_000, replies.append)
    assert replies == [None] * 3
    lab.session.invoke_oneway(RemotingCommand(9))
    lab.session.connection_lost()
    assert lab.gone == [lab.session], "called once"
    assert lab.real.timers() == []
    assert [type(one.event) for one in lab.journal] == [LinkOpened, LinkClosed]
    assert lab.journal.find(LinkClosed)[0].why == "closed by the peer"


def test_oneway_request_expects_no_reply(lab: SessionLab) -> None:
    lab.session.invoke_oneway(RemotingCommand(7))
    (sent,) = lab.sent()
    assert sent.is_oneway
    assert [timer.kind for timer in lab.real.timers()] == ["channel_idle"]


# -- a paused node ----------------------------------------------------------------------------


def test_paused_session_does_not_read(lab: SessionLab) -> None:
    lab.session.pause()
    assert not lab.link.reading
    lab.session.resume()
    assert lab.link.reading


def test_paused_session_can_be_closed(lab: SessionLab) -> None:
    lab.session.pause()
    lab.session.close("killed")
    assert lab.link.closed
    assert lab.gone == [lab.session]
    lab.session.resume()
    assert len(lab.gone) == 1


# -- idleness ---------------------------------------------------------------------------------


def test_session_is_closed_after_120_idle_seconds(lab: SessionLab) -> None:
    lab.real.advance(100)
    lab.session.data_received(lab.frame(7))
    lab.real.advance(119.999)
    assert lab.gone == []
    lab.session.invoke_oneway(RemotingCommand(8))
    lab.real.advance(119.999)
    assert lab.gone == []
    lab.real.advance(0.001)
    assert lab.gone == [lab.session]
    assert lab.link.closed
    assert lab.journal.find(LinkClosed)[0].why == "idle for 120 s"


def test_idle_time_is_chosen_by_the_owner(lab: SessionLab) -> None:
    session = lab.session = Session(lab.link, lab, lab.take, 5_000)
    lab.real.advance("4.999s")
    assert lab.gone == []
    lab.real.advance("1ms")
    assert lab.gone == [session]
    assert lab.journal.find(LinkClosed)[0].why == "idle for 5 s"


def test_session_without_an_idle_time_stays(lab: SessionLab) -> None:
    session = Session(lab.link, lab, lab.take, 0)
    lab.real.advance("119s")
    assert not session.closed


def test_outside_session_is_idle_in_real_time_only() -> None:
    lab = SessionLab(outside=True)
    lab.real.advance("10h")
    assert lab.gone == []
    lab.time.passed_ms += CHANNEL_IDLE_MS
    lab.real.fire_due()
    assert lab.gone == [lab.session]


def test_time_out_of_an_outside_session_is_real_time() -> None:
    lab = SessionLab(outside=True)
    replies = Replies()
    lab.session.invoke(RemotingCommand(7), 3_000, replies.append)
    lab.real.advance("1h")
    assert replies == []
    lab.time.passed_ms += 3_000
    lab.real.fire_due()
    assert replies == [None]


def test_repr_shows_peer_and_state(lab: SessionLab) -> None:
    assert repr(lab.session) == "<session here:1 - there:2 inside>"
    assert repr(SessionLab(outside=True).session) == "<session here:1 - there:2 outside>"
    lab.session.close("done")
    assert repr(lab.session) == "<session here:1 - there:2 closed>"


@pytest.mark.parametrize("how", ["closed", "answered", "given up"])
def test_failing_reply_callback_affects_no_other(how: str) -> None:
    lab = SessionLab()
    replies: list[RemotingCommand | None] = []
    lab.session.invoke(RemotingCommand(1), 1000, lambda _: print(1 // 0))
    lab.session.invoke(RemotingCommand(2), 1000, replies.append)
    if how == "closed":
        lab.session.close("enough")
        assert lab.gone == [lab.session], "its owner is notified of the end nevertheless"
    elif how == "answered":
        for opaque in (0, 1):
            answer = RemotingCommand(0, flag=FLAG_RESPONSE, opaque=opaque)
            lab.session.data_received(lab.far.encode(answer))
        assert not lab.session.closed
    else:
        lab.real.advance_ms(1000)
    assert len(replies) == 1
    (failed,) = lab.journal.find(HandlerFailed)
    assert (failed.node, failed.code) == ("lab", None)
    assert failed.error.startswith("ZeroDivisionError")


def test_oversized_request_closes_the_connection() -> None:
    lab = SessionLab()
    replies: list[RemotingCommand | None] = []
    lab.session.invoke(RemotingCommand(307, body=bytes(FRAME_MAX_BYTES)), 1000, replies.append)
    assert replies == [None]
    assert lab.link.closed
    (warned,) = lab.journal.find(Warned)
    assert "cannot send the GET_CONSUMER_RUNNING_INFO" in warned.text
