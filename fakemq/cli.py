"""The command line. Only what a command needs is imported: help and printouts start no server."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from fakemq import __version__
from fakemq.commands.said import say
from fakemq.errors import (
    NO_MEMORY_FOR_COMMAND,
    ConfigError,
    FakemqError,
    NotYetSupported,
    did_you_mean,
    printable_lines,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SECTIONS = {
    "Run a cluster": ("serve", "namesrv", "broker", "controller"),
    "Look at a running cluster, fake or real": (
        *("topics", "queues", "groups", "lag", "send", "tail", "browse", "trace"),
        *("brokers", "clients"),
    ),
    "Stores, bytes and simulations": ("dump", "decode", "replay", "audit", "table"),
    "Your shell": ("completion",),
}
"""Every command, in the order of help. Each is in the module of its name in `fakemq.commands`."""

BAD_INPUT = 2
"""Exit code for a wrong option or value, as in click. Later failures exit with 1."""
INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended before its end: the one that shells report."""


class _BadInput(click.ClickException):
    """One line on stderr, without a traceback."""

    exit_code = BAD_INPUT


class _Commands(click.Group):
    """A group with the default command ``serve``; it prints an error as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in SECTIONS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        found = getattr(import_module(f"fakemq.commands.{cmd_name}"), cmd_name)
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.list_commands(ctx)))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                rows = []
                for name in names:
                    command = self.get_command(ctx, name)
                    assert command is not None
                    text = command.get_short_help_str(formatter.width - width - 4)
                    rows.append((f"{name:{width}}", text))
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not ctx.resilient_parsing and name not in self.list_commands(ctx) and name[:1] != "-":
            near = did_you_mean(name, self.list_commands(ctx), lists=False)
            ctx.fail(f"there is no command {name!r}{near}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = super().shell_complete(ctx, incomplete)
        if incomplete.startswith("-"):
            serve = self.get_command(ctx, "serve")  # whose options need no name of a command
            assert serve is not None
            known = {one.value for one in found}
            more = serve.shell_complete(click.Context(serve, parent=ctx), incomplete)
            found += [one for one in more if one.value not in known]
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # An option that is not the group's own, as in "fakemq --masters 2", belongs to serve.
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        completes = ctx.resilient_parsing and not args  # a shell asks for the commands
        if not completes and (not args or (args[0].startswith("-") and args[0] not in own)):
            args = ["serve", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (ConfigError, NotYetSupported) as error:
            text = self._with_options(ctx, str(error))
            raise _BadInput(printable_lines(text)) from None
        except FakemqError as error:
            option = getattr(error, "option", "")  # of a port that is in use
            flag = self._typed(ctx).get(option) if option else None
            hint = f" ({flag} 0)" if flag else ""
            raise click.ClickException(printable_lines(f"{error}{hint}")) from None
        except MemoryError:
            raise click.ClickException(NO_MEMORY_FOR_COMMAND) from None
        except KeyboardInterrupt:
            # A terminal has written ^C, perhaps behind a bar.
            below = "\n" if sys.stderr.isatty() else ""
            say(f"{below}stopped by Ctrl-C")
            raise click.exceptions.Exit(INTERRUPTED) from None

    def _typed(self, ctx: click.Context) -> dict[str, str]:
        """Return the options of the command as they are typed, by their names in Python."""
        command = self.get_command(ctx, ctx.invoked_subcommand or "")
        params = [] if command is None else command.params
        typed = {
            one.human_readable_name: max(one.opts, key=len)
            for one in params
            if one.opts[0][0] == "-"
        }
        typed |= {name[2:].replace("-", "_"): name for name in typed.values()}
        if "namesrv" in typed:
            typed["namesrv_addr"] = typed["namesrv"]
        return typed

    def _with_options(self, ctx: click.Context, text: str) -> str:
        """Return an error that begins with an option as that is typed: ``--grpc-port=`` for
        ``grpc=``. What is better "in Python" is left out.

        Its other words that are options have an underscore, as in "tls_key_file needs
        tls_cert_file"; a word of a user's value is hardly one of them.
        """
        text = text.partition("; in Python, ")[0]
        typed = self._typed(ctx)
        first, *words = text.split(" ")
        option, equals, rest = first.partition("=")
        if option not in typed or not (equals or "_" in option):
            return text
        words = [typed.get(word, word) if "_" in word else word for word in words]
        return " ".join([f"{typed[option]}{equals}{rest}", *words])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__, prog_name="fakemq", message="%(prog)s %(version)s, as Apache RocketMQ 4.9.7"
)
def main() -> None:
    """An Apache RocketMQ cluster in one process, for tests.

    Without a command this is "serve": a name server on 127.0.0.1:9876 and a broker, until
    Ctrl-C. See "serve --help" for its options.
    """
