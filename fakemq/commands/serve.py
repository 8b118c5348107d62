"""``fakemq serve``: a whole cluster, the default command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from fakemq.commands.server_options import cluster_options, print_option, print_text, run, warn
from fakemq.config.spec import cluster_spec

if TYPE_CHECKING:
    from fakemq.config.option_types import ClusterOptions


@click.command(short_help="A whole cluster; the default command.")
@cluster_options
@print_option
@click.option(
    "-q", "--quiet", is_flag=True, help="On a terminal, too, print nothing but the ready line."
)
@click.pass_context
def serve(
    ctx: click.Context, print_config: bool, quiet: bool, **options: Unpack[ClusterOptions]
) -> None:
    """A whole cluster: name servers and brokers. The default command.

    Prints "fakemq ready: ..." when all is up; SIGTERM and Ctrl-C stop it cleanly. On a terminal
    it then shows how to connect, and clients, topics and rates as they change. With several
    brokers, -p prints one config for each, each under a comment with the broker's name.
    """
    if (
        options["control_port"] is None
        and ctx.get_parameter_source("control_token") is click.core.ParameterSource.ENVIRONMENT
    ):
        options["control_token"] = None  # the environment's token is not for this cluster
    spec = cluster_spec(**options, warn=warn)
    if print_config:
        several = len(spec.broker_configs) > 1
        for config in spec.broker_configs:
            print_text((f"# {config.node_name}\n" if several else "") + config.printed())
        return
    run(ctx, spec, quiet=quiet)
