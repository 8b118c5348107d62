"""What is fed to count instructions, and the figure that two counts become."""

from __future__ import annotations

import pytest

from bench import instructions
from bench.instructions import REQUESTED, feed, read_count
from fakemq.events import Acknowledged, Delivered, LogAppended, Popped, RequestHandled
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.v5.codes import RequestCode5

COUNT = 32


@pytest.mark.parametrize("name", REQUESTED)
def test_feed_answers_each_request(name: str) -> None:
    journal = feed(name, COUNT, 2 * COUNT).broker.journal
    handled = journal.find(RequestHandled)
    assert {one.response_code for one in handled} == {ResponseCode.SUCCESS}
    assert {one.code for one in handled[-COUNT:]} == {_CODES[name.partition(" ")[0].rstrip(",")]}
    if name.startswith("pull"):
        offsets = [one.offsets for one in journal.find(Delivered)]
        assert [len(one) for one in offsets] == [instructions.PULLED] * COUNT
    elif name.startswith("pop"):
        assert [one.count for one in journal.find(Popped)] == [1] * COUNT
    elif name.startswith("ack"):
        assert [one.has_effect for one in journal.find(Acknowledged)] == [True] * COUNT
    else:
        members = instructions.BATCHED if name.startswith("batch") else 1
        assert len(journal.find(LogAppended)) == COUNT * members


_CODES = {
    "send": RequestCode.SEND_MESSAGE_V2,
    "batch": RequestCode.SEND_BATCH_MESSAGE,
    "pull": RequestCode.PULL_MESSAGE,
    "pop": RequestCode5.POP_MESSAGE,
    "ack": RequestCode5.ACK_MESSAGE,
}


def test_instructions_leave_out_what_a_program_takes_without_requests() -> None:
    def run(name: str, count: int, most: int) -> int:
        assert most == 2 * instructions.REQUESTS
        return 1_000_000 + 7_000 * count + 5 * most

    assert instructions.instructions("send, JSON", run) == 7_000


def test_count_is_read_from_what_valgrind_prints() -> None:
    assert read_count("==7== \n==7== I   refs:      1,357,398,815\n") == 1_357_398_815
    with pytest.raises(ValueError, match="no count"):
        read_count("valgrind: command line is wrong")
