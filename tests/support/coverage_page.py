"""docs/coverage.md, made from the tables of codes: ``python -m tests.support.coverage_page``."""

from __future__ import annotations

from fakemq.broker.broker import handles as broker_handles
from fakemq.namesrv.namesrv import handles as namesrv_handles
from fakemq.protocol import table
from tests.support.imports import ROOT

_TOP = """# Coverage of request codes

The request codes of the default reference, 4.9.7, with code 361 of 5.x clients, and the nodes
that answer each. A dash: no node here answers it; some of these go from brokers to clients. What
each config key does is on the page of [config keys](config.md). This page is made by
`tests/support/coverage_page.py`.

| code | name | answered by |
|---|---|---|
"""


def coverage_page() -> str:
    """Return the text of docs/coverage.md."""
    handled = {"name server": namesrv_handles.load(), "broker": broker_handles.load()}
    lines = []
    for row in table.rows():
        nodes = [node for node, handlers in handled.items() if row.code in handlers]
        lines.append(f"| {row.code.value} | {row.code.name} | {', '.join(nodes) or '–'} |\n")
    return _TOP + "".join(lines)


if __name__ == "__main__":
    (ROOT / "docs/coverage.md").write_text(coverage_page(), encoding="utf-8")
