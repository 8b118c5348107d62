"""Answers to requests of earlier batches: those of one moment leave together."""

from __future__ import annotations

from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from tests.support.session_lab import SessionLab


def late_answer(lab: SessionLab, opaque: int, body: bytes = b"") -> None:
    """Answer a request of an earlier batch."""
    lab.session.send(RemotingCommand(0, flag=FLAG_RESPONSE, opaque=opaque, body=body))


def test_late_answers_of_one_moment_leave_in_one_write() -> None:
    lab = SessionLab(outside=True)
    lab.real.hold_moment()
    late_answer(lab, 1)
    late_answer(lab, 2, b"body")
    assert lab.link.written == []
    lab.real.release_moment()
    assert len(lab.link.written) == 1
    assert [(one.opaque, one.body) for one in lab.sent()] == [(1, b""), (2, b"body")]


def test_late_answer_outside_of_a_moment_leaves_at_once() -> None:
    lab = SessionLab(outside=True)
    late_answer(lab, 1)
    assert [one.opaque for one in lab.sent()] == [1]


def test_late_answers_in_memory_leave_one_by_one() -> None:
    lab = SessionLab()
    lab.real.hold_moment()
    late_answer(lab, 1)
    late_answer(lab, 2)
    assert len(lab.link.written) == 2  # each with the cause of its own
    lab.real.release_moment()
    assert len(lab.link.written) == 2


def test_late_answers_leave_before_those_of_a_batch_in_the_same_moment() -> None:
    lab = SessionLab(outside=True)
    lab.real.hold_moment()
    late_answer(lab, 1)
    lab.session.data_received(lab.frame(7, opaque=2))
    late_answer(lab, 3)
    assert [one.opaque for one in lab.sent()] == [1, 2, 3]


def test_late_answer_leaves_before_the_session_is_closed() -> None:
    lab = SessionLab(outside=True)
    lab.real.hold_moment()
    late_answer(lab, 1)
    lab.session.close("no longer wanted")
    lab.real.release_moment()
    assert [one.opaque for one in lab.sent()] == [1]
