"""``fakemq dump``: the contents of a store."""

from __future__ import annotations

import click

from fakemq.commands.output import write_line


@click.command(short_help="Show or check the contents of a store.")
@click.argument("directory", metavar="DIR", type=click.Path())
@click.option("--commitlog", "parts", flag_value="commitlog", multiple=True, help="The records.")
@click.option(
    "--consumequeue",
    "parts",
    flag_value="consumequeue",
    multiple=True,
    help="The entries of queues.",
)
@click.option("--index", "parts", flag_value="index", multiple=True, help="The entries by key.")
@click.option(
    "--offsets",
    "parts",
    flag_value="offsets",
    multiple=True,
    help="The offsets of groups and delay levels, and the checkpoint.",
)
@click.option(
    "--config", "parts", flag_value="config", multiple=True, help="Topics, groups and filters."
)
@click.option(
    "--store-path-commit-log",
    "commit_log",
    metavar="DIR[,DIR]…",
    default="",
    help="The folders of the commit log, if it is not below DIR.",
)
@click.option("--topic", metavar="NAME", help="Only what belongs to this topic.")
@click.option("--queue", type=click.IntRange(0), metavar="N", help="Only this queue id.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Number of rows of each part.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of tables.")
@click.option(
    "--check", is_flag=True, help="List damage and contradictions; exit code 1 if there are any."
)
@click.pass_context
def dump(
    ctx: click.Context,
    directory: str,
    parts: tuple[str, ...],
    commit_log: str,
    topic: str | None,
    queue: int | None,
    limit: int | None,
    as_json: bool,
    check: bool,
) -> None:
    """Show the contents of a store, fakemq's or Java's: of one node, or of all nodes in DIR.

    Shows all parts unless some are named. Locks and writes nothing.
    """
    from fakemq.dump import command

    folders = [one for one in commit_log.split(",") if one]
    if check:
        ctx.exit(command.check_store(directory, write_line, log_folders=folders, as_json=as_json))
    ctx.exit(
        command.dump(
            *(directory, write_line),
            log_folders=folders,
            parts=parts,
            topic=topic,
            queue_id=queue,
            limit=limit,
            as_json=as_json,
        )
    )
