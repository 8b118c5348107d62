"""``fakemq decode``: bytes explained field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fakemq.decoding.fields import Item

INPUT_MAX_BYTES = 1 << 30
VALUE_MAX_CHARACTERS = 120
_KINDS = (
    *("frame", "record", "batch", "capture", "http2", "index", "ha", "consumequeue", "timerlog"),
    *("timerwheel", "ha-ack", "checkpoint", "timercheck"),
)


@click.command(short_help="Explain bytes field by field.")
@click.argument("source", metavar="[FILE|HEX|-]", default="-")
@click.option(
    "--as",
    "kind",
    type=click.Choice(_KINDS),
    help="What the bytes are; by default found out by their begin and the file's name.",
)
@click.option("--skip", type=click.IntRange(0), default=0, metavar="N", help="Begin at byte N.")
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="Show only N frames, records or entries."
)
@click.option("--json", "as_json", is_flag=True, help="A line of JSON for each field.")
@click.pass_context
def decode(
    ctx: click.Context, source: str, kind: str | None, skip: int, limit: int | None, as_json: bool
) -> None:
    """Explain bytes field by field, with offsets, and say where they go wrong.

    Reads a file, standard input, or hex digits on the command line; a hex dump of xxd, hexdump -C
    or Wireshark is text that stands for bytes. Knows frames of the remoting protocol, HTTP/2 of
    gRPC clients, stored messages, batches, the files of a store, and pcap or pcapng captures, whose
    TCP connections it puts together. The exit code is 1 if something is wrong with the bytes.
    """
    from fakemq.decoding.explain import explain, kind_of, unwrapped
    from fakemq.decoding.fields import Problem, Title

    data, path = _input(source)
    data = unwrapped(data)[skip:]
    kind = kind or kind_of(data, path)
    problems = 0
    titles = 0
    for item in explain(data, kind):
        titles += isinstance(item, Title)
        if limit is not None and titles > limit:
            break
        problems += isinstance(item, Problem)
        _print(item, data, skip, as_json)
    ctx.exit(1 if problems else 0)


def _input(source: str) -> tuple[bytes, str]:
    """Return the bytes of a file, of standard input or of hex digits, and the file's path."""
    import os
    import sys

    from fakemq.decoding.hex_dump import bytes_of
    from fakemq.errors import ConfigError

    if source == "-":
        return _limited(sys.stdin.buffer.read(INPUT_MAX_BYTES + 1), "standard input"), ""
    digits = bytes_of(source)
    if digits and not os.path.exists(source):
        return digits, ""
    try:
        with open(source, "rb") as file:
            return _limited(file.read(INPUT_MAX_BYTES + 1), source), os.path.abspath(source)
    except OSError as error:
        raise ConfigError(
            f"{source}: {error.strerror}; expected a file, hex digits, or - for standard input"
        ) from None


def _limited(data: bytes, name: str) -> bytes:
    from fakemq.errors import ConfigError

    if len(data) > INPUT_MAX_BYTES:
        raise ConfigError(f"{name}: over {INPUT_MAX_BYTES >> 30} GiB; cut a part of it out")
    if not data:
        raise ConfigError(f"{name}: it is empty")
    return data


def _print(item: Item, data: bytes, skipped: int, as_json: bool) -> None:
    from fakemq.commands.output import json_line, write_line
    from fakemq.decoding.fields import Field, Problem

    if as_json:
        row = {"kind": type(item).__name__.lower(), **item._asdict()}
        row["offset"] += skipped
        if isinstance(row.get("value"), bytes):
            row["value"] = row["value"].hex()
        write_line(json_line(row))
        return
    for line in _lines(item, skipped):
        if isinstance(item, Field):
            write_line(line)
        else:
            color = "red" if isinstance(item, Problem) else "cyan"
            click.secho(line, fg=color, bold=True)


def _lines(item: Item, skipped: int) -> Iterator[str]:
    from fakemq.commands.output import cell
    from fakemq.decoding.fields import Field, Problem

    at = f"{item.offset + skipped:08x}"
    if isinstance(item, Problem):
        yield f"{at}  WRONG: {cell('', item.text)}"
    elif isinstance(item, Field):
        value = item.value
        text = f"0x{value[:64].hex()}" if isinstance(value, bytes) else cell("", value)
        if isinstance(value, bytes) and len(value) > 64:
            text += "\u2026"
        if len(text) > VALUE_MAX_CHARACTERS:
            text = f"{text[:VALUE_MAX_CHARACTERS]}\u2026"
        size = f"{item.size:>6}" if item.size else " " * 6
        name = f"{'  ' * item.depth}{cell('', item.name)}"
        note = f"  ({item.note})" if item.note else ""
        yield f"{at} {size}  {name:<28} {text}{note}".rstrip()
    else:
        yield f"{at}  -- {cell('', item.text)}"
