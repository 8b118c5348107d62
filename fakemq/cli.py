"""The command line. Only what a command needs is imported: help and printouts start no server."""

from __future__ import annotations

import gc
from collections.abc import Callable, Container
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import click

from fakemq import __version__
from fakemq.config.options import OPTIONS
from fakemq.config.spec import (
    ClusterSpec,
    broker_spec,
    cluster_spec,
    namesrv_spec,
    require_supported,
    tls_spec,
)
from fakemq.errors import ConfigError, FakemqError, NotYetSupported

if TYPE_CHECKING:
    from fakemq.config.option_types import ClusterOptions

F = TypeVar("F", bound=Callable[..., None])

BAD_INPUT = 2
"""Exit code for a wrong option or value, as in click. Later failures exit with 1."""

NO_MEMORY = "no memory is left for the process; a higher limit (ulimit -v) is needed"


class _BadInput(click.ClickException):
    """One line on stderr, without a traceback."""

    exit_code = BAD_INPUT


class _Commands(click.Group):
    """A group with the default command ``serve``; it prints an error as one line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # An option that is not the group's own, as in "fakemq --masters 2", belongs to serve.
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        if not args or (args[0].startswith("-") and args[0] not in own):
            args = ["serve", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (ConfigError, NotYetSupported) as error:
            raise _BadInput(str(error)) from None
        except FakemqError as error:
            raise click.ClickException(str(error)) from None
        except MemoryError:
            raise click.ClickException(NO_MEMORY) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__, prog_name="fakemq", message="%(prog)s %(version)s, as Apache RocketMQ 4.9.7"
)
def main() -> None:
    """An Apache RocketMQ cluster in one process, for tests.

    Without a command this is "serve": a name server on 127.0.0.1:9876 and a broker, until
    Ctrl-C. See "serve --help" for its options.
    """


def _print_option(function: F) -> F:
    return click.option(
        "-p",
        "print_config",
        is_flag=True,
        help="Print the resulting config as .properties, which -c reads again, and exit.",
    )(function)


def _cluster_options(function: F, names: Container[str] | None = None) -> F:
    """Add the options of `fakemq.config.options.OPTIONS`, all or some, in the table's order."""
    for option in reversed(OPTIONS):
        if option.flag == "-" or (names is not None and option.name not in names):
            continue
        function = click.option(
            option.spelling,
            option.name,
            # A flag's type and a list's default are click's own.
            type=int if option.kind == "number" else None,
            default=None if option.kind == "list" else option.default,
            show_default=option.kind != "flag",
            is_flag=option.kind == "flag",
            multiple=option.kind == "list",
            metavar=option.metavar,
            envvar=option.env,
            help=option.help + (f"  [default: {option.chosen}]" if option.chosen else ""),
        )(function)
    return function


def _node_options(function: F) -> F:
    """Add the options of `OPTIONS` that a single node has, too."""
    return _cluster_options(function, {"reference", "tls", "tls_config", "strict"})


def _warn(message: str) -> None:
    click.echo(f"Warning: {message}", err=True)


def _print(text: str) -> None:
    click.echo(text, nl=False)


def _run(ctx: click.Context, spec: ClusterSpec) -> None:
    require_supported(spec.broker_configs)
    # Until the cluster is ready nothing becomes garbage: modules and nodes live on. The server
    # starts the collector again then.
    gc.disable()
    from fakemq.serving.limits import require_limits

    require_limits(spec)  # before the imports that need memory and descriptors
    from fakemq.serving import serve

    if spec.control is None:
        ctx.exit(serve.serve(spec))
    from fakemq.control.port import open_control

    ctx.exit(serve.serve(spec, partial(open_control, spec.control)))


@main.command()
@_cluster_options
@_print_option
@click.pass_context
def serve(ctx: click.Context, print_config: bool, **options: Unpack[ClusterOptions]) -> None:
    """A whole cluster: name servers and brokers. The default command.

    Prints "fakemq ready: ..." when all is up; SIGTERM and Ctrl-C stop it cleanly. With several
    brokers, -p prints one config for each, each under a comment with the broker's name.
    """
    if (
        options["control_port"] is None
        and ctx.get_parameter_source("control_token") is click.core.ParameterSource.ENVIRONMENT
    ):
        options["control_token"] = None  # the environment's token is not for this cluster
    spec = cluster_spec(**options, warn=_warn)
    if print_config:
        several = len(spec.broker_configs) > 1
        for config in spec.broker_configs:
            _print((f"# {config.node_name}\n" if several else "") + config.printed())
        return
    _run(ctx, spec)


@main.command()
@click.option("-c", "config", metavar="FILE", help="RocketMQ's own name server config.")
@_node_options
@_print_option
@click.pass_context
def namesrv(
    ctx: click.Context,
    config: str | None,
    reference: str,
    tls: str | None,
    tls_config: str | None,
    strict: bool,
    print_config: bool,
) -> None:
    """One name server, as mqnamesrv: port 9876 on all addresses."""
    spec = namesrv_spec(
        config,
        reference=reference,
        tls=tls_spec(tls, tls_config, strict=strict, warn=_warn),
        strict=strict,
        warn=_warn,
    )
    if print_config:
        _print(spec.namesrv_config.printed())
        return
    _run(ctx, spec)


@main.command()
@click.option("-c", "config", metavar="FILE", help="RocketMQ's own broker config.")
@click.option(
    "-n",
    "namesrv_addr",
    metavar="HOST:PORT[;...]",
    help="Name servers to register with, fake or real.  [default: the config's namesrvAddr,"
    " else $NAMESRV_ADDR]",
)
@_node_options
@_print_option
@click.option("-m", "print_important", is_flag=True, help="Like -p, only the important keys.")
@click.pass_context
def broker(
    ctx: click.Context,
    config: str | None,
    namesrv_addr: str | None,
    reference: str,
    tls: str | None,
    tls_config: str | None,
    strict: bool,
    print_config: bool,
    print_important: bool,
) -> None:
    """One broker, as mqbroker: port 10911 on all addresses, named after the host."""
    spec = broker_spec(
        config,
        namesrv_addr=namesrv_addr,
        reference=reference,
        tls=tls_spec(tls, tls_config, strict=strict, warn=_warn),
        strict=strict,
        warn=_warn,
    )
    if print_config or print_important:
        _print(spec.broker_configs[0].printed(important=not print_config))
        return
    _run(ctx, spec)


@main.command()
@click.argument("directory", metavar="DIR", type=click.Path())
@click.option("--commitlog", "parts", flag_value="commitlog", multiple=True, help="The records.")
@click.option("--consumequeue", "parts", flag_value="consumequeue", multiple=True, help="Entries.")
@click.option("--index", "parts", flag_value="index", multiple=True, help="Entries by key.")
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
        ctx.exit(
            command.check_store(directory, command.write_line, log_folders=folders, as_json=as_json)
        )
    ctx.exit(
        command.dump(
            *(directory, command.write_line),
            log_folders=folders,
            parts=parts,
            topic=topic,
            queue_id=queue,
            limit=limit,
            as_json=as_json,
        )
    )


@main.command()
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Show the journal of this run.")
@click.option("--seeds", metavar="FROM:TO", help="Run many seeds, and show those that fail.")
@click.option("--minutes", type=float, default=10, show_default=True, help="Virtual time of each.")
@click.option(
    "--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes for many runs."
)
@click.pass_context
def replay(
    ctx: click.Context, seed: int | None, seeds: str | None, minutes: float, jobs: int
) -> None:
    """Simulate a cluster, its clients and faults, all drawn from one seed.

    Shows the drawn plan, the journal and the verdict. The exit code is 1 if an invariant failed.
    """
    from fakemq.sim import command

    if (seed is None) == (seeds is None):
        raise click.UsageError("give --seed N, or --seeds FROM:TO")
    if seeds is not None:
        ctx.exit(command.run_campaign(seeds, minutes, jobs, click.echo))
    ctx.exit(command.replay_one(seed or 0, minutes, click.echo))


@main.command()
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
        raise _BadInput(str(error)) from None
    from fakemq.dump.command import write_line
    from fakemq.spark.audit import command

    ctx.exit(command.run(command.Options(**options), write_line))


@main.command()
def table() -> None:
    """Every request code of 4.9.7: number, name, headers, and the node that handles it."""
    from fakemq.core.table_report import table_report

    click.echo(table_report())
