"""``fakemq completion``: what a shell needs to complete commands, options and names."""

from __future__ import annotations

import click


@click.command(short_help="Complete commands and names in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """A script that makes a shell complete commands, options, topics and groups.

    bash: eval "$(fakemq completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: fakemq
    completion fish > ~/.config/fish/completions/fakemq.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "fakemq", "_FAKEMQ_COMPLETE").source())
