"""Builds and runs our Go client program: scenarios that print observations, and drivers.

``observe(namesrv_addr, "sync")`` returns what the client saw, in lines that are the same on every
correct cluster. ``GoProducer`` and ``GoConsumer`` are long-lived clients in their own process. The
Go toolchain keeps all it downloads and builds in ``.cache`` inside the clone and needs no network
once that is there.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path

from conformance.drivers.drivers import DriverError, run_scenario
from conformance.drivers.launched import Launch, LaunchedConsumer, LaunchedProducer

SCENARIOS = (
    # Those that wait for the client's own timers, up to 90 s, come first: all run side by side.
    "heir",
    "grow",
    "checked",
    "reset",
    "retry",
    "offsets",
    "poll",
    "inherited",
    "orderlydlq",
    "orderly",
    "suspend",
    "expired",
    "levels",
    "delay",
    "transactions",
    "request",
    "trace",
    "where",
    "sql",
    "sqlerrors",
    "dying",
    "rebalance",
    "broadcast",
    "push",
    "pull",
    "pullerrors",
    "batches",
    "sync",
    "async",
    "oneway",
    "batch",
    "errors",
    "autotopic",
    "properties",
    "hashed",
    "interceptors",
    "credentials",
    "namespace",
    "admin",
)
ACCESS_SCENARIO = "access"
"""The scenario of a cluster with aclEnable=true."""
SCENARIO_TIMEOUT_S = 200.0
BUILD_TIMEOUT_S = 600.0

_SOURCES = Path(__file__).parents[1] / "go"
_CACHE = Path(__file__).parents[2] / ".cache" / "go"


class GoBuildError(Exception):
    """The Go toolchain could not download or build; the message carries its output."""


def missing_go() -> str | None:
    """Why the Go program cannot run here, in one line, or None when it can."""
    if shutil.which("go") is not None:
        return None
    return "go not on PATH: the tests with the Go client need the Go toolchain"


def binary() -> Path:
    """Return the built program; build it when its sources have changed. Raises GoBuildError."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    with open(_CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        built, stamp = _CACHE / "conformance", _CACHE / "stamp"
        wanted = _fingerprint()
        if not built.exists() or not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            _build(built)
            stamp.write_text(wanted)
    return built


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for path in sorted(_SOURCES.iterdir()):
        digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _build(built: Path) -> None:
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    environment = os.environ | {
        "GOPATH": str(_CACHE / "path"),
        "GOMODCACHE": str(_CACHE / "modules"),
        "GOCACHE": str(_CACHE / "build"),
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
        # The modules are to be deleted like the rest of .cache; by default they are read-only.
        "GOFLAGS": "-modcacherw -buildvcs=false",
        # The toolchain counts its own use below the user's settings; those it may only read.
        "GOENV": os.environ.get("GOENV") or str(settings / "go" / "env"),
        "HOME": str(_CACHE),
        "XDG_CONFIG_HOME": str(_CACHE / "config"),
    }
    output = ""
    for offline in ({"GOPROXY": "off"}, {}):  # the network only when something is not cached yet
        done = subprocess.run(
            ["go", "build", "-trimpath", "-o", str(built), "."],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=_SOURCES,
            env=environment | offline,
            timeout=BUILD_TIMEOUT_S,
        )
        if done.returncode == 0:
            return
        output = done.stdout + done.stderr
    raise GoBuildError(f"go build failed:\n{output[-4000:]}")


def _environment(home: Path, **extra: str) -> dict[str, str]:
    # The client keeps broadcasting offsets below HOME and logs to stderr.
    return os.environ | {"HOME": str(home), "ROCKETMQ_GO_LOG_LEVEL": "warn"} | extra


def observe(namesrv_addr: str, scenario: str, **environment: str) -> list[str]:
    """Run a scenario with fresh topic and group names; return its observations in order.

    ``environment`` has variables that the scenario reads.
    Raises DriverError with everything printed when the program fails or takes over 200 s.
    """
    with tempfile.TemporaryDirectory(prefix="go-program-") as home:
        end = run_scenario(
            [str(binary()), namesrv_addr, scenario],
            Path(home),
            SCENARIO_TIMEOUT_S,
            # One length always: the suffix is part of stored sizes.
            _environment(Path(home), CONFORMANCE_SUFFIX=f"_{secrets.token_hex(4)}", **environment),
        )
        if end.status != 0:
            log = f"{end.printed}\n{end.complaints[-10_000:]}"
            raise DriverError(f"{scenario} ended with {end.status}\n{log}")
    return end.observations


_LAUNCH = Launch(lambda: [str(binary())], _environment)


class GoProducer(LaunchedProducer):
    """A producer that tries each send at more queues than one broker has."""

    LAUNCH = _LAUNCH


class GoConsumer(LaunchedConsumer):
    """A push consumer."""

    LAUNCH = _LAUNCH
