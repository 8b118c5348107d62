"""GET_TIMER_CHECK_POINT: the progress of timers, as a slave reads it."""

from __future__ import annotations

import struct

from fakemq.protocol.v5.codes import RequestCode5
from tests.support.timer_lab import SECOND_MS, TimerLab


def test_answer_is_the_checkpoint() -> None:
    lab = TimerLab()
    lab.send(TIMER_DELIVER_MS=SECOND_MS + 5_000)
    lab.pass_time(2_000)
    answer = lab.client.ask(RequestCode5.GET_TIMER_CHECK_POINT)
    read_ms, log_bytes, offset, master_offset, *_ = struct.unpack(">7q", answer.body)
    assert (read_ms, log_bytes, offset, master_offset) == (SECOND_MS + 2_000, 52, 1, 1)
    lab.pass_time(10_000)
    answer = lab.client.ask(RequestCode5.GET_TIMER_CHECK_POINT)
    assert struct.unpack(">7q", answer.body)[0] == SECOND_MS + 12_000
