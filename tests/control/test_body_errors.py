"""What the control port says of bodies that do not fit."""

from __future__ import annotations

import pytest

from tests.support.control import Http

SEED = "/v1/topics/orders/messages"
GROUP = "/v1/groups/billing"


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (
            "/v1/wait-for",
            b'{"messages": {"topic": "orders", "count": 1}}',
            "unknown field `count` - at `$.messages`; an object there may have: topic, at_least",
        ),
        (
            SEED,
            b'{"bodies": ["x", {"text": "x"}]}',
            "unknown field `text` - at `$.bodies[1]`; an object there may have: base64",
        ),
        (
            "/v1/wait-for",
            b'{"messages": {"topic": "orders", "at_least": 0}}',
            "Expected `int` >= 1 - at `$.messages.at_least`",
        ),
        (
            "/v1/faults",
            b'{"a - at `$.lag`": 1}',
            "unknown field `a - at `$.lag``; the body may have: fault, args, kwargs",
        ),
    ],
)
def test_error_in_an_object_lists_the_fields_of_that_object(
    http_client: Http, path: str, body: bytes, message: str
) -> None:
    answer = http_client.ask("POST", path, body)
    assert answer.status == 400
    assert answer.error.removeprefix("Object contains ") == message


@pytest.mark.parametrize(
    ("method", "path", "body", "place"),
    [
        (
            "PUT",
            GROUP,
            b'{"settings": {"consume_enable": true, "retry_max_times": "3"}}',
            "$.settings['retry_max_times']",
        ),
        ("POST", SEED, b'{"bodies": [], "properties": {"a": "1", "b": 2}}', "$.properties['b']"),
        (
            "POST",
            "/v1/faults",
            b'{"fault": "drop", "args": [1, {"x": 1, "y": [1]}]}',
            "$.args[1]['y']",
        ),
        (
            "POST",
            "/v1/faults",
            b'{"fault": "drop", "kwargs": {"x": 1, "y": {"z": {}}}}',
            "$.kwargs['y']['z']",
        ),
        # What follows the error is no JSON, or too deep: no key, and no other error.
        ("PUT", GROUP, b'{"settings": {"a": "3"}, ', "$.settings[...]"),
        ("PUT", GROUP, b'{"settings": {"a": "3"}, "b": ' + b"[" * 100_000, "$.settings[...]"),
    ],
    ids=["settings", "properties", "in a list", "in an object", "no JSON", "too deep"],
)
def test_error_in_an_object_with_free_keys_names_the_key(
    http_client: Http, method: str, path: str, body: bytes, place: str
) -> None:
    answer = http_client.ask(method, path, body)
    assert answer.status == 400
    assert answer.error.startswith("Expected ")
    assert answer.error.endswith(f" - at `{place}`")
