"""``fakemq broker``: one broker."""

from __future__ import annotations

import click

from fakemq.commands.server_options import node_options, print_option, print_text, run, warn
from fakemq.config.spec import broker_spec, tls_spec


@click.command(short_help="One broker, as mqbroker.")
@click.option("-c", "--config", "config", metavar="FILE", help="RocketMQ's own broker config.")
@click.option(
    "-n",
    "namesrv_addr",
    metavar="HOST:PORT[;...]",
    help="Name servers to register with, fake or real.  [default: the config's namesrvAddr,"
    " else $NAMESRV_ADDR]",
)
@node_options
@print_option
@click.option("-m", "print_important", is_flag=True, help="Like -p, only the important keys.")
@click.pass_context
def broker(
    ctx: click.Context,
    config: str | None,
    namesrv_addr: str | None,
    reference: str | None,
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
        tls=tls_spec(tls, tls_config, strict=strict, warn=warn),
        strict=strict,
        warn=warn,
    )
    if print_config or print_important:
        print_text(spec.broker_configs[0].printed(important=not print_config))
        return
    run(ctx, spec)
