"""Channels: requests and their responses, time-outs, ends, limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.client.carriers.connections import (
    CONNECT_TIMEOUT_MS,
    IDLE_MS,
    SEND_BYTES,
    ChannelState,
)
from fakemq.client.errors import (
    MQClientError,
    RemotingConnectError,
    RemotingSendRequestError,
    RemotingTimeoutError,
    RemotingTooMuchRequestError,
)
from fakemq.client.operation import Call
from fakemq.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE, RemotingCommand
from tests.support.channel_lab import ADDR, ChannelLab, Outcome, Peer, codes


def test_requests_wait_until_the_channel_is_open() -> None:
    lab = ChannelLab()
    first, second = lab.request(1), lab.request(2)
    (peer,) = lab.connected
    assert peer.read() == []
    peer.channel.opened()
    requests = peer.read()
    assert [one.code for one in requests] == [1, 2]
    peer.answer(*reversed(requests))
    assert codes([first, second]) == [1, 2]


def test_requests_of_one_turn_are_written_together() -> None:
    lab = ChannelLab()
    peer = lab.open()
    lab.to_write.clear()
    for code in (1, 2, 3):
        lab.request(code)
    assert lab.to_write == [peer.channel]
    data = peer.channel.data_to_send()
    peer.channel.data_sent(len(data))
    assert not peer.channel.data_to_send()
    assert peer.channel.unsent_bytes == 0


def test_one_write_takes_a_limited_number_of_bytes() -> None:
    lab = ChannelLab(unsent_limit=1 << 24)
    peer = lab.open()
    for _ in range(5):
        command = RemotingCommand(1, body=bytes(SEND_BYTES // 2))
        lab.connections.request(Call(ADDR, command, 1_000), lambda outcome: None)
    assert SEND_BYTES < len(peer.channel.data_to_send()) < 2 * SEND_BYTES
    assert len(peer.read()) == 5


def test_each_address_has_its_channel() -> None:
    lab = ChannelLab()
    for addr in ("a:1", "b:1", "a:1"):
        lab.request(addr=addr)
    assert [peer.channel.addr for peer in lab.connected] == ["a:1", "b:1"]


def test_oneway_ends_when_it_can_be_sent() -> None:
    lab = ChannelLab()
    waiting = lab.request(oneway=True)
    assert waiting == []
    lab.connected[0].channel.opened()
    assert waiting == [None]
    assert lab.request(oneway=True) == [None]


def test_oneway_fails_with_its_connection() -> None:
    lab = ChannelLab()
    waiting = lab.request(oneway=True)
    lab.connected[0].channel.connect_failed()
    assert codes([waiting]) == [RemotingConnectError]


@pytest.mark.parametrize("opaque_off", [1, -1, 1 << 30])
def test_response_with_a_wrong_opaque_is_ignored(opaque_off: int) -> None:
    lab = ChannelLab()
    peer = lab.open()
    outcome = lab.request()
    (request,) = peer.read()
    peer.send(RemotingCommand(9, flag=FLAG_RESPONSE, opaque=request.opaque + opaque_off))
    assert outcome == []
    peer.answer(request)
    peer.answer(request)
    assert codes([outcome]) == [1]


# -- time -----------------------------------------------------------------------------------------


def test_late_response_closes_the_channel_and_fails_the_others() -> None:
    lab = ChannelLab()
    peer = lab.open()
    late, other = lab.request(timeout_ms=1_000), lab.request(timeout_ms=5_000)
    lab.advance(999)
    assert codes(lab.outcomes[1:]) == []
    lab.advance(1)
    assert codes([late, other]) == [RemotingTimeoutError, RemotingSendRequestError]
    assert lab.disconnected == [peer.channel]
    assert lab.timers == []


def test_time_out_counts_from_each_request() -> None:
    lab = ChannelLab()
    peer = lab.open()
    for _ in range(20):
        lab.advance(400)
        lab.request(timeout_ms=1_000)
        peer.answer(*peer.read())
    last = lab.request(timeout_ms=1_000)
    peer.read()
    lab.advance(999)
    assert last == []
    lab.advance(10)
    assert codes([last]) == [RemotingTimeoutError]


def test_shorter_time_out_is_noticed_before_a_longer_one() -> None:
    lab = ChannelLab()
    lab.open()
    lab.request(timeout_ms=30_000)
    short = lab.request(timeout_ms=20)
    lab.advance(20)
    assert codes([short]) == [RemotingTimeoutError]


def test_request_that_is_late_before_the_connection_is_never_sent() -> None:
    lab = ChannelLab()
    late, other = lab.request(1, timeout_ms=100), lab.request(2)
    lab.advance(100)
    assert codes([late, other]) == [RemotingTimeoutError]
    (peer,) = lab.connected
    peer.channel.opened()
    requests = peer.read()
    assert [one.code for one in requests] == [2]
    peer.answer(*requests)
    assert codes([other]) == [2]


def test_connect_has_its_own_time_out() -> None:
    lab = ChannelLab()
    outcome = lab.request(timeout_ms=30_000)
    lab.advance(CONNECT_TIMEOUT_MS - 1)
    assert outcome == []
    lab.advance(1)
    assert codes([outcome]) == [RemotingConnectError]
    assert lab.disconnected == [lab.connected[0].channel]


def test_idle_channel_is_closed() -> None:
    lab = ChannelLab()
    peer = lab.open()
    lab.advance(IDLE_MS - 1)
    lab.request(oneway=True)
    peer.read()
    lab.advance(IDLE_MS - 1)
    assert lab.disconnected == []
    lab.advance(1)
    assert lab.disconnected == [peer.channel]
    assert lab.timers == []


def test_channel_to_a_peer_that_reads_nothing_is_idle() -> None:
    lab = ChannelLab()
    peer = lab.open()
    lab.advance(1)
    lab.request(oneway=True)
    assert peer.channel.data_to_send()
    lab.advance(IDLE_MS)
    assert lab.disconnected == [peer.channel]


# -- ends -----------------------------------------------------------------------------------------


def test_lost_channel_is_replaced() -> None:
    lab = ChannelLab()
    peer = lab.open()
    outcome = lab.request()
    peer.channel.lost()
    peer.channel.lost()
    assert codes([outcome]) == [RemotingSendRequestError]
    assert len(lab.connections) == 0
    again = lab.request(7)
    lab.connected[-1].channel.opened()
    lab.connected[-1].answer(*lab.connected[-1].read())
    assert codes([again]) == [7]


def test_request_from_a_failing_reply_opens_another_channel() -> None:
    lab = ChannelLab()

    def reply(outcome: Outcome) -> None:
        assert isinstance(outcome, RemotingConnectError)
        lab.request(2)

    lab.connections.request(Call(ADDR, RemotingCommand(1), 1_000), reply)
    lab.connected[0].channel.connect_failed()
    assert len(lab.connected) == 2
    assert lab.connected[1].channel.state is ChannelState.CONNECTING


def broken(_: Outcome) -> None:
    raise ValueError("cannot take it")


def test_reply_that_raises_keeps_no_other_from_its_outcome(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab = ChannelLab()
    for addr in ("a:1", "b:1", "c:1", "d:1"):
        lab.connections.request(Call(addr, RemotingCommand(1), 1_000), broken)
    others = [lab.request(2, addr=f"{name}:1", timeout_ms=1_000) for name in "abcd"]
    answering, losing, failing, late = lab.connected
    answering.channel.opened()
    losing.channel.opened()
    late.channel.opened()
    answering.answer(*answering.read())
    losing.channel.lost()
    failing.channel.connect_failed()
    lab.advance(1_000)
    assert codes(others) == [
        *(2, RemotingSendRequestError, RemotingConnectError, RemotingTimeoutError)
    ]
    assert len(caplog.records) == 4


def test_oneway_reply_that_raises_keeps_no_other_from_its_outcome() -> None:
    lab = ChannelLab()
    lab.connections.request(Call(ADDR, RemotingCommand(1, flag=FLAG_ONEWAY), 1_000), broken)
    other = lab.request(oneway=True)
    lab.connected[0].channel.opened()
    assert other == [None]


def test_close_fails_requests_and_refuses_others() -> None:
    lab = ChannelLab()
    lab.open("a:1")
    open_one, connecting = lab.request(addr="a:1"), lab.request(addr="b:1")
    lab.connections.close()
    assert codes([open_one, connecting]) == [RemotingSendRequestError] * 2
    assert codes([lab.request()]) == [MQClientError]
    assert lab.timers == []
    assert len(lab.disconnected) == 2


@pytest.mark.parametrize("addr", ["nonsense", "a:x", ":1", "a:65536", "\udcff:1"])
def test_invalid_address_is_a_failed_connect(addr: str) -> None:
    lab = ChannelLab()
    assert codes([lab.request(addr=addr)]) == [RemotingConnectError]
    assert lab.connected == []


# -- limits ---------------------------------------------------------------------------------------


def large(lab: ChannelLab, body_bytes: int) -> list[object]:
    outcome: list[object] = []
    command = RemotingCommand(1, body=bytes(body_bytes))
    lab.connections.request(Call(ADDR, command, 1_000), outcome.append)
    return outcome


@pytest.mark.parametrize("is_open", [True, False])
def test_requests_for_a_peer_that_does_not_read_are_refused(is_open: bool) -> None:
    lab = ChannelLab(unsent_limit=10_000)
    if is_open:
        lab.open()
    accepted, refused = large(lab, 9_000), large(lab, 2_000)
    assert accepted == []
    (error,) = refused
    assert isinstance(error, RemotingTooMuchRequestError)
    peer = lab.connected[0]
    peer.channel.opened()
    peer.read()
    assert large(lab, 2_000) == []


def test_single_request_may_exceed_the_limit() -> None:
    lab = ChannelLab(unsent_limit=10)
    lab.open()
    assert large(lab, 1_000) == []


def test_request_that_fits_no_frame_is_refused() -> None:
    lab = ChannelLab()
    peer = lab.open()
    (error,) = large(lab, 17 << 20)
    assert isinstance(error, MQClientError)
    assert peer.read() == []
    assert peer.channel.state is ChannelState.OPEN


# -- any order ------------------------------------------------------------------------------------

STEPS = st.one_of(
    st.tuples(
        st.just("request"), st.sampled_from(["a:1", "b:1"]), st.integers(0, 5_000), st.booleans()
    ),
    st.tuples(st.sampled_from(["opened", "failed", "lost", "answer"]), st.integers(0, 5)),
    st.tuples(st.just("garbage"), st.integers(0, 5), st.binary(max_size=20)),
    st.tuples(st.just("advance"), st.integers(0, 4_000)),
)


@given(st.lists(STEPS, max_size=40))
def test_every_request_has_one_outcome(steps: list[tuple[object, ...]]) -> None:
    lab = ChannelLab()
    limits_ms: list[int] = []
    for step in steps:
        match step:
            case ("request", str(addr), int(timeout_ms), bool(oneway)):
                lab.request(addr=addr, timeout_ms=timeout_ms, oneway=oneway)
                limits_ms.append(lab.now_ms + timeout_ms)
            case ("advance", int(ms)):
                lab.advance(ms)
            case (str(name), int(number), *data) if number < len(lab.connected):
                play(lab.connected[number], name, data)
            case _:
                pass
        for outcome, limit_ms in zip(lab.outcomes, limits_ms, strict=True):
            assert len(outcome) <= 1
            assert outcome or lab.now_ms <= limit_ms + 5, "late by more than the grain"
    lab.advance(10_000)
    assert all(len(outcome) == 1 for outcome in lab.outcomes)
    lab.connections.close()
    assert lab.timers == []
    assert len(lab.disconnected) == len(lab.connected)


def play(peer: Peer, name: str, data: list[object]) -> None:
    channel = peer.channel
    if name == "opened":
        channel.opened()
    elif name == "failed":
        channel.connect_failed()
    elif name == "lost":
        channel.lost()
    elif channel.state is ChannelState.OPEN:
        if data:
            assert isinstance(data[0], bytes)
            channel.data_received(data[0])
        else:
            peer.answer(*peer.read())
