"""``fakemq namesrv``: one name server."""

from __future__ import annotations

import click

from fakemq.commands.server_options import node_options, print_option, print_text, run, warn
from fakemq.config.spec import namesrv_spec, tls_spec


@click.command(short_help="One name server, as mqnamesrv.")
@click.option("-c", "--config", "config", metavar="FILE", help="RocketMQ's own name server config.")
@node_options
@print_option
@click.pass_context
def namesrv(
    ctx: click.Context,
    config: str | None,
    reference: str | None,
    tls: str | None,
    tls_config: str | None,
    strict: bool,
    print_config: bool,
) -> None:
    """One name server, as mqnamesrv: port 9876 on all addresses."""
    spec = namesrv_spec(
        config,
        reference=reference,
        tls=tls_spec(tls, tls_config, strict=strict, warn=warn),
        strict=strict,
        warn=warn,
    )
    if print_config:
        print_text(spec.namesrv_config.printed())
        return
    run(ctx, spec)
