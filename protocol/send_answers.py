"""The answer to a send, made of few pieces: most of its bytes are those of the answer before.

Source: remoting/protocol/header/SendMessageResponseHeader.java (4.9.7, 5.5.0)
"""

from __future__ import annotations

import struct
from typing import Final, TypeAlias

from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand, SerializeType
from fakemq.protocol.frame import encode_frame_start
from fakemq.protocol.header_binary import LENGTHS, key_text
from fakemq.protocol.header_json import encode_json_header
from fakemq.protocol.layout.codecs import FRAME_HEAD
from fakemq.protocol.properties import MSG_REGION, TRACE_SWITCH

SendAnswer: TypeAlias = "tuple[str, int, int, str, AnswerMarks]"
"""The offset ids, the queue, the queue offset of the first record, the unique key ("": none, as in
4.9.7), and what all answers of the broker have."""

_HEAD_BYTES: Final = FRAME_HEAD.size
_LENGTH_BYTES: Final = 4
_MSG_ID: Final = key_text("msgId")
_QUEUE_ID: Final = key_text("queueId")
_QUEUE_OFFSET: Final = key_text("queueOffset")
_TRANSACTION_ID: Final = key_text("transactionId")
_START: Final = struct.Struct(">hbh")
_pack_middle: Final = struct.Struct(">iiII").pack
"""The opaque, the flag, the lengths of remark and fields."""
_FLAG: Final = FLAG_RESPONSE
_LONG: Final = len(LENGTHS)
"""As the ids of a batch may be."""
_JSON: Final = int(SerializeType.JSON)
_ROCKETMQ: Final = int(SerializeType.ROCKETMQ)
_heads: Final[dict[int, bytes]] = {}
"""The starts of frames by the size of their header, negative for a binary one."""
_HEADS_MAX: Final = 1024


class AnswerMarks:
    """What all answers of a broker to sends have: region, trace switch, version.

    Answers of 5.5.0 are always JSON (``in_json``).
    """

    __slots__ = ("_binary", "_json", "in_json", "region_id", "trace", "version")

    def __init__(self, region_id: str, trace_on: bool, version: int, *, in_json: bool) -> None:
        self.region_id = region_id
        self.trace = "true" if trace_on else "false"
        self.version = version
        self.in_json = in_json
        # By code; few codes answer a send.
        self._json: dict[int, tuple[str, str, str, str, str]] = {}
        self._binary: dict[int, tuple[bytes, bytes]] = {}

    def json_form(self, code: int) -> tuple[str, str, str, str, str]:
        """Return what stands around the values that change, but for the unique key."""
        form = self._json.get(code)
        if form is None:
            fields = send_answer_fields(("?", 0, 0, "", self)) | {
                "queueId": "?",
                "queueOffset": "?",
            }
            command = RemotingCommand(code, fields, flag=FLAG_RESPONSE, version=self.version)
            # The region may have any characters, but stands behind the places.
            start, after_id, after_queue, rest = encode_json_header(command).decode().split("?", 3)
            fields_end, _, end = rest.rpartition('},"flag":1,"language":"JAVA","opaque":0')
            form = start, after_id, after_queue, fields_end, end
            self._json[code] = form
        return form

    def binary_form(self, code: int) -> tuple[bytes, bytes]:
        """Return the first fields of the header, and the ext fields that do not change."""
        form = self._binary.get(code)
        if form is None:
            marks = {MSG_REGION: self.region_id, TRACE_SWITCH: self.trace}
            command = RemotingCommand(code, marks, serialize_type=SerializeType.ROCKETMQ)
            fields = encode_frame_start(command, 0)[_HEAD_BYTES + _START.size + 16 :]
            form = _START.pack(code, 0, self.version), fields
            self._binary[code] = form
        return form


def send_answer_fields(answer: SendAnswer) -> dict[str, str]:
    """Return the ext fields of an answer."""
    msg_id, queue_id, queue_offset, unique_key, marks = answer
    fields = {
        "msgId": msg_id,
        "queueId": str(queue_id),
        "queueOffset": str(queue_offset),
        MSG_REGION: marks.region_id,
        TRACE_SWITCH: marks.trace,
    }
    if unique_key:
        fields["transactionId"] = unique_key
    return fields


def encode_send_answer(
    answer: SendAnswer, code: int, opaque: int, serialize_type: SerializeType
) -> bytes:
    """Return the frame of an answer; ``serialize_type`` is that of its request."""
    msg_id, queue_id, queue_offset, unique_key, marks = answer
    # A client's key may have any characters.
    usual = not unique_key or (unique_key.isascii() and unique_key.isalnum())
    binary = serialize_type == _ROCKETMQ and not marks.in_json
    if not usual or len(msg_id) >= _LONG or len(unique_key) >= _LONG:
        command = RemotingCommand(
            code,
            send_answer_fields(answer),
            flag=FLAG_RESPONSE,
            opaque=opaque,
            version=marks.version,
            serialize_type=SerializeType.ROCKETMQ if binary else SerializeType.JSON,
        )
        return encode_frame_start(command, 0)
    if binary:
        start, same = marks.binary_form(code)
        queue, offset = str(queue_id), str(queue_offset)
        fields = (
            f"{_MSG_ID}{LENGTHS[len(msg_id)]}{msg_id}{_QUEUE_ID}{LENGTHS[len(queue)]}{queue}"
            f"{_QUEUE_OFFSET}{LENGTHS[len(offset)]}{offset}"
        ).encode("ascii") + same
        if unique_key:
            fields += f"{_TRANSACTION_ID}{LENGTHS[len(unique_key)]}{unique_key}".encode("ascii")
        header = start + _pack_middle(opaque, _FLAG, 0, len(fields)) + fields
    else:
        begin, after_id, after_queue, fields_end, end = marks.json_form(code)
        key = f',"transactionId":"{unique_key}"' if unique_key else ""
        header = (
            f"{begin}{msg_id}{after_id}{queue_id}{after_queue}{queue_offset}{fields_end}{key}"
            f'}},"flag":1,"language":"JAVA","opaque":{opaque}{end}'
        ).encode()
    size = len(header)
    head = _heads.get(-size if binary else size)
    if head is None:
        length = _HEAD_BYTES - _LENGTH_BYTES + size
        head = FRAME_HEAD.pack(length, _ROCKETMQ if binary else _JSON, size >> 16, size & 0xFFFF)
        if len(_heads) < _HEADS_MAX:
            _heads[-size if binary else size] = head
    return head + header
