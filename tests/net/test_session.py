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


def test_all_frames_of_one_batch_are_answered_by_one_write(lab: SessionLab) -> None:
    lab.session.data_received(lab.frame(7, 1) + lab.frame(8, 2) + lab.frame(9, 3)[:5])
    assert [request.code for request in lab.requests] == [7, 8]
    assert len(lab.link.written) == 1
    assert [response.opaque for response in lab.sent()] == [1, 2]
    received = lab.journal.find(RequestReceived)
    assert [(one.code, one.opaque, one.peer) for one in received] == [
        (7, 1, "there:2"),
        (8, 2, "there:2"),
    ]


def test_a_body_of_slices_is_copied_into_the_one_write_of_its_batch(lab: SessionLab) -> None:
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


def test_a_peer_that_breaks_the_protocol_is_answered_first_and_then_closed(lab: SessionLab) -> None:
    lab.session.data_received(lab.frame(7) + b"\xff" * 16)
    assert len(lab.sent()) == 1
    assert lab.link.closed
    assert lab.gone == [lab.session]
    (warned,) = lab.journal.find(Warned)
    assert warned.text.startswith("closed the connection of there:2: ")
    lab.session.data_received(lab.frame(8))
    assert len(lab.requests) == 1


def test_a_request_that_cannot_even_be_answered_harms_no_other(lab: SessionLab) -> None:
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


def test_requests_wait_while_the_peer_does_not_read_the_answers_before_them() -> None:
    lab = Greedy(UNWRITTEN_MAX_BYTES // 2, blocked_by=1)
    lab.ask(10)
    assert len(lab.requests) == 3, "one look at what was written is enough"
    lab.session.resume_processing()  # it reads nothing, and is told so all the same
    assert len(lab.requests) == 6
    opaques = []
    while more := lab.read():
        opaques += more
    assert opaques == list(range(10))
    assert [command.opaque for command in lab.requests] == list(range(10))


def test_a_peer_that_reads_is_answered_in_one_go() -> None:
    lab = Greedy(UNWRITTEN_MAX_BYTES, blocked_by=1 << 40)
    lab.ask(10)
    assert len(lab.sent()) == 10
    assert max(map(len, lab.link.written), default=0) < 3 * UNWRITTEN_MAX_BYTES


def test_what_comes_meanwhile_is_handled_behind_what_waits() -> None:
    lab = Greedy(2 * UNWRITTEN_MAX_BYTES, blocked_by=1)
    lab.ask(3)
    lab.session.data_received(lab.frame(7, 3))
    while lab.read():
        pass
    assert [command.opaque for command in lab.requests] == [0, 1, 2, 3]


def test_a_breach_behind_what_waits_is_noticed_when_its_turn_comes() -> None:
    lab = Greedy(2 * UNWRITTEN_MAX_BYTES, blocked_by=1)
    lab.ask(2, b"\xff" * 8)
    assert lab.gone == []
    lab.read()
    assert lab.gone == [lab.session]
    assert [command.opaque for command in lab.requests] == [0, 1]


def test_nothing_is_handled_for_a_peer_that_has_gone() -> None:
    lab = Greedy(2 * UNWRITTEN_MAX_BYTES, blocked_by=1)
    lab.ask(2)
    lab.session.connection_lost()
    lab.session.resume_processing()
    assert len(lab.requests) == 1


def test_what_waits_is_counted_until_it_is_handled_or_its_peer_has_gone() -> None:
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


def test_the_rest_of_many_requests_waits_for_its_turn(lab: SessionLab) -> None:
    lab.link.turn_ends_at = 3
    lab.session.data_received(b"".join(lab.frame(7, opaque) for opaque in range(100)))
    assert [command.opaque for command in lab.requests] == list(range(24))
    assert len(lab.sent()) == 24, "what was handled is answered"
    lab.session.resume_processing()
    assert [response.opaque for response in lab.sent()] == list(range(24, 100))
    assert not lab.session.closed


def test_a_breach_behind_a_turn_is_noticed_in_the_next(lab: SessionLab) -> None:
    lab.link.turn_ends_at = 1
    frames = b"".join(lab.frame(7, opaque) for opaque in range(10))
    lab.session.data_received(frames + b"\xff" * 8)
    assert lab.gone == []
    lab.session.resume_processing()
    assert lab.gone == [lab.session]
    assert len(lab.requests) == 10


def test_a_long_reason_is_cut(lab: SessionLab) -> None:
    lab.session.close_for_violation("y" * 9000, "test")
    (closed,) = lab.journal.find(LinkClosed)
    assert len(closed.why) < 600


def test_a_session_without_a_dispatcher_answers_nothing(lab: SessionLab) -> None:
    session = Session(lab.link, lab, None)
    session.data_received(lab.frame(7))
    assert lab.link.written == []


# -- requests out -----------------------------------------------------------------------------


def test_replies_find_who_asked(lab: SessionLab) -> None:
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


def test_an_answer_that_does_not_come_is_a_none(lab: SessionLab) -> None:
    replies = Replies()
    lab.session.invoke(RemotingCommand(7), 3_000, replies.append)
    lab.real.advance(2.999)
    assert replies == []
    lab.real.advance(0.001)
    assert replies == [None]
    lab.answer(lab.sent()[0].opaque)
    assert replies == [None], "an answer that comes too late is nobody's"


def test_a_lost_connection_is_a_none_for_all_who_wait(lab: SessionLab) -> None:
    replies = Replies()
    lab.session.invoke(RemotingCommand(7), 3_000, replies.append)
    lab.session.invoke(RemotingCommand(8), 3_000, replies.append)
    lab.session.connection_lost()
    assert replies == [None, None]
    lab.session.invoke(RemotingCommand(9), 3_000, replies.append)
    assert replies == [None] * 3
    lab.session.invoke_oneway(RemotingCommand(9))
    lab.session.connection_lost()
    assert lab.gone == [lab.session], "told once"
    assert lab.real.timers() == []
    assert [type(one.event) for one in lab.journal] == [LinkOpened, LinkClosed]
    assert lab.journal.find(LinkClosed)[0].why == "closed by the peer"


def test_a_oneway_request_waits_for_nothing(lab: SessionLab) -> None:
    lab.session.invoke_oneway(RemotingCommand(7))
    (sent,) = lab.sent()
    assert sent.is_oneway
    assert [timer.kind for timer in lab.real.timers()] == ["channel_idle"]


# -- a paused node ----------------------------------------------------------------------------


def test_a_paused_session_does_not_read(lab: SessionLab) -> None:
    lab.session.pause()
    assert not lab.link.reading
    lab.session.resume()
    assert lab.link.reading


def test_a_paused_session_can_be_closed(lab: SessionLab) -> None:
    lab.session.pause()
    lab.session.close("killed")
    assert lab.link.closed
    assert lab.gone == [lab.session]
    lab.session.resume()
    assert len(lab.gone) == 1


# -- idleness ---------------------------------------------------------------------------------


def test_idle_for_120_seconds_without_read_or_write(lab: SessionLab) -> None:
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


def test_a_peer_outside_is_idle_in_real_time_only() -> None:
    lab = SessionLab(outside=True)
    lab.real.advance("10h")
    assert lab.gone == []
    lab.time.passed_ms += CHANNEL_IDLE_MS
    lab.real.fire_due()
    assert lab.gone == [lab.session]


def test_a_time_out_of_a_peer_outside_is_real_time() -> None:
    lab = SessionLab(outside=True)
    replies = Replies()
    lab.session.invoke(RemotingCommand(7), 3_000, replies.append)
    lab.real.advance("1h")
    assert replies == []
    lab.time.passed_ms += 3_000
    lab.real.fire_due()
    assert replies == [None]


def test_what_it_says_of_itself(lab: SessionLab) -> None:
    assert repr(lab.session) == "<session here:1 - there:2 inside>"
    assert repr(SessionLab(outside=True).session) == "<session here:1 - there:2 outside>"
    lab.session.close("done")
    assert repr(lab.session) == "<session here:1 - there:2 closed>"


@pytest.mark.parametrize("how", ["closed", "answered", "given up"])
def test_a_reply_callback_that_fails_harms_nobody_else(how: str) -> None:
    lab = SessionLab()
    heard: list[RemotingCommand | None] = []
    lab.session.invoke(RemotingCommand(1), 1000, lambda _: print(1 // 0))
    lab.session.invoke(RemotingCommand(2), 1000, heard.append)
    if how == "closed":
        lab.session.close("enough")
        assert lab.gone == [lab.session], "its owner hears of the end all the same"
    elif how == "answered":
        for opaque in (0, 1):
            answer = RemotingCommand(0, flag=FLAG_RESPONSE, opaque=opaque)
            lab.session.data_received(lab.far.encode(answer))
        assert not lab.session.closed
    else:
        lab.real.advance_ms(1000)
    assert len(heard) == 1
    (failed,) = lab.journal.find(HandlerFailed)
    assert (failed.node, failed.code) == ("lab", None)
    assert failed.error.startswith("ZeroDivisionError")


def test_a_request_that_fits_no_frame_costs_the_connection() -> None:
    lab = SessionLab()
    heard: list[RemotingCommand | None] = []
    lab.session.invoke(RemotingCommand(307, body=bytes(FRAME_MAX_BYTES)), 1000, heard.append)
    assert heard == [None]
    assert lab.link.closed
    (warned,) = lab.journal.find(Warned)
    assert "cannot send the GET_CONSUMER_RUNNING_INFO" in warned.text
