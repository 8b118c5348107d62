"""``fakemq table``: every request code."""

from __future__ import annotations

import click


@click.command(short_help="Every request code of 4.9.7.")
def table() -> None:
    """Every request code of 4.9.7: number, name, headers, and the node that handles it."""
    from fakemq.core.table_report import table_report

    click.echo(table_report())
