"""Responses that are written at once have the bytes of the general encoder."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.frame import encode_frame_start, encode_json_answer
from fakemq.protocol.limits import FRAME_MAX_BYTES

TEXTS = st.text() | st.sampled_from(['{}"opaque":0', "\\%d%%", "FOUND"])


@given(
    code=st.sampled_from([0, 1, 209, 500]),
    fields=st.dictionaries(TEXTS, TEXTS, max_size=3),
    opaque=st.integers(-(2**31), 2**31 - 1),
    remark=st.none() | TEXTS,
    version=st.sampled_from([407, 477, 513]),
    body_bytes=st.integers(0, 2_000),
)
def test_answer_in_json_has_the_bytes_of_the_general_encoder(
    code: int,
    fields: dict[str, str],
    opaque: int,
    remark: str | None,
    version: int,
    body_bytes: int,
) -> None:
    command = RemotingCommand(
        code, fields, flag=FLAG_RESPONSE, opaque=opaque, remark=remark, version=version
    )
    written = encode_json_answer(code, fields, opaque, remark, version, body_bytes)
    assert written == encode_frame_start(command, body_bytes)


def test_odd_answer_is_left_to_the_general_encoder() -> None:
    for fields, remark, body_bytes in (
        ({"group": "\ud800"}, None, 0),
        ({}, "x" * 1_000, 0),
        ({}, None, FRAME_MAX_BYTES),
    ):
        assert encode_json_answer(0, fields, 1, remark, 513, body_bytes) is None
