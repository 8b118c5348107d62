"""Requests to every endpoint of the control port, made from its OpenAPI document.

Values are of the described types and of others, in range and beyond it; the JSON is damaged now and
then. Every answer must be a refusal or a result, never status 500, and the journal may have no
HandlerFailed.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import fakemq
from fakemq.events import HandlerFailed
from tests.attack.progress import with_progress
from tests.support.control import Http

OF_A_CLUSTER = 200
"""How many requests one cluster gets; then its topics, faults and snapshots would be too many."""
STATUSES = frozenset((200, 400, 403, 404, 405, 408, 409, 412, 413, 415, 501))

ERROR = re.compile(rb'\{"error":"[^"]')

NAMES = [
    *("orders", "later", "broker-a", "broker-a-0", "broker-a-1", "broker-z", "namesrv-0", "g"),
    *("TBW102", "%RETRY%g", "SCHEDULE_TOPIC_XXXX", "1", "2", "0", "-1", "9" * 30, "9" * 5000),
    *("a" * 300, "\0", "..", ".", "a b", "\u0663", "\xe9", "\U0001f600", "a\nb", "*", "null"),
]
RAW_SEGMENTS = [
    "%ff",
    "%ed%a0%80",
    "%2e%2e%2f%2e%2e%2fetc",
    "%",
    "%zz",
    "..%2f",
    "%00",
    "+",
    ";a=1",
]
NUMBERS = [
    *("0", "-0", "1", "2", "-1", "3", "0.5", "-0.0", "1e2", "1e-400", "2147483647", "2147483648"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e400", "1e308"),
    *("9" * 400, "9" * 5000, "NaN", "Infinity", "-Infinity", "01", "1.", "0x10", "1_000"),
]
TEXTS = [
    *(
        "",
        "orders",
        "g",
        "broker-a",
        "broker-a-1",
        "namesrv-0",
        "SEND_MESSAGE_V2",
        "TOPIC_NOT_EXIST",
    ),
    *("RW", "5s", "-1s", "1d", "nan", "1e9s", "9" * 41, "2024-02-29T12:00:00Z", "0001-01-01"),
    *(
        "9999-12-31T23:59:59.999+14:00",
        "delay_level",
        "before_reply",
        "log",
        "127.0.0.1:1",
        "64MiB",
    ),
    *(
        "\0",
        "\u0663",
        "\U0001f600",
        "a" * 3000,
        "SYNC_MASTER",
        "SLAVE",
        "Delivered",
        "topic=orders",
    ),
]
RAW_VALUES = [
    *(
        '"\\ud800"',
        '"\\udc00a"',
        "null",
        "true",
        "[]",
        "{}",
        "[[]]",
        '{"a":1,"a":2}',
        "[" * 100_000,
    ),
    *('{"a":' * 50_000, '"', "", "[1,]", '{"base64":"AAE="}', '{"base64":"?"}', "nul", "\ufeff1"),
]
SLOW = {
    "timeout": ("0", '"0s"', "-1", '"nan"', "1e400", '"x"'),
    "rate": ("-1", "0", "1", "2", "1e400"),
}
"""The values of fields with which a request might wait, or the clock run, for long."""
NEAR = ("0", '"1s"', '"250ms"', "-1", '"x"', "1e400", '"nan"')
"""Durations to advance by: those that end within milliseconds."""


class Requests:
    """Draws requests to the endpoints that a document describes."""

    def __init__(self, document: Any, random: Random) -> None:
        self._random = random
        self._schemas = document["components"]["schemas"]
        self._operations = [
            (method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            # A stream ends with its reader.
            if "text/event-stream" not in operation["responses"]["200"]["content"]
        ]

    def draw(self) -> tuple[str, str, bytes | None]:
        """Return method, target and body of a request."""
        random = self._random
        method, path, operation = random.choice(self._operations)
        query = []
        for parameter in operation["parameters"]:
            name = parameter["name"]
            if parameter["in"] == "path":
                path = path.replace(f"{{{name}}}", self._segment())
            elif random.random() < 0.5:
                text = self._json(parameter["schema"], name).strip('"')
                query.append(f"{name}={quote(text.encode('utf-8', 'surrogatepass'))[:5000]}")
        if random.random() < 0.05:
            query.append(random.choice(["a=1", "%ff=1", "limit=%ff", "&&=&", "offset"]))
        body = self._body(operation)
        if random.random() < 0.03:
            method = random.choice(["HEAD", "OPTIONS", "PATCH", "PUT", "DELETE", "TRACE"])
        return method, path + ("?" + "&".join(query) if query else ""), body

    def _segment(self) -> str:
        if self._random.random() < 0.1:
            return self._random.choice(RAW_SEGMENTS)
        return quote(self._random.choice(NAMES), safe="")

    def _body(self, operation: Any) -> bytes | None:
        random = self._random
        if "requestBody" not in operation:
            return None if random.random() < 0.9 else random.choice(RAW_VALUES).encode()
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        text = self._json(schema, "").encode("utf-8", "surrogatepass")
        if random.random() < 0.05 and text:
            at = random.randrange(len(text))
            text = text[:at] + bytes([random.randrange(256)]) + text[at + random.randrange(2) :]
        return text

    def _json(self, schema: Any, name: str, depth: int = 0) -> str:
        random = self._random
        if "$ref" in schema:
            schema = self._schemas[schema["$ref"].rpartition("/")[2]]
        if name in SLOW:
            return random.choice(SLOW[name])
        if name in ("duration", "at_most"):
            return random.choice(NEAR)
        if random.random() < 0.04:
            return random.choice(RAW_VALUES)
        for choices in ("anyOf", "oneOf"):
            if choices in schema:
                return self._json(random.choice(schema[choices]), name, depth)
        kind = schema.get("type")
        if random.random() < 0.08:
            kind = random.choice(["string", "integer", "array", "object", "null", "boolean"])
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            items = schema.get("items", {})
            count = random.choice([0, 1, 1, 2, 3])
            return "[" + ",".join(self._json(items, "", depth + 1) for _ in range(count)) + "]"
        if kind in ("integer", "number"):
            return random.choice(NUMBERS)
        if kind == "boolean":
            return random.choice(["true", "false"])
        if kind == "null":
            return "null"
        return json.dumps(random.choice(self._fault_names() if name == "fault" else TEXTS))

    def _object(self, schema: Any, depth: int) -> str:
        random = self._random
        fields = [
            (name, self._json(of, name, depth + 1))
            for name, of in schema.get("properties", {}).items()
            if name in schema.get("required", ()) or random.random() < 0.5
        ]
        if not isinstance(schema.get("additionalProperties", False), bool):
            for _ in range(random.randrange(3)):
                of = schema["additionalProperties"]
                fields.append((random.choice(KEYS), self._json(of, "", depth + 1)))
        if fields and random.random() < 0.03:
            fields.append(random.choice(fields))
        return "{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in fields) + "}"

    def _fault_names(self) -> list[str]:
        from fakemq.control.faults import placings
        from fakemq.handles.faults import Faults

        return [name for name, _ in placings(Faults(None))]  # type: ignore[arg-type]  # not called


KEYS = [
    *("topic", "queue_id", "offset", "times", "after", "every", "p", "code", "remark", "fields"),
    *(
        "broker",
        "namesrv",
        "must_fire",
        "by",
        "jitter",
        "at",
        "DELAY",
        "KEYS",
        "kind",
        "peer",
        "\0",
    ),
    *("brokerPermission", "listenPort", "messageDelayLevel", "retry_max_times", "after_bytes"),
]


def run(seed: int, count: int, folder: Path) -> Iterator[str]:
    """Send ``count`` requests; yield those that were answered as a bug or not at all."""
    for first in range(0, count, OF_A_CLUSTER):
        random = Random(seed + first)
        with fakemq.Cluster(
            slaves=1,
            store=str(folder / str(first)) if random.random() < 0.2 else "memory",
            topics={"orders": 2},
            clock=random.choice(["frozen", "real"]),
            control_port=0,
            seed=random.getrandbits(30),
        ) as mq:
            numbers = range(first, min(first + OF_A_CLUSTER, count))
            yield from attacked(mq, random, with_progress(numbers, count, "requests"), seed + first)


def attacked(
    mq: fakemq.Cluster, random: Random, numbers: Iterable[int], seed: int
) -> Iterator[str]:
    """Send a request for each number; yield what is wrong with the answers."""
    assert mq.control_url is not None
    requests = Requests(Http(mq.control_url).get("/openapi.json"), random)
    host = mq.control_url.removeprefix("http://")
    with closing(http.client.HTTPConnection(host, timeout=20)) as connection:
        for _ in numbers:
            method, target, body = requests.draw()
            asked = f"seed {seed}: {method} {target[:300]} {body[:500] if body else b''!r}"
            connection.close()
            try:
                connection.request(method, target, body, {"Content-Type": "application/json"})
                with connection.getresponse() as response:
                    text = response.read()
            except (OSError, http.client.HTTPException) as error:
                yield f"{asked}: {error!r}"
                return
            if response.status not in STATUSES:
                yield f"{asked}: {response.status} {text[:500]!r}"
            elif response.status >= 400 and method != "HEAD" and not ERROR.match(text):
                yield f"{asked}: {response.status} without an error: {text[:200]!r}"
            failed = mq.journal.find(HandlerFailed)
            if failed:
                yield f"{asked}: {failed[-1].error}\n{failed[-1].traceback}"
                mq.reset()
