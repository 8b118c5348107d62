"""Requests of an honest session, and what can be wrong with them: bytes, made from a seed.

The frames are written by hand, not by the code under attack.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from conformance.wire import requests
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.v5.codes import RequestCode5
from tests.attack.honest_requests import (
    BODIES,
    BROKER,
    GROUP_FIELDS,
    ODD_BODIES,
    PLACE_FIELDS,
    TEMPLATES,
    TEMPLATES_5_5_0,
    TOPIC_FIELDS,
)
from tests.attack.hostile_names import NUMBERS, ODD_NUMBERS, HostileNames

RESPONSE, ONEWAY = 1, 2

_OFTEN = (
    *(RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_MESSAGE, RequestCode.SEND_BATCH_MESSAGE),
    *(RequestCode.SEND_REPLY_MESSAGE_V2, RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE),
    *(RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.END_TRANSACTION, RequestCode.QUERY_MESSAGE),
    *(RequestCode.VIEW_MESSAGE_BY_ID, RequestCode.QUERY_CONSUMER_OFFSET),
    *(RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ),
    *(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, RequestCode.GET_MAX_OFFSET),
    *(RequestCode.QUERY_CONSUME_QUEUE, RequestCode.QUERY_CORRECTION_OFFSET),
    *(RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.REGISTER_BROKER, RequestCode.PUT_KV_CONFIG),
)
"""Codes of which each attack has more: those of producers, consumers and brokers, which are quick.

The others are mostly an administrator's. Each change of a table writes it whole, as in 4.9.7.
"""
_OFTEN_5_5_0 = (
    *(RequestCode5.POP_MESSAGE, RequestCode5.ACK_MESSAGE, RequestCode5.BATCH_ACK_MESSAGE),
    *(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, RequestCode5.PEEK_MESSAGE),
    *(RequestCode5.NOTIFICATION, RequestCode5.QUERY_ASSIGNMENT, RequestCode5.RECALL_MESSAGE),
)
_UNKNOWN = (-1, 0, 1, 9, 999, 1000, 32767, -32768, 40_000, 2**31 - 1, -(2**31))
"""Codes that no table has; those over 16 bits need a header in JSON."""
_NO_INT32: tuple[object, ...] = (2**31, -(2**31) - 1, 10**30, 1.5, None, [], "x")
"""What no code can be: such a header ends the connection, as bytes that are no header do."""
_UPDATES = (RequestCode.UPDATE_BROKER_CONFIG, RequestCode.UPDATE_NAMESRV_CONFIG)
_OF_BROKERS = (
    *(RequestCode.REGISTER_BROKER, RequestCode.UNREGISTER_BROKER),
    *(RequestCode.WIPE_WRITE_PERM_OF_BROKER, RequestCode.ADD_WRITE_PERM_OF_BROKER),
)
_SENDS = (
    *(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE),
    *(RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2),
)
_PROPERTIES = (
    *("REAL_TOPIC", "REAL_QID", "DELAY", "TRAN_MSG", "PGROUP", "KEYS", "TAGS", "UNIQ_KEY", "WAIT"),
    *("RETRY_TOPIC", "ORIGIN_MESSAGE_ID", "CLUSTER", "REPLY_TO_CLIENT", "CORRELATION_ID", "TTL"),
    *("MIN_OFFSET", "MAX_OFFSET", "CONSUME_START_TIME", "TRANSACTION_CHECK_TIMES", "MSG_TYPE"),
    *("CHECK_IMMUNITY_TIME_IN_SECONDS", "TRAN_PREPARED_QUEUE_OFFSET", "INSTANCE_ID", "INNER_NUM"),
    *("TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS", "TIMER_OUT_MS", "TIMER_DEL_UNIQKEY"),
    *("__transactionId__", "_SYS_HOST", "MSG_REGION", "TRACE_ON", "UNIT", "ARRIVE_TIME", "", "a"),
)


@dataclass
class Form:
    """One request as its fields and body; mutations change them in place."""

    code: int
    fields: dict[str, Any]
    body: bytes = b""
    flag: int = 0
    opaque: int = 0
    version: int = 407
    language: Any = "JAVA"
    remark: Any = None

    def json_frame(self) -> bytes:
        header = {
            "code": self.code,
            "extFields": self.fields,
            "flag": self.flag,
            "language": self.language,
            "opaque": self.opaque,
            "remark": self.remark,
            "serializeTypeCurrentRPC": "JSON",
            "version": self.version,
        }
        return _framed(SerializeType.JSON, json.dumps(header).encode(), self.body)

    def binary_frame(self) -> bytes:
        """Return the frame with a binary header; struct.error for a number that does not fit."""
        remark = b"" if self.remark is None else _utf8(self.remark)
        fields = b"".join(
            struct.pack(">h", len(key)) + key + struct.pack(">i", len(value)) + value
            for key, value in ((_utf8(key), _utf8(value)) for key, value in self.fields.items())
        )
        header = struct.pack(">hbhiii", self.code, 0, self.version, self.opaque, self.flag,
                             len(remark))  # fmt: skip
        header += remark + struct.pack(">i", len(fields)) + fields
        return _framed(SerializeType.ROCKETMQ, header, self.body)


def _utf8(value: object) -> bytes:
    return str(value).encode("utf-8", "surrogatepass")


def _framed(kind: int, header: bytes, body: bytes) -> bytes:
    size = 4 + len(header) + len(body)
    return struct.pack(">ii", size, kind << 24 | len(header)) + header + body


class HostileFrames:
    """Makes frames; all of one object come from one ``random``.

    ``places`` are offsets of messages in the broker's log. With ``spares_all`` the frames use no
    power that a peer has by right: they change no config, and name no broker of the cluster. So
    an honest client beside them must not fail.
    """

    def __init__(
        self,
        random: Random,
        names: HostileNames,
        places: Sequence[int],
        spares_all: bool,
        reference: str = "4.9.7",
    ) -> None:
        self._random, self._names, self._places = random, names, places or [0]
        self._spares_all = spares_all
        self._opaque = 0
        is_5_5_0 = reference == "5.5.0"
        self._templates = TEMPLATES_5_5_0 if is_5_5_0 else TEMPLATES
        self._codes = tuple(self._templates)
        self._often = (*_OFTEN, *(_OFTEN_5_5_0 if is_5_5_0 else ()))

    def frame(self) -> bytes:
        """Return one frame that a decoder accepts; its contents are another matter."""
        random = self._random
        form = self._form()
        for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3, 6))):
            random.choice(_MUTATIONS)(self, form)
        if random.random() < 0.02:
            form.code = random.choice(_UNKNOWN)
        if self._spares_all:
            self._spare(form)
        if random.random() < 0.5 and -32768 <= form.code <= 32767:
            try:
                return form.binary_frame()
            except struct.error:
                pass
        return form.json_frame()

    def broken(self) -> bytes:
        """Return bytes that are no frame, or not a whole one."""
        random, frame = self._random, bytearray(self.frame())
        match random.randrange(9):
            case 8:
                form = self._form()
                setattr(form, random.choice(("code", "opaque", "flag")), random.choice(_NO_INT32))
                return form.json_frame()
            case 0:
                return bytes(frame[: random.randrange(len(frame))])
            case 1:
                frame[:4] = random.choice(
                    (b"\xff\xff\xff\xff", bytes(4), b"\0\0\0\3", b"\x7f\0\0\0")
                )
            case 2:
                frame[4:8] = random.randbytes(4)
            case 3:
                for _ in range(random.randint(1, 8)):
                    frame[random.randrange(8, len(frame))] = random.randrange(256)
            case 4:
                return random.choice(
                    (b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
                )
            case 5:
                return b"\x16\x03\x01" + random.randbytes(200)
            case 6:
                return random.randbytes(random.randint(1, 3000))
            case 7:
                size = int.from_bytes(frame[:4]) + random.choice((-1, 1, 7))
                frame[:4] = size.to_bytes(4)
        return bytes(frame)

    def last(self, opaque: int) -> bytes:
        """Return a request with an answer on each port, by which an attacker knows the end."""
        fields = {"topic": "None"}
        return Form(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields, opaque=opaque).json_frame()

    # -- an honest request ----------------------------------------------------------------------

    def _form(self) -> Form:
        random = self._random
        code = random.choice(self._often if random.random() < 0.75 else self._codes)
        fields, body = random.choice(self._templates[code])
        self._opaque += 1
        form = Form(code, fields.copy(), body, opaque=self._opaque)
        for name in fields:
            if name in TOPIC_FIELDS or (name == "b" and code in _SENDS):
                form.fields[name] = random.choice(self._names.topics)
            elif name in GROUP_FIELDS:
                form.fields[name] = random.choice(self._names.groups)
            elif name in PLACE_FIELDS:
                form.fields[name] = str(random.choice(self._places))
        return form

    def _spare(self, form: Form) -> None:
        if form.code in _UPDATES:
            form.body = random_text(self._random).encode("utf-8", "surrogatepass")
        elif form.code in _OF_BROKERS and form.fields.get("brokerName") in (BROKER, None):
            form.fields["brokerName"] = "broker-hostile"

    # -- what can be wrong ------------------------------------------------------------------------

    def _drop_field(self, form: Form) -> None:
        if form.fields:
            del form.fields[self._random.choice(list(form.fields))]

    def _odd_name(self, form: Form) -> None:
        if form.fields:
            form.fields[self._random.choice(list(form.fields))] = self._names.of(self._random)

    def _odd_number(self, form: Form) -> None:
        numbers = [name for name, value in form.fields.items() if str(value).lstrip("-").isdigit()]
        if numbers:
            form.fields[self._random.choice(numbers)] = self._random.choice(NUMBERS)

    def _odd_type(self, form: Form) -> None:
        if form.fields:
            odd: object = self._random.choice(
                (None, True, [], {}, [1, {}], {"a": {}}, 1.5, 2**70, "", "x")
            )
            form.fields[self._random.choice(list(form.fields))] = odd

    def _swap_fields(self, form: Form) -> None:
        if len(form.fields) > 1:
            one, other = self._random.sample(list(form.fields), 2)
            form.fields[one], form.fields[other] = form.fields[other], form.fields[one]

    def _more_fields(self, form: Form) -> None:
        random = self._random
        for _ in range(random.choice((1, 1, 2, 50))):
            form.fields[self._names.of(random)[:200]] = random.choice(NUMBERS)

    def _other_fields(self, form: Form) -> None:
        form.fields |= self._random.choice(self._templates[self._random.choice(self._codes)])[0]

    def _properties(self, form: Form) -> None:
        random = self._random
        if form.code not in _SENDS:
            return
        pairs = {}
        for _ in range(random.randint(1, 4)):
            value = random.choice(NUMBERS) if random.random() < 0.3 else self._names.of(random)
            pairs[random.choice(_PROPERTIES)] = value
        name = "properties" if "properties" in form.fields else "i"
        form.fields[name] = requests.properties(**pairs)
        if random.random() < 0.5:
            name = "sysFlag" if "sysFlag" in form.fields else "f"
            form.fields[name] = str(random.choice((0, 1, 2, 4, 8, 12, 16, 32, 64, 4 | 1, 0x700)))

    def _header(self, form: Form) -> None:
        random = self._random
        match random.randrange(5):
            case 0:
                form.flag = random.choice((RESPONSE, ONEWAY, 3, 4, -1, 2**31 - 1))
            case 1:
                form.opaque = random.choice((0, -1, 2**31 - 1, -(2**31), 1))
            case 2:
                form.version = random.choice((0, -1, 1, 513, 32767))
            case 3:
                form.language = random.choice(("GO", "", "java", "7", None, "X" * 50))
            case 4:
                form.remark = self._names.of(random)

    def _oneway(self, form: Form) -> None:
        form.flag = ONEWAY

    def _cut_body(self, form: Form) -> None:
        form.body = form.body[: self._random.randrange(len(form.body) + 1)]

    def _flip_body(self, form: Form) -> None:
        if form.body:
            flipped = bytearray(form.body)
            for _ in range(self._random.randint(1, 6)):
                flipped[self._random.randrange(len(flipped))] = self._random.randrange(256)
            form.body = bytes(flipped)

    def _other_body(self, form: Form) -> None:
        form.body = self._random.choice(BODIES)

    def _odd_body(self, form: Form) -> None:
        form.body = self._random.choice(ODD_BODIES)

    def _odd_json(self, form: Form) -> None:
        try:
            value = json.loads(form.body)
        except (ValueError, RecursionError):
            return
        for _ in range(self._random.randint(1, 4)):
            value = self._bent(value)
        form.body = json.dumps(value).encode()

    def _bent(self, value: Any) -> Any:
        """Return a JSON value with something wrong somewhere below it."""
        random = self._random
        if isinstance(value, dict) and value and random.random() < 0.85:
            key = random.choice(list(value))
            match random.randrange(8):
                case 0:
                    return {one: below for one, below in value.items() if one != key}
                case 1:
                    return value | {random.choice(self._names.topics): value[key]}
                case _:
                    return value | {key: self._bent(value[key])}
        if isinstance(value, list) and value and random.random() < 0.85:
            at = random.randrange(len(value))
            if random.random() < 0.1:
                return value * random.choice((2, 20))
            return [*value[:at], self._bent(value[at]), *value[at + 1 :]]
        if isinstance(value, str) and random.random() < 0.6:
            return random.choice(self._names.topics)
        if isinstance(value, int | float) and random.random() < 0.6:
            return random.choice(ODD_NUMBERS)
        return random.choice((None, True, "", [], {}, [[]], "x", *ODD_NUMBERS))


def random_text(random: Random) -> str:
    """Return text of any characters."""
    alphabet = "ab=\n\r#!:\\ \tü\ud800\x00"
    return "".join(random.choice(alphabet) for _ in range(random.randrange(200)))


_MUTATIONS: tuple[Callable[[HostileFrames, Form], None], ...] = tuple(
    getattr(HostileFrames, name)
    for name in (
        *("_drop_field", "_odd_name", "_odd_name", "_odd_number", "_odd_number", "_odd_number"),
        *("_odd_type", "_swap_fields", "_more_fields", "_other_fields", "_properties"),
        *("_properties", "_header", "_oneway", "_cut_body", "_flip_body", "_other_body"),
        *("_odd_body", "_odd_json", "_odd_json", "_odd_json"),
    )
)
