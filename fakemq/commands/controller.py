"""``fakemq controller``: one controller."""

from __future__ import annotations

import click

from fakemq.commands.server_options import (
    node_options,
    print_option,
    print_text,
    run,
    warn,
)
from fakemq.config.spec import controller_spec, tls_spec


@click.command(short_help="One controller of RocketMQ 5.5.0, as mqcontroller.")
@click.option("-c", "--config", "config", metavar="FILE", help="RocketMQ's own controller config.")
@node_options
@print_option
@click.pass_context
def controller(
    ctx: click.Context,
    config: str | None,
    reference: str | None,
    tls: str | None,
    tls_config: str | None,
    strict: bool,
    print_config: bool,
) -> None:
    """One controller, as mqcontroller: at the port that its config says, on all addresses.

    It elects the masters of groups of brokers in controller mode.
    """
    spec = controller_spec(
        config,
        reference=reference,
        tls=tls_spec(tls, tls_config, strict=strict, warn=warn),
        strict=strict,
        warn=warn,
    )
    if print_config:
        print_text(spec.controllers[0].config.printed())
        return
    run(ctx, spec)
