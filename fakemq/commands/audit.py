"""``fakemq audit``: the verdict on every message of stores."""

from __future__ import annotations

from typing import Any

import click

from fakemq.commands.output import write_line
from fakemq.errors import ConfigError


@click.command(short_help="Judge every message of stores.")
@click.argument("stores", metavar="STORE_DIR...", nargs=-1, required=True)
@click.option(
    "--acks", multiple=True, metavar="FILE", help="Answers that producers got. May be repeated."
)
@click.option(
    "--deliveries", multiple=True, metavar="FILE", help="What consumers got. May be repeated."
)
@click.option("--journal", metavar="FILE", help="A journal that fakemq --journal wrote.")
@click.option("--group", "groups", multiple=True, metavar="G", help="Only these consumers.")
@click.option("--topic", "topics", multiple=True, metavar="T", help="Only these topics.")
@click.option("--any-order", is_flag=True, help="Do not check the order of deliveries.")
@click.option("--report", metavar="FILE.html", help="Write a report with plots, too.")
@click.option("--csv", metavar="FILE.csv", help="Write the findings as CSV, too.")
@click.option("--output", metavar="DIR", help="Write every verdict there, as Parquet.")
@click.option(
    "--master", default="local[*]", show_default=True, metavar="URL", help="Spark's cluster."
)
@click.option("--json", "as_json", is_flag=True, help="The summary as one JSON object.")
@click.pass_context
def audit(ctx: click.Context, /, **options: Any) -> None:
    """Judge every message: delivered, lost, duplicated, out of order or stuck, and why.

    Joins the stores of masters and slaves, fakemq's or Java's, in DIR or as NAME=DIR, with the
    records that producers and consumers wrote; see docs/audit.md. The exit code is 1 if it found
    something. Needs the extra "spark".
    """
    from fakemq.spark.requirements import require_pyspark

    try:
        require_pyspark()
    except ImportError as error:
        raise ConfigError(str(error)) from None
    from fakemq.spark.audit import command

    ctx.exit(command.run(command.AuditOptions(**options), write_line))
