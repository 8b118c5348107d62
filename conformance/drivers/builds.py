"""Client programs that are built into ``.cache`` once, and need no network after that."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache"
BUILD_TIMEOUT_S = 900.0


class BuildError(Exception):
    """A toolchain could not download or build; the message carries its output."""


def up_to_date(cache: Path, sources: Iterable[Path], build: Callable[[], None]) -> None:
    """Build if something has changed since it was built last; safe under xdist."""
    cache.mkdir(parents=True, exist_ok=True)
    wanted = _fingerprint(sources)
    stamp = cache / "stamp"
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            build()
            stamp.write_text(wanted)


def run_to_end(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, with these variables beside ours; return what it printed.

    Raise TimeoutExpired if it has not ended after ``timeout_s``.
    """
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | environment,
        timeout=timeout_s,
    )


def run_tool(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str | None:
    """Run a tool; return None if it did its work, else what it printed."""
    done = run_to_end(command, folder, environment, BUILD_TIMEOUT_S)
    return None if done.returncode == 0 else done.stdout + done.stderr


def build_go(sources: Path, cache: Path, program: str) -> Path:
    """Return a program of those that are built of a folder of Go. Raises BuildError."""
    built = cache / program
    environment = go_environment()

    def build() -> None:
        output: str | None = ""
        for offline in ({"GOPROXY": "off"}, {}):  # the network only for what is not cached yet
            command = ["go", "build", "-o", f"{cache}/", "./..."]
            output = run_tool(command, sources, environment | offline)
            if output is None:
                return
        raise BuildError(f"go build failed:\n{(output or '')[-4000:]}")

    up_to_date(cache, sorted(path for path in sources.rglob("*") if path.is_file()), build)
    return built


def go_environment() -> dict[str, str]:
    """Return variables with which the Go toolchain keeps all that is its own in a cache of ours.

    It is one cache, and all is built with the same flags: the standard library takes a core a
    quarter of a minute, and is compiled once. To optimise programs that wait most of the time, and
    to collect garbage in compilers that end after a second, would take two thirds more.
    """
    cache = CACHE / "go_toolchain"
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return {
        "GOPATH": str(cache / "path"),
        "GOMODCACHE": str(cache / "modules"),
        "GOCACHE": str(cache / "build"),
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
        # The modules are to be deleted like the rest of .cache; by default they are read-only.
        "GOFLAGS": "-modcacherw -buildvcs=false -trimpath '-gcflags=all=-N -l'",
        "GOGC": "800",
        # The toolchain counts its own use below the user's settings; those it may only read.
        "GOENV": os.environ.get("GOENV") or str(settings / "go" / "env"),
        "HOME": str(cache),
        "XDG_CONFIG_HOME": str(cache / "config"),
    }


def _fingerprint(sources: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sources:
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()
