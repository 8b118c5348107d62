"""The options of the commands that run servers, made from the table of options."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fakemq.commands.said import say
from fakemq.config.options import OPTIONS
from fakemq.config.spec import require_supported

if TYPE_CHECKING:
    from fakemq.config.spec import ClusterSpec
    from fakemq.serving.foreground import OpenControl, Watch

F = TypeVar("F", bound=Callable[..., Any])


def print_option(function: F) -> F:
    """Add ``-p``, which prints the config."""
    return click.option(
        "-p",
        "print_config",
        is_flag=True,
        help="Print the resulting config as .properties, which -c reads again, and exit.",
    )(function)


def _no_option(ctx: click.Context, param: click.Parameter, value: object) -> object:
    """Return a value; raise BadParameter for an option, which stands where a value is missing."""
    if isinstance(value, str) and value.startswith("--"):
        wanted = f" ({param.metavar})" if param.metavar else ""
        raise click.BadParameter(f"expected a value{wanted} before {value}")
    return value


def cluster_options(function: F, names: Container[str] | None = None) -> F:
    """Add the options of `fakemq.config.options.OPTIONS`, all or some, in the table's order."""
    for option in reversed(OPTIONS):
        if option.flag == "-" or (names is not None and option.name not in names):
            continue
        function = click.option(
            *option.spellings,
            option.name,
            # A flag's type and a list's default are click's own.
            type=int if option.kind == "number" else None,
            default=None if option.kind == "list" else option.default,
            show_default=option.kind != "flag",
            is_flag=option.kind == "flag",
            multiple=option.kind == "list",
            metavar=option.metavar,
            envvar=option.env,
            callback=_no_option,
            help=option.help + (f"  [default: {option.chosen}]" if option.chosen else ""),
        )(function)
    return function


def node_options(function: F) -> F:
    """Add the options of `OPTIONS` that a single node has, too."""
    return cluster_options(function, {"reference", "tls", "tls_config", "strict"})


def warn(message: str) -> None:
    """Write a warning to stderr."""
    say(f"Warning: {message}")


def print_text(text: str) -> None:
    """Write a text to stdout as it is."""
    click.echo(text, nl=False)


def run(ctx: click.Context, spec: ClusterSpec, *, quiet: bool = True) -> None:
    """Run the cluster until a signal, and exit.

    Unless it is ``quiet``, people at a terminal see how to connect, and what happens.
    """
    require_supported(spec.broker_configs)
    # Until the cluster is ready nothing becomes garbage: modules and nodes live on. The server
    # starts the collector again then.
    gc.disable()
    from fakemq.serving.limits import require_limits

    require_limits(spec)  # before the imports that need memory and descriptors
    from fakemq.serving import foreground

    watch: Watch | None = None
    if not quiet and sys.stdout.isatty():
        from fakemq.commands import live_summary

        watch = live_summary.watch
    control: OpenControl | None = None
    if spec.speaks_http:
        from fakemq.control.opening import open_http

        control = open_http
    ctx.exit(foreground.serve(spec, control, watch))
