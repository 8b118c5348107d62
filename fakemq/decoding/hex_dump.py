"""Reads bytes that are written as text: hex digits, or the dumps of usual tools."""

from __future__ import annotations

import re

_REPEATED_MAX_BYTES = 1 << 30
"""How far an offset may be behind ``*``, by which dumps leave out equal lines."""

_PLACE = re.compile(r"(?:0x)?[0-9a-fA-F]{4,16}:?(?=\s)")
_PAIRS = re.compile(r"(?:[0-9a-fA-F]{2})+")


def is_hex(data: bytes) -> bool:
    """Return whether these bytes seem to be a text of hex digits."""
    start = data[:4096]
    if not start.strip() or any(
        byte > 126 or (byte < 32 and byte not in b"\t\r\n") for byte in start
    ):
        return False
    return bool(bytes_of(start.decode("ascii").rpartition("\n")[0] or start.decode("ascii")))


def bytes_of(text: str) -> bytes:
    """Return the bytes of a dump as of ``xxd``, ``hexdump -C``, Wireshark, or of bare digits.

    Each line may begin with its offset, and may end with the same bytes as text behind two blanks
    or ``|``. Return b"" for a text that has another form.
    """
    found = bytearray()
    repeats = False
    for line in text.splitlines():
        word = line.strip()
        if word == "*":  # the lines from here to the next offset are the same as the last one
            repeats = True
            continue
        place = _PLACE.match(f"{word} ")
        if repeats and place is not None:
            end = min(int(place[0].rstrip(":"), 16), _REPEATED_MAX_BYTES)
            while found and len(found) < end:
                found += found[-16:]
        repeats = False
        if found and 6 <= len(word) <= 8 and _PAIRS.fullmatch(word) and int(word, 16) == len(found):
            continue  # hexdump -C and od end with the offset of the end
        pairs = _line_bytes(word)
        if pairs is None:
            return b""
        found += pairs
    return bytes(found)


def _line_bytes(line: str) -> bytes | None:
    if not line or line.startswith("#"):
        return b""
    line = line.removeprefix("b").strip("'\"") if line.startswith("b'") else line
    line = line.partition("|")[0]
    has_place = _PLACE.match(line)
    if has_place and (has_place[0].endswith(":") or len(line.split()) > 1):
        line = line[has_place.end() :].lstrip()
        line = re.split(r"\s{2,}(?=\S*[^0-9a-fA-F\s]|\S{17,})", line)[0]
    groups = line.replace("\\x", " ").split()
    data = bytearray()
    for number, group in enumerate(groups):
        if not _PAIRS.fullmatch(group):
            # The text column of xxd stands behind two blanks, or behind all sixteen bytes.
            return bytes(data) if number and has_place else None
        data += bytes.fromhex(group)
        if has_place and len(data) == 16:
            break
    if has_place and not groups:
        return b""  # the last line of hexdump -C is an offset alone
    return bytes(data)
