"""The ways in which the attack on stores changes files: bytes, sizes, names, kinds of files."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from fakemq.protocol.message import MESSAGE_MAGIC_CODE
from fakemq.store import seal

NODE = "broker-a-0"


def mutate(draw: random.Random, node: Path) -> str:
    """Change one file or folder; return what was done."""
    kind = draw.choice(KINDS)
    paths = [path for path in sorted(node.rglob("*")) if kind in str(path.relative_to(node))]
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    if not files:
        return f"nothing of {kind}"
    path = draw.choice(files)
    name = str(path.relative_to(node))
    if draw.random() < 0.05:
        shutil.rmtree(path.parent) if path.parent != node else path.unlink()
        return f"delete the folder of {name}"
    how = draw.choice(list(MUTATIONS))
    try:
        MUTATIONS[how](draw, path, draw.choice(files))
    except OSError as error:
        return f"{how} {name} failed: {error.strerror}"
    return f"{how} {name}"


KINDS = (
    *("commitlog", "commitlog", "consumequeue", "consumequeue", "index", "config", "config"),
    *("timerlog", "timerwheel", "timercheck", "timermetrics"),
    *("checkpoint", "abort", "lock", "delayOffset", "consumerOffset", "topics", "", ".bak"),
    seal.PATH,
)


def _patch(path: Path, change: Callable[[bytearray], None]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def _used(data: bytearray) -> int:
    return max(1, len(data.rstrip(b"\0")))


def flip(draw: random.Random, path: Path, other: Path) -> None:
    def change(data: bytearray) -> None:
        for _ in range(draw.choice((1, 1, 1, 8))):
            if data:
                data[draw.randrange(_used(data))] ^= 1 << draw.randrange(8)

    _patch(path, change)


def garbage(draw: random.Random, path: Path, other: Path) -> None:
    def change(data: bytearray) -> None:
        if data:
            at = draw.randrange(_used(data))
            size = min(len(data) - at, draw.choice((1, 4, 20, 400, 1 << 20)))
            data[at : at + size] = draw.randbytes(size)

    _patch(path, change)


def header(draw: random.Random, path: Path, other: Path) -> None:
    """Change a byte in the header of a record; no checksum covers it."""

    def change(data: bytearray) -> None:
        magic = MESSAGE_MAGIC_CODE.to_bytes(4, signed=True)
        records = [one.start() - 4 for one in re.finditer(re.escape(magic), data)]
        if records:
            first, size = draw.choice(_HEADER_FIELDS)
            at = draw.choice(records) + first + draw.randrange(size)
            values = (0x10, 0x7F, 0x80, 0xFF, data[at] ^ 1 << draw.randrange(8))
            data[at] = draw.choice(values)

    _patch(path, change)


_HEADER_FIELDS = ((0, 4), (20, 8), (28, 8), (36, 4))
"""Place and size of size, queue offset, physical offset and sysflag."""


def zero(draw: random.Random, path: Path, other: Path) -> None:
    def change(data: bytearray) -> None:
        at = draw.randrange(_used(data)) if draw.random() < 0.7 else 0
        size = min(len(data) - at, draw.choice((1, 8, 20, 512, 1 << 20)))
        data[at : at + size] = bytes(size)

    _patch(path, change)


def truncate(draw: random.Random, path: Path, other: Path) -> None:
    os.truncate(path, draw.choice((0, 1, draw.randint(0, path.stat().st_size))))


def extend(draw: random.Random, path: Path, other: Path) -> None:
    with open(path, "ab") as file:
        file.write(draw.choice((bytes, draw.randbytes))(draw.choice((1, 20, 4096))))


def swap(draw: random.Random, path: Path, other: Path) -> None:
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


def duplicate(draw: random.Random, path: Path, other: Path) -> None:
    shutil.copyfile(path, other if draw.random() < 0.5 else path.with_name(_name(draw, path)))


def rename(draw: random.Random, path: Path, other: Path) -> None:
    target = path if draw.random() < 0.7 or path.parent.name == NODE else path.parent
    target.rename(target.with_name(_name(draw, target)))


def _name(draw: random.Random, path: Path) -> str:
    return draw.choice(
        [
            *("7", "x", f"{draw.randrange(40) * 400:020}", f"{draw.randrange(9) * 24_576:020}"),
            *(path.name + ".bak", path.name + "0", os.fsdecode(b"\xff\xfe"), "a\nb", "٣"),
        ]
    )


def replaced(make: Callable[[Path], object]) -> Callable[[random.Random, Path, Path], None]:
    def change(draw: random.Random, path: Path, other: Path) -> None:
        path.unlink()
        make(path)

    return change


def permissions(draw: random.Random, path: Path, other: Path) -> None:
    draw.choice((path, path.parent)).chmod(draw.choice((0o000, 0o444, 0o555)))


def version(draw: random.Random, path: Path, other: Path) -> None:
    """Give numbers and names of another version or language to a text, magic codes to records."""
    data = path.read_bytes()
    for old, new in ((b"\xda\xa3\x20\xa7", b"\xda\xa3\x20\xa8"), (b'"perm":6', b'"perm":"rw"')):
        data = data.replace(old, new)
    path.write_bytes(data.replace(b"{", b'{"@type":"x.Y",', 1) if b'{"' in data[:3] else data)


MUTATIONS: dict[str, Callable[[random.Random, Path, Path], None]] = {
    "flip": flip,
    "flip in": flip,
    "header of": header,
    "garbage in": garbage,
    "zero": zero,
    "truncate": truncate,
    "extend": extend,
    "swap": swap,
    "delete": lambda draw, path, other: path.unlink(),
    "duplicate": duplicate,
    "rename": rename,
    "pipe": replaced(os.mkfifo),
    "folder": replaced(Path.mkdir),
    "loop": replaced(lambda path: path.symlink_to(path.name)),
    "device": replaced(lambda path: path.symlink_to("/dev/zero")),
    "permissions": permissions,
    "version": version,
}
