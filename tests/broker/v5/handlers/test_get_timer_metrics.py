"""GET_TIMER_METRICS: how many timer messages wait for each topic."""

from __future__ import annotations

from fakemq.protocol.v5.codes import RequestCode5
from tests.support.time import START_MS
from tests.support.timer_lab import TimerLab


def test_answer_has_the_counts() -> None:
    lab = TimerLab()
    for _ in range(2):
        lab.send(TIMER_DELAY_SEC=5)
    answer = lab.client.ask(RequestCode5.GET_TIMER_METRICS)
    assert answer.body == (
        b'{"dataVersion":{"counter":2,"stateVersion":0,"timestamp":%d},'
        b'"timingCount":{"orders":{"count":2,"timeStamp":%d}}}' % (START_MS, START_MS)
    )
