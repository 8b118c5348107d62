"""Explains frames of the remoting protocol: head, header, and bodies of known forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from fakemq.decoding import records
from fakemq.decoding.fields import (
    BrokenError,
    Explained,
    Field,
    Problem,
    Title,
    shown,
    text_or_bytes,
)
from fakemq.decoding.walk import collected, walk
from fakemq.protocol import fastjson, table
from fakemq.protocol.codes import LanguageCode, RequestCode, ResponseCode, code_name
from fakemq.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE
from fakemq.protocol.errors import NumberFormatError, ProtocolError
from fakemq.protocol.frame import LENGTH_BYTES, frame_bytes
from fakemq.protocol.layout.frame import BinaryHeader, ExtField, Frame
from fakemq.protocol.limits import FILE_JSON, HEADER_MAX_BYTES
from fakemq.protocol.v5 import table as v5_table

JSON, ROCKETMQ = 0, 1


class Explainer:
    """Explains the frames of one connection, or of a file: a response by the request before it.

    ``requested`` has the code of each request by its opaque; the other direction of a connection
    fills it, too.
    """

    def __init__(self, requested: dict[int, int] | None = None) -> None:
        self.requested: dict[int, int] = {} if requested is None else requested

    def frames(self, data: bytes, start: int = 0, *, origin: int = 0) -> Explained[None]:
        """Explain frames one after another; raise BrokenError where no frame can begin."""
        number = 0
        while start < len(data):
            yield Title(origin + start, f"frame {number}")
            start = yield from self.frame(data, start, origin=origin)
            number += 1

    def frame(self, data: bytes, start: int, *, origin: int = 0) -> Explained[int]:
        """Explain one frame, and return where the next one begins."""
        if len(data) - start < LENGTH_BYTES:
            raise BrokenError(
                origin + start, f"{len(data) - start} bytes are left; a frame begins with 4"
            )
        try:
            size = frame_bytes(data[start : start + LENGTH_BYTES])
        except ProtocolError as error:
            raise BrokenError(origin + start, f"length: {error}") from None
        end = start + size
        whole = end <= len(data)
        stop = min(end, len(data))
        walked = collected(walk(Frame, data, start, stop, origin=origin))
        for field in walked.fields:
            if field.name not in ("header", "body"):
                yield field
            if field.name == "header_length":
                _check_head(field, walked.values, size)
        if "header" not in walked.values:
            assert walked.error is not None
            raise walked.error if whole else _cut(walked.error, size, stop - start)
        at = {field.name: field.offset - origin for field in walked.fields}
        values = walked.values
        header = values["header"]
        yield Field(origin + at["header"], len(header), "header", text_or_bytes(header))
        if values["serialize_type"] == JSON:
            command = yield from self._json_header(header, origin + at["header"])
        else:
            command = yield from self._binary_header(data, at["header"], len(header), origin)
        if walked.error is not None:
            raise walked.error if whole else _cut(walked.error, size, stop - start)
        yield from self._body(command, data, at["body"], end, origin)
        return end

    # -- headers ------------------------------------------------------------------------------

    def _json_header(self, header: bytes, at: int) -> Explained[dict[str, Any]]:
        try:
            command = msgspec.json.decode(header)
        except (msgspec.DecodeError, UnicodeDecodeError) as strict:
            try:
                command = fastjson.loads(header, FILE_JSON)
            except (ProtocolError, ValueError, RecursionError) as error:
                place = at + _position(strict, header)
                raise BrokenError(place, f"header: no JSON: {error}") from None
        if not isinstance(command, dict):
            raise BrokenError(at, f"header: expected a JSON object, not {type(command).__name__}")
        for name in ("code", "flag", "opaque", "version"):
            if not isinstance(command.get(name, 0), int):
                yield Problem(
                    at + _place(header, name), f"{name} is {command[name]!r}; expected a number"
                )
                command[name] = 0
        for name, value in command.items():
            if name == "extFields":
                continue
            note = self._note(name, value, command)
            yield Field(at + _place(header, name), 0, name, value, note, 1)
        fields = command.get("extFields") or {}
        if not isinstance(fields, dict):
            raise BrokenError(at + _place(header, "extFields"), "extFields: expected an object")
        yield Field(at + _place(header, "extFields"), 0, "extFields", len(fields), "fields", 1)
        begin = _place(header, "extFields")
        for name, value in fields.items():
            yield Field(at + _place(header, name, begin), 0, name, value, depth=2)
        yield from self._custom_header(command, fields, at)
        return {**command, "extFields": {name: str(value) for name, value in fields.items()}}

    def _binary_header(
        self, data: bytes, start: int, size: int, origin: int
    ) -> Explained[dict[str, Any]]:
        walked = collected(walk(BinaryHeader, data, start, start + size, depth=1, origin=origin))
        values = walked.values
        for field in walked.fields:
            note = field.note or self._note(field.name, field.value, values)
            if field.name != "ext_fields":
                yield field._replace(value=shown(field.value), note=note)
        if walked.error is not None:
            raise walked.error
        ext_at = walked.fields[-1].offset - origin
        fields: dict[str, str] = {}
        at, end = ext_at, ext_at + len(values["ext_fields"])
        while at < end:
            walked = collected(walk(ExtField, data, at, end, origin=origin))
            if walked.error is not None:
                raise walked.error
            entry = walked.values
            name, value = (entry[part].decode("utf-8", "replace") for part in ("key", "value"))
            size = 6 + len(entry["key"]) + len(entry["value"])
            yield Field(origin + at, size, name, value, depth=2)
            fields[name] = value
            at += size
        command = {"code": values["code"], "flag": values["flag"], "opaque": values["opaque"]}
        yield from self._custom_header(command, fields, origin + ext_at)
        return {**command, "extFields": fields}

    def _note(self, name: str, value: object, command: dict[str, Any]) -> str:
        if not isinstance(value, int):
            return ""
        if name == "code":
            flag = command.get("flag", 0)
            return _response_name(value) if flag & FLAG_RESPONSE else code_name(value)
        if name == "flag":
            kind = "response" if value & FLAG_RESPONSE else "request"
            return f"{kind}, one-way" if value & FLAG_ONEWAY else kind
        if name == "language" and value in list(LanguageCode):
            return LanguageCode(value).name
        return ""

    def _custom_header(
        self, command: dict[str, Any], fields: dict[str, Any], at: int
    ) -> Explained[None]:
        """Compare the ext fields with the header class of the code; remember a request."""
        code, flag, opaque = (command.get(name, 0) for name in ("code", "flag", "opaque"))
        if not flag & FLAG_RESPONSE:
            self.requested[opaque] = code
            header = _ROWS[code].request_header if code in _ROWS else None
        else:
            code = self.requested.get(opaque, -1)
            if code in _ROWS:
                yield Field(at, 0, "answers", code, code_name(code), 1)
            header = _ROWS[code].response_header if code in _ROWS else None
        if header is None or (flag & FLAG_RESPONSE and command.get("code") != ResponseCode.SUCCESS):
            return
        for wire, attribute, convert in header.field_specs():
            text = fields.get(wire)
            if text is None:
                if not hasattr(header, attribute):
                    yield Problem(at, f"{header.__name__} needs {wire}, which is not there")
                continue
            try:
                convert(str(text))
            except NumberFormatError:
                yield Problem(at, f"{wire} is {text!r}; {header.__name__} expects a number")

    # -- bodies -------------------------------------------------------------------------------

    def _body(
        self, command: dict[str, Any], data: bytes, start: int, end: int, origin: int
    ) -> Explained[None]:
        body = data[start:end]
        if not body:
            return
        yield Field(origin + start, len(body), "body", text_or_bytes(body))
        code, is_request = command.get("code"), not command.get("flag", 0) & FLAG_RESPONSE
        fields = command["extFields"]
        is_batch = code == RequestCode.SEND_BATCH_MESSAGE or (
            code in _SENDS and (fields.get("m") or fields.get("batch")) == "true"
        )
        if is_request and is_batch:
            yield from records.batch(data, start, end, depth=1, origin=origin)
        elif records.is_record(body):
            yield from records.records(data, start, end, depth=1, origin=origin)


_SENDS = (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2)
_ROWS = {int(row.code): row for row in (*v5_table.rows(), *table.rows())}


def _check_head(field: Field, values: dict[str, Any], size: int) -> None:
    length: int = values["header_length"]
    kind: int = values["serialize_type"]
    if kind not in (JSON, ROCKETMQ):
        raise BrokenError(
            field.offset - 1, f"serialize_type is {kind}; 0 (JSON) and 1 (ROCKETMQ) are known"
        )
    if length > HEADER_MAX_BYTES:
        raise BrokenError(
            field.offset, f"header_length is {length}; {HEADER_MAX_BYTES} is the most"
        )
    if length > size - 8:
        raise BrokenError(
            field.offset,
            f"header_length is {length}, but the frame has {size - 8} bytes behind its head",
        )


def _response_name(code: int) -> str:
    try:
        return ResponseCode(code).name
    except ValueError:
        return f"code {code}"


def _place(header: bytes, name: str, begin: int = 0) -> int:
    """Return where a name stands in the text of a JSON header; its begin if it is not found."""
    quoted = f'"{name}"'.encode()
    found = header.find(quoted + b":", begin)
    return max(0, found if found >= 0 else header.find(quoted, begin))


def _position(error: Exception, header: bytes) -> int:
    """Return the byte that a JSON error names; the end if there is too little."""
    if "truncated" in str(error):
        return len(header)
    words = str(error).rstrip(")").split()
    return int(words[-1]) if words and words[-1].isdecimal() else 0


def _cut(error: BrokenError, size: int, there: int) -> BrokenError:
    """Return what is wrong with a frame that ends before its length does."""
    text = f"the frame has {size} bytes by its length; {there} are there"
    return BrokenError(error.problem.offset, text)


def plausible_starts(data: bytes) -> Iterator[int]:
    """Return where whole frames may begin, for a capture that began in the middle of one."""
    for start in range(max(0, len(data) - 8)):
        head = data[start : start + 8]
        length, header = int.from_bytes(head[:4], "big"), int.from_bytes(head[5:8], "big")
        if head[4] in (JSON, ROCKETMQ) and 4 + header <= length <= 1 << 24 and header > 10:
            text = data[start + 8 : start + 9]
            if head[4] == ROCKETMQ or text == b"{":
                yield start
