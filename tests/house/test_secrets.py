"""Secrets stay out of what is printed: reports of tests show values by their repr."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from fakemq.protocol.headers.acl import CreateAccessConfigRequestHeader
from tests.support.sources import READ_BY_ONE_WORKER, name_of, nodes_of, python_files, tree_of

pytestmark = READ_BY_ONE_WORKER

ROOT = Path(__file__).resolve().parents[2]
SECRET = re.compile(r"(^|_)(secret|secret_key|password|token)$")
NO_VALUES = {"TypedDict"}
"""Bases of classes that only name the options of a call."""


def classes() -> list[tuple[str, ast.ClassDef]]:
    return [
        (name_of(path), node)
        for folder in ("fakemq", "protocol")
        for path in python_files(folder)
        for node in nodes_of(tree_of(path))
        if isinstance(node, ast.ClassDef)
    ]


def test_class_with_a_secret_has_a_repr_without_it() -> None:
    bad, found = [], 0
    for file, node in classes():
        fields = [one.target.id for one in node.body if isinstance(one, ast.AnnAssign)
                  and isinstance(one.target, ast.Name)]  # fmt: skip
        bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        if any(map(SECRET.search, fields)) and not bases & NO_VALUES and "Options" not in node.name:
            found += 1
            reprs = [one for one in node.body if getattr(one, "name", "") == "__repr__"]
            # The text of a header leaves its `_secrets` out.
            hidden = [one for one in node.body if ast.unparse(one).startswith("_secrets = ")]
            if not reprs and not hidden:
                bad.append(f"{file}: {node.name}")
    assert found > 5
    assert not bad, "write a __repr__ without the secret"


def test_text_of_a_header_has_no_secret() -> None:
    header = CreateAccessConfigRequestHeader(access_key="shop", secret_key="12345678")
    assert "shop" in repr(header)
    assert "12345678" not in repr(header)
