"""JSON of peers has one door, which has a limit: `fastjson.loads` and `Body.decode`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.sources import READ_BY_ONE_WORKER, name_of, nodes_of, python_files, tree_of

pytestmark = READ_BY_ONE_WORKER

ROOT = Path(__file__).resolve().parents[2]

READERS = {
    "fastjson_reader": {"protocol/fastjson.py"},
    "fastjson_keys": {"protocol/fastjson.py", "protocol/bodies/body.py"},
    "to_bean": {"protocol/header_json.py", "protocol/bodies/body.py"},
}
"""What reads slowly, and the modules that pass their limits to it."""

LIMITS = {
    "FILE_JSON": {
        "fakemq/broker/tables/persistence.py",
        "fakemq/client/consuming/offsets.py",
        "fakemq/decoding/frames.py",
        "fakemq/dump/check.py",
        "fakemq/dump/rows.py",
        "fakemq/namesrv/kv.py",
    },
    "ANSWER_JSON": {"fakemq/client/admin.py"},
    "RECORD_JSON": {"fakemq/broker/v5/pop/revive.py", "fakemq/metrics/counted.py"},
}
"""Limits other than a peer's, and where they may be used: what is read there comes from no peer."""

OTHER_LIMIT = {"fakemq/namesrv/handlers/register_broker.py": "REGISTER_BODY_MAX_BYTES"}
"""Handlers that check the size of a body themselves."""


@cache
def trees() -> dict[str, ast.Module]:
    paths = (*python_files("fakemq"), *python_files("protocol"))
    return {name_of(path): tree_of(path) for path in paths}


def uses(name: str) -> set[str]:
    """Return the files that import a name, or a module with that name."""
    found = set()
    for file, tree in trees().items():
        for node in nodes_of(tree):
            if isinstance(node, ast.ImportFrom):
                names = [one.name for one in node.names]
                if name in names or (node.module or "").endswith(f".{name}"):
                    found.add(file)
    return found


@pytest.mark.parametrize("name", READERS)
def test_slow_readers_are_reached_only_through_their_limits(name: str) -> None:
    assert uses(name) == READERS[name], f"call fastjson.loads or Body.decode instead of {name}"


@pytest.mark.parametrize("name", LIMITS)
def test_limits_of_other_sources_are_used_only_there(name: str) -> None:
    assert uses(name) == LIMITS[name], f"{name} is not for what a peer sends"


def decoded_bodies() -> Iterator[tuple[str, ast.expr]]:
    """Each argument of a `decode` in a handler that has the body of a command in it."""
    for file, tree in trees().items():
        if "/handlers" not in file or file.startswith("fakemq/client/"):
            continue
        for node in nodes_of(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if node.func.attr in ("decode", "decode_or_null", "decode_in_steps"):
                for given in node.args:
                    if any(
                        isinstance(at, ast.Attribute) and at.attr == "body"
                        for at in ast.walk(given)
                    ):
                        yield file, given


def test_servers_count_the_items_of_bodies_first() -> None:
    found = list(decoded_bodies())
    assert found
    bad = {
        file
        for file, given in found
        if not (
            isinstance(given, ast.Call)
            and isinstance(given.func, ast.Name)
            and given.func.id in ("readable_json", "body_of")
        )
    }
    assert bad <= set(OTHER_LIMIT), "decode readable_json(body) or body_of(request)"
