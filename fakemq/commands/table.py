"""``fakemq table``: every request code."""

from __future__ import annotations

import click


@click.command(short_help="Every request code of 4.9.7.")
def table() -> None:
    """Every request code of 4.9.7: number, name, headers, and the node that handles it."""
    for line in _lines():
        click.echo(line)


def _lines() -> list[str]:
    """Return a line for each code in RequestCode.java's order: number, name, headers, handlers."""
    from fakemq.broker.broker import handles as broker_handles
    from fakemq.namesrv.namesrv import handles as namesrv_handles
    from fakemq.protocol.table import rows

    handled = {"name server": namesrv_handles.load(), "broker": broker_handles.load()}
    lines = []
    for row in rows():
        by = [node for node, handlers in handled.items() if row.code in handlers]
        lines.append(
            f"{row.code.value:>4}  {row.code.name:<38} {row.request_header.__name__:<40}"
            f" {row.response_header.__name__:<38} {', '.join(by) or 'not handled'}"
        )
    return lines
