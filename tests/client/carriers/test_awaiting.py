"""The worker that awaits a listener."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.consuming.received import RECONSUME_LATER, Listener, ReceivedMessage
from fakemq.client.consuming.settings import PushSettings
from tests.support.played_broker import GROUP, PlayedBroker

Messages = Sequence[ReceivedMessage]


class Listening:
    """A consumer with an async listener, which fails for bodies in ``failing``."""

    def __init__(self, *, ordered: bool = False, error: type[BaseException] = ValueError) -> None:
        self.broker = PlayedBroker()
        self.carrier = self.broker.carrier
        self.consumed: list[bytes] = []
        self.failing: list[bytes] = []
        self.error = error
        settings = PushSettings(group=GROUP, subscribe={"orders": "*"}, ordered=ordered)
        services = self.broker.services()
        self.core = PushConsumerCore(services, settings, cast("Listener", self.listen))

    async def listen(self, messages: Messages) -> object:
        body = messages[0].body
        self.consumed.append(body)
        if body in self.failing:
            self.failing.remove(body)
            raise self.error("no")
        return RECONSUME_LATER if body == b"later" else None

    def start(self, *bodies: bytes) -> None:
        for one in bodies:
            self.broker.put(one)
        self.carrier.run(self.core.start())


@pytest.mark.parametrize("ordered", [False, True])
def test_coroutine_function_is_awaited(ordered: bool) -> None:
    lab = Listening(ordered=ordered)
    lab.start(b"0", b"1", b"2")
    assert lab.consumed == [b"0", b"1", b"2"]
    lab.carrier.run(lab.core.shutdown())
    assert lab.broker.committed() == 3


@pytest.mark.parametrize("error", [SystemExit, pytest.fail.Exception])
def test_any_error_of_the_user_sends_back_with_one_line_in_the_log(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    lab = Listening(error=error)
    lab.failing.append(b"1")
    lab.start(b"0", b"1", b"2")
    assert lab.consumed == [b"0", b"1", b"2"]
    assert [one.offset for one in lab.broker.sent_back] == [1_000]
    assert [one.getMessage()[:24] for one in caplog.records] == ["consumeMessage exception"]


def test_many_batches_are_awaited_in_one_call_of_the_carrier() -> None:
    lab = Listening()
    lab.carrier.performs_at_once = False
    lab.start(*(b"%d" % one for one in range(30)))
    assert len(lab.carrier.performing) == 1
    lab.carrier.perform_next()
    assert len(lab.consumed) == 30


def test_failures_of_a_coroutine_function_are_sent_back() -> None:
    lab = Listening()
    lab.failing.append(b"bad")
    lab.start(b"0", b"bad", b"later", b"3")
    assert lab.consumed == [b"0", b"bad", b"later", b"3"]
    assert [one.offset for one in lab.broker.sent_back] == [1_000, 2_000]


def test_ordered_queue_of_a_coroutine_function_waits_after_a_failure() -> None:
    lab = Listening(ordered=True)
    lab.failing.append(b"bad")
    lab.start(b"0", b"bad", b"2")
    assert lab.consumed == [b"0", b"bad"]
    lab.carrier.advance(1_000)
    assert lab.consumed == [b"0", b"bad", b"bad", b"2"]


def test_call_that_is_cancelled_is_not_taken_for_a_success() -> None:
    lab = Listening(error=asyncio.CancelledError)
    lab.failing.append(b"0")
    lab.start(b"0")
    assert len(lab.broker.sent_back) == 1
