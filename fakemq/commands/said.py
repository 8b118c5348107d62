"""What commands say beside their output: notes, warnings and errors, on stderr."""

from __future__ import annotations

import click

from fakemq.errors import printable_lines


def say(text: str) -> None:
    """Write lines to stderr. A name or remark of a peer does not control the terminal."""
    click.echo(printable_lines(text), err=True)
