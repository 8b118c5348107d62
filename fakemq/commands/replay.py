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
@click.pass_context
def replay(
    ctx: click.Context,
    seed: int | None,
    seeds: str | None,
    minutes: float,
    jobs: int,
    reference: str,
    grpc: bool,
) -> None:
    """Simulate a cluster, its clients and faults, all drawn from one seed.

    Shows the drawn plan, the journal and the verdict. The exit code is 1 if an invariant failed.
    """
    from fakemq.sim import command

    if (seed is None) == (seeds is None):
        raise click.UsageError("give --seed N, or --seeds FROM:TO")
    if grpc:
        chosen = ctx.get_parameter_source("reference") is not ParameterSource.DEFAULT
        if chosen and reference == NAMES[0]:
            raise click.UsageError(
                f"--grpc needs --reference {NAMES[-1]}: {reference} has no front"
            )
        reference = NAMES[-1]
    if seeds is not None:
        ctx.exit(command.run_campaign(seeds, minutes, jobs, click.echo, reference, grpc=grpc))
    ctx.exit(command.replay_one(seed or 0, minutes, click.echo, reference, grpc=grpc))
