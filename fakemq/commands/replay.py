"""``fakemq replay``: simulated runs."""

from __future__ import annotations

import click
from click.core import ParameterSource

from fakemq.reference import NAMES


@click.command(short_help="Simulate clusters, clients and faults by seeds.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Show the journal of this run.")
@click.option("--seeds", metavar="FROM:TO", help="Run many seeds, and show those that fail.")
@click.option(
    "--minutes",
    type=float,
    default=10,
    show_default=True,
    metavar="N",
    help="Virtual time of each, at least 5.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    metavar="N",
    help="Processes for many runs.",
)
@click.option(
    "--reference",
    type=click.Choice((NAMES[0], NAMES[-1])),  # no plan is drawn for a release between
    default=NAMES[0],
    show_default=True,
    help="The release of RocketMQ. Clients of 5.5.0 pop, too, and send timer messages.",
)
@click.option(
    "--grpc",
    is_flag=True,
    help="With a gRPC front, and clients of it; this implies --reference 5.5.0.",
)
@click.option(
    "--controllers",
    type=click.IntRange(0, 5),
    is_flag=False,
    flag_value=0,
    metavar="[N]",
    help="With groups of 2 or 3 replicas under N controllers, which elect; 0, or no number: 1 or 3."
    " This implies --reference 5.5.0.",
)
@click.option(
    "--strong",
    is_flag=True,
    help="With --controllers: also what RocketMQ's brokers lose is a violation.",
)
@click.pass_context
def replay(
    ctx: click.Context,
    seed: int | None,
    seeds: str | None,
    minutes: float,
    jobs: int,
    reference: str,
    grpc: bool,
    controllers: int | None,
    strong: bool,
) -> None:
    """Simulate a cluster, its clients and faults, all drawn from one seed.

    Shows the drawn plan, the journal and the verdict. The exit code is 1 if an invariant failed.
    """
    from fakemq.sim import command
    from fakemq.sim.drawing import RunKind

    if (seed is None) == (seeds is None):
        raise click.UsageError("give --seed N, or --seeds FROM:TO")
    if grpc and controllers is not None:
        raise click.UsageError("give --grpc, or --controllers")
    if strong and controllers is None:
        raise click.UsageError("--strong needs --controllers")
    if grpc or controllers is not None:
        chosen = ctx.get_parameter_source("reference") is not ParameterSource.DEFAULT
        if chosen and reference == NAMES[0]:
            option, lacks = ("--grpc", "front") if grpc else ("--controllers", "controllers")
            raise click.UsageError(
                f"{option} needs --reference {NAMES[-1]}: {reference} has no {lacks}"
            )
        reference = NAMES[-1]
    kind = RunKind(grpc=grpc, controllers=controllers, strong=strong)
    if seeds is not None:
        ctx.exit(command.run_campaign(seeds, minutes, jobs, click.echo, reference, **kind))
    ctx.exit(command.replay_one(seed or 0, minutes, click.echo, reference, **kind))
