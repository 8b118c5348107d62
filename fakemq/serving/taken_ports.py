"""A port that is in use already: by which process, and what to do."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import takewhile
from typing import NamedTuple

from fakemq.errors import FakemqError, printable

_LISTENS = "0A"
"""The state of a listening socket in Linux's table of sockets."""
_SHOWN_CHARACTERS = 80


class PortTakenError(FakemqError):
    """A port is in use; ``option`` is the name of the option that chooses it.

    To find the process that has it takes some milliseconds.
    """

    def __init__(self, host: str, port: int, use: str, option: str) -> None:
        self.option = option
        owner, end_it = _words(listening_process(port))
        super().__init__(
            f"port {port} on {host}{use and f' ({use})'} is in use by {owner};"
            f" {end_it}choose another port, or 0 for a free one"
        )


class Process(NamedTuple):
    pid: int
    words: list[str]
    """Its command line."""


def listening_process(port: int) -> Process | None:
    """Return the process that listens at a port; None if the system does not say.

    Only Linux knows it, and only for processes of the same user.
    """
    with suppress(OSError):
        links = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
        for pid in filter(str.isdecimal, os.listdir("/proc") if links else ()):
            with suppress(OSError):  # of another user, or ended meanwhile
                if any(link in links for link in _open_files(f"/proc/{pid}/fd")):
                    with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                        return Process(int(pid), file.read().rstrip("\0").split("\0"))
    return None


def _listening_inodes(port: int) -> list[str]:
    found = []
    for name in ("tcp", "tcp6"):
        with suppress(OSError), open(f"/proc/net/{name}", encoding="ascii") as file:
            next(file)
            for line in file:
                _, local, _, state, *rest = line.split()
                if state == _LISTENS and int(local.rpartition(":")[2], 16) == port:
                    found.append(rest[5])
    return found


def _open_files(folder: str) -> list[str]:
    links = []
    for name in os.listdir(folder):
        with suppress(OSError):
            links.append(os.readlink(f"{folder}/{name}"))
    return links


def _words(process: Process | None) -> tuple[str, str]:
    """Return the owner of the port, and what can be done besides."""
    if process is None:
        return "another program", ""
    if process.pid == os.getpid():
        return "this process", ""
    program, *args = process.words
    # What follows the first option may be a secret.
    shown = takewhile(lambda word: word == "-m" or not word.startswith("-"), args)
    text = printable(" ".join((os.path.basename(program), *shown)))[:_SHOWN_CHARACTERS]
    if "fakemq" in map(os.path.basename, process.words):
        return f"another fakemq, pid {process.pid} ({text})", "stop it or "
    return f"pid {process.pid} ({text})", ""
