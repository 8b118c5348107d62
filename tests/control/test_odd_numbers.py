"""Odd numbers in each field of each endpoint: none is a bug, and none breaks the cluster."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import cycle
from typing import Any
from urllib.parse import urlencode

import pytest

import fakemq
from fakemq.control.openapi import document
from fakemq.events import HandlerFailed
from tests.support.control import Http

NUMBERS = (
    *("1e-308", "5e-324", "1e308", "-1e308", "1e400", "-1", "-0.0", "0", "0.5", "NaN", "Infinity"),
    *(str(2**31 - 1), str(2**31), str(2**53 + 1), str(2**63 - 1), str(2**63), str(2**64)),
    *("9" * 400, "1" + "0" * 5_000, "true", "null", "[]", "{}"),
)
TEXTS = (
    *("1e-308", "1e999s", "1e308", "nan", "inf", "-inf", "-1", "0", "-1s", "0s", "0.0000001ms"),
    *("9223372036854775807ms", "9223372036854775808ms", "99999999999999d", "1000000d", "-1000000d"),
    *("9223372036854775807", "99999999999999TiB", "0.5B", "9" * 400, "١s", "", " ", "+", "."),
    *("9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "2024-02-30", "+10000-01-01"),
)
ODD = (*NUMBERS, *(json.dumps(text) for text in TEXTS))

FITTING: dict[str, object] = {
    "duration": "1ms",
    "rate": 1,
    "instant": "2024-03-01T12:00:00Z",
    "kind": "delay_level",
    "why": "test",
    "by": 0,
    "size": None,
    "broker_id": 1,
    "bodies": ["a"],
    "fault": "silence",
    "topic": "orders",
    "group": "billing",
    "name": "one",
    "body": "a",
    "queue": 0,
    "queue_id": 0,
    "offset": 0,
}
"""What the other fields of a body say while one is odd."""
FAULT_ARGUMENTS = {"code": 11, "by": "1s", "size": "1MiB", "a": "broker-a", "b": "namesrv-0"}
IN_PATH = {
    "topic": "orders",
    "group": "billing",
    "broker": "broker-a",
    "namesrv": "namesrv-0",
    "proxy": "proxy-0",
    "subgroup": "nsaddr",
    "part": "style.css",
}
KEPT = ("/v1/shutdown", "/v1/journal/stream")
"""Endpoints that end the cluster or never end themselves."""


Asked = tuple[str, str, bytes | None]
"""Method, path and body of a request with one odd number."""


def asked() -> Iterator[Asked]:
    made: Any = document()
    schemas = made["components"]["schemas"]
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            if path in KEPT:
                continue
            there = path
            for name, fitting in IN_PATH.items():
                there = there.replace(f"{{{name}}}", fitting)
            there = there.partition("{")[0] + "1" if "{" in there else there
            for one in operation["parameters"]:
                if one["in"] == "query" and is_number(one["schema"], one["name"]):
                    for odd in (*NUMBERS, *TEXTS):
                        yield method.upper(), f"{there}?{urlencode({one['name']: odd})}", None
            if "requestBody" in operation:
                given = operation["requestBody"]["content"]["application/json"]["schema"]
                for body in odd_bodies(schemas[given["$ref"].rpartition("/")[2]]):
                    yield method.upper(), there, body


def is_number(schema: Any, name: str) -> bool:
    """Return whether a field takes a number, or a text that means a number."""
    text = json.dumps(schema)
    return '"integer"' in text or '"number"' in text or name == "instant"


def odd_bodies(schema: Any) -> Iterator[bytes]:
    fields = schema["properties"]
    fitting = {name: json.dumps(FITTING.get(name, "x")) for name in schema.get("required", ())}
    for name, field in fields.items():
        if is_number(field, name):
            form = {"array": "[%s]", "object": '{"a": %s}'}.get(field.get("type"), "%s")
            for odd in ODD:
                yield written(fitting | {name: form % odd})


def written(fields: dict[str, str]) -> bytes:
    return ("{" + ",".join(f'"{name}": {text}' for name, text in fields.items()) + "}").encode()


def odd_faults(http: Http) -> Iterator[Asked]:
    """Each argument of each kind of fault that takes a number, a duration or a size.

    All are read by the same converters: an argument gets a third of the numbers, the next one
    another third.
    """
    third = cycle(range(3))
    for kind in http.get("/v1/faults/kinds"):
        parts = re.findall(r"(\w+): ([^=,()]+)( = )?", kind["call"])
        needed = {name: FAULT_ARGUMENTS.get(name, "broker-a") for name, _, has in parts if not has}
        for name, of, _ in parts:
            if re.search("int|float|Duration|Size", of):
                fitting = {one: json.dumps(value) for one, value in needed.items()}
                for odd in ODD[next(third) :: 3]:
                    kwargs = written(fitting | {name: odd}).decode()
                    body = f'{{"fault": "{kind["name"]}", "kwargs": {kwargs}}}'
                    yield "POST", "/v1/faults", body.encode()


def is_answered(http: Http, request: Asked) -> bool:
    """Return whether a request is answered as it should be, or waits as long as it says."""
    try:
        return http.ask(*request).status < 500
    except TimeoutError:
        if b"timeout" in (request[2] or b"") or "timeout" in request[1]:
            return True
        # A busy machine may be late: what hangs, hangs again.
        patient = Http(http.url, timeout_s=60)
        return patient.ask(*request).status < 500


def require_whole(mq: fakemq.Cluster, http: Http) -> None:
    """The cluster freezes, advances and delivers, also what is delayed."""
    http.post("/v1/reset")
    http.delete("/v1/faults")
    http.post("/v1/clock/rate", {"rate": 1})
    http.post("/v1/clock/unfreeze")
    http.post("/v1/clock/freeze")
    before_ms = http.get("/v1/clock")["now_ms"]
    http.post("/v1/topics/orders/messages", {"bodies": ["a"], "properties": {"DELAY": "2"}})
    http.post("/v1/clock/advance", {"duration": "6s"})
    assert http.get("/v1/clock")["now_ms"] == before_ms + 6_000
    assert http.get("/v1/topics/orders")["messages"] == 1
    failed = mq.journal.find(HandlerFailed)
    assert not failed, failed[0].traceback


# Some 2,000 requests.
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["endpoints", "faults"])
def test_odd_numbers_are_refused_or_taken_and_break_no_cluster(
    mq: fakemq.Cluster, kind: str
) -> None:
    assert mq.control_url is not None
    http = Http(mq.control_url, timeout_s=1)
    http.post("/v1/clock/unfreeze")
    http.post("/v1/topics/orders/messages", {"bodies": ["a"], "properties": {"DELAY": "18"}})
    requests = list(asked() if kind == "endpoints" else odd_faults(http))
    assert len(requests) > 500
    wrong = [one for one in requests if not is_answered(http, one)]
    assert not wrong
    require_whole(mq, Http(mq.control_url))


def test_every_number_of_a_request_has_a_range() -> None:
    made: Any = document()
    schemas = made["components"]["schemas"]
    bodies = {
        operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        for methods in made["paths"].values()
        for operation in methods.values()
        if "requestBody" in operation
    }
    free = [
        f"{ref}.{name}"
        for ref in bodies
        for name, field in schemas[ref.rpartition("/")[2]]["properties"].items()
        for number in numbers_of(field)
        if not {"minimum", "maximum"} <= number.keys()
    ]
    assert not free, "declare their range: msgspec.Meta(ge=…, le=…)"


def numbers_of(schema: Any) -> Iterator[Any]:
    if isinstance(schema, dict):
        if schema.get("type") in ("integer", "number"):
            yield schema
        for inner in schema.values():
            yield from numbers_of(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from numbers_of(inner)


@pytest.mark.parametrize("rate", [1e-308, 5e-324, 1e-5, 1e308, 0, -1, float("nan"), float("inf")])
def test_rate_is_within_its_range_for_handles_too(mq: fakemq.Cluster, rate: float) -> None:
    with pytest.raises(ValueError, match="expected how many times as fast as real time"):
        mq.clock.rate = rate
    mq.clock.unfreeze()
    mq.clock.freeze()
