"""That few steps are done at once, and more in slices, is decided by `NodeClock` alone."""

from __future__ import annotations

import ast

from tests.support.loops import on_loop
from tests.support.sources import READ_BY_ONE_WORKER, nodes_of, tree_of

pytestmark = READ_BY_ONE_WORKER

MAY_CHOOSE = {
    "dispatch/local.py: _end": "a local session may have no clock of its peer",
    "net/grpc_session.py: _end": "a step returns the messages of a call, so that 50 are not few",
}
"""Functions that choose between both ways, and why `count` does not serve them."""


def calls(function: ast.AST) -> set[str]:
    """Return the names of the functions and methods that are called in a function."""
    called = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return {
        one.attr if isinstance(one, ast.Attribute) else one.id
        for one in called
        if isinstance(one, ast.Attribute | ast.Name)
    }


def test_choice_between_at_once_and_slices_is_made_by_the_clock() -> None:
    found = {
        f"{file}: {node.name}"
        for file, path in on_loop()
        if not file.startswith("clock/")
        for node in nodes_of(tree_of(path))
        if isinstance(node, ast.FunctionDef) and {"finished", "carry_out"} <= calls(node)
    }
    assert found == MAY_CHOOSE.keys(), "pass the number of steps to `carry_out` as its `count`"
