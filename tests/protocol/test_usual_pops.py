"""Usual pops and acknowledgements are decoded in one step, and equal what the general one reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from fakemq.broker.v5.handlers.ack_message import ack_message
from fakemq.broker.v5.handlers.pop_message import pop_message
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import Connection
from fakemq.protocol.errors import HeaderError, NullFieldError
from fakemq.protocol.header import Header
from fakemq.protocol.headers.pop import AckMessageRequestHeader, PopMessageRequestHeader
from fakemq.protocol.usual_headers import UsualHeader
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.usual_headers import UsualAckHeader, UsualPopHeader

POP = {
    "consumerGroup": "workers",
    "topic": "orders",
    "queueId": "-1",
    "maxMsgNums": "32",
    "invisibleTime": "60000",
    "pollTime": "15000",
    "bornTime": "1795274194097",
    "initMode": "1",
    "expType": "TAG",
    "exp": "*",
    "order": "false",
    "bname": "broker-a",
}
ACK = {
    "consumerGroup": "workers",
    "topic": "orders",
    "queueId": "3",
    "extraInfo": "17 1795274194097 60000 1 0 broker-a 3 17",
    "offset": "17",
    "oway": "false",
}
TEXTS = st.sampled_from(["", "-0", "+7", "007", " 7", "1.0", "nan", "true", "True", "false"]) | (
    st.integers(-(2**64), 2**64).map(str)
)
HANDLERS = (pop_message, ack_message)
"""Their modules make these kinds known."""
KINDS: dict[RequestCode5, tuple[type[Header], type[UsualHeader], dict[str, str]]] = {
    RequestCode5.POP_MESSAGE: (PopMessageRequestHeader, UsualPopHeader, POP),
    RequestCode5.ACK_MESSAGE: (AckMessageRequestHeader, UsualAckHeader, ACK),
}


def received(code: int, fields: dict[str, str], *, usual: bool) -> RemotingCommand:
    """Return the only command that a connection reads. No binary header has such a code."""
    command = RemotingCommand(code, fields, b"body", opaque=5, version=513)
    (read,) = Connection(usual=usual).receive_data(Connection().encode(command))
    return read


def values(command: RemotingCommand) -> dict[str, object] | None:
    """Return what a handler reads of a command's header; None if it raises."""
    kind = KINDS[RequestCode5(command.code)][0]
    try:
        header = command.usual or kind.decode(command.ext_fields)
        return {name: getattr(header, name) for _, name, _ in kind.field_specs()}
    except (HeaderError, NullFieldError):
        return None


@pytest.mark.parametrize("code", KINDS)
def test_usual_request_of_pop_is_read_in_one_step(code: RequestCode5) -> None:
    _, usual, fields = KINDS[code]
    read = received(code, fields, usual=True)
    general = received(code, fields, usual=False)
    assert isinstance(read.usual, usual)
    assert read.ext_fields == {}
    assert values(read) == values(general)
    general.usual, general.ext_fields = read.usual, {}
    assert asdict(read) == asdict(general)


@given(
    st.sampled_from(list(KINDS)),
    st.dictionaries(st.sampled_from([*POP, *ACK, "attemptId", "lo", "other"]), TEXTS, max_size=3),
    st.sets(st.sampled_from([*POP, *ACK]), max_size=1),
)
def test_headers_of_pop_of_any_form_say_the_same(
    code: RequestCode5, other: dict[str, str], missing: set[str]
) -> None:
    fields = {name: text for name, text in (KINDS[code][2] | other).items() if name not in missing}
    read = received(code, fields, usual=True)
    assert values(read) == values(received(code, fields, usual=False))


def test_other_codes_that_begin_alike_are_left_to_the_general_decoder() -> None:
    for code in (200_052, 2_000_500, 2_000):
        read = received(code, POP, usual=True)
        assert read.code == code
        assert read.usual is None
        assert read.ext_fields == POP


def test_pop_in_order_is_left_to_the_general_decoder() -> None:
    fields = POP | {"order": "true"}
    read = received(RequestCode5.POP_MESSAGE, fields, usual=True)
    assert read.usual is None
    assert PopMessageRequestHeader.decode(read.ext_fields).order
