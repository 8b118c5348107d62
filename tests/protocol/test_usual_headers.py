"""Usual requests are decoded in one step, and equal what the general decoders read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand, SerializeType
from fakemq.protocol.connection import Connection
from fakemq.protocol.errors import HeaderError, NullFieldError, RemoteProtocolError
from fakemq.protocol.frame import encode_frame
from fakemq.protocol.header import Header
from fakemq.protocol.send_answers import AnswerMarks, encode_send_answer, send_answer_fields
from fakemq.protocol.usual_headers import USUAL, UsualHeader, UsualSendHeader
from tests.support.usual_requests import PULL, REQUESTS, SEND

ROWS = {row.code: row for row in table.rows()}
TEXTS = st.sampled_from(
    ["", "0", "-0", "7", "+7", "007", " 7", "1.0", "1e2", "nan", "null", "true", "True", "1_0", "٣"]
) | st.integers(-(2**64), 2**64).map(str)


def received(code: int, fields: dict[str, str], kind: SerializeType, *, usual: bool) -> object:
    """Return the only command that a connection reads, which was written by our own encoder."""
    command = RemotingCommand(code, fields, b"body", opaque=5, version=407, serialize_type=kind)
    (read,) = Connection(usual=usual).receive_data(Connection().encode(command))
    return read


def values(command: RemotingCommand) -> dict[str, object] | None:
    """Return what a handler reads of a command's header; None if it raises."""
    kind: type[Header] = ROWS[RequestCode(command.code)].request_header
    header: Header | UsualHeader
    try:
        if isinstance(command.usual, UsualHeader):
            header = command.usual
        else:
            header = kind.decode(command.ext_fields)
        found = {}
        for _, attribute, _ in kind.field_specs():
            found[attribute] = getattr(header, attribute)
        found["properties"] = found.get("properties") or ""
        found["reconsume_times"] = found.get("reconsume_times") or 0
    except (HeaderError, NullFieldError):
        return None
    return found


@pytest.mark.parametrize("kind", SerializeType)
@pytest.mark.parametrize("code", REQUESTS)
def test_usual_request_is_read_in_one_step(code: RequestCode, kind: SerializeType) -> None:
    read = received(code, REQUESTS[code], kind, usual=True)
    general = received(code, REQUESTS[code], kind, usual=False)
    assert isinstance(read, RemotingCommand)
    assert isinstance(general, RemotingCommand)
    assert isinstance(read.usual, USUAL[code])
    assert read.ext_fields == {}
    assert values(read) == values(general)
    general.usual, general.ext_fields = read.usual, {}
    assert asdict(read) == asdict(general)


@given(
    st.sampled_from(list(REQUESTS)),
    st.sampled_from(list(SerializeType)),
    st.dictionaries(st.sampled_from([*SEND, *PULL, "l", "other"]), TEXTS, max_size=3),
    st.sets(st.sampled_from([*SEND, *PULL]), max_size=1),
)
def test_headers_of_any_form_say_the_same(
    code: RequestCode, kind: SerializeType, other: dict[str, str], missing: set[str]
) -> None:
    fields = {name: text for name, text in (REQUESTS[code] | other).items() if name not in missing}
    read = received(code, fields, kind, usual=True)
    general = received(code, fields, kind, usual=False)
    assert isinstance(read, RemotingCommand)
    assert isinstance(general, RemotingCommand)
    assert values(read) == values(general)


@given(
    st.sampled_from(
        [
            *("version", "opaque", "flag", "language", "remark", "code", "usual"),
            *("body", "ext_fields", "serialize_type", "serializeTypeCurrentRPC"),
        ]
    ),
    st.sampled_from(
        [None, 7, 7.0, 1.5, "7", "7.0", "nan", "JAVA", "java", "9", 2**31, True, [], {}, SEND]
    ),
)
def test_fields_of_the_command_are_read_as_by_the_general_decoder(name: str, value: object) -> None:
    header = {"code": 310, "extFields": SEND, "flag": 0, "language": "JAVA", "opaque": 5}
    text = json.dumps({**header, name: value}).encode()
    frame = (len(text) + 4).to_bytes(4, "big") + len(text).to_bytes(4, "big") + text
    read: list[object] = []
    for usual in (True, False):
        try:
            (command,) = Connection(usual=usual).receive_data(frame)
        except RemoteProtocolError as error:
            read.append(str(error))
            continue
        seen = values(command) if command.code == 310 else command.ext_fields
        command.usual, command.ext_fields = None, {}
        read += [asdict(command), seen]
    assert read[: len(read) // 2] == read[len(read) // 2 :]


def test_odd_fields_are_left_to_the_general_decoder() -> None:
    for odd in ({"e": "3.0"}, {"zone": "x"}, {"k": "1"}, {"l": "16"}):
        read = received(RequestCode.SEND_MESSAGE_V2, SEND | odd, SerializeType.JSON, usual=True)
        assert isinstance(read, RemotingCommand)
        assert read.usual is None
        assert read.ext_fields == SEND | odd


def test_usual_header_knows_defaults() -> None:
    read = received(RequestCode.SEND_MESSAGE_V2, SEND, SerializeType.JSON, usual=True)
    assert isinstance(read, RemotingCommand)
    assert isinstance(read.usual, UsualSendHeader)
    assert read.usual.get("topic", "") == "orders"
    assert read.usual.get("nothing", "default") == "default"


@given(
    st.sampled_from(["7F00000100002A9F00000000000000AF", ",".join(["7F0A"] * 40)]),
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**63 - 1),
    st.text() | st.sampled_from(["FD00000000000000AF" * 2, "A" * 200]),
    st.builds(
        AnswerMarks,
        st.text() | st.sampled_from(['%d"opaque":0', "\\%s%%", "\ud800", "?", "é"]),
        st.booleans(),
        st.sampled_from([407, 513]),
        in_json=st.booleans(),
    ),
    st.sampled_from([0, 10, 11, 12]),
    st.integers(-(2**31), 2**31 - 1),
    st.sampled_from(SerializeType),
)
def test_answer_to_a_send_has_the_bytes_of_the_general_encoder(
    msg_id: str,
    queue_id: int,
    queue_offset: int,
    unique_key: str,
    marks: AnswerMarks,
    code: int,
    opaque: int,
    kind: SerializeType,
) -> None:
    answer = (msg_id, queue_id, queue_offset, unique_key, marks)
    command = RemotingCommand(
        code,
        ext_fields=send_answer_fields(answer),
        flag=FLAG_RESPONSE,
        opaque=opaque,
        version=marks.version,
        serialize_type=SerializeType.JSON if marks.in_json else kind,
    )
    for _ in range(2):  # what is the same is made once, and kept
        assert encode_send_answer(answer, code, opaque, kind) == encode_frame(command)
