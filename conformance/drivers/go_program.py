"""Builds and runs our Go client program: scenarios that print observations, and drivers.

``observe(namesrv_addr, "sync")`` returns what the client saw, in lines that are the same on every
correct cluster. ``GoProducer`` and ``GoConsumer`` are long-lived clients in their own process. The
Go toolchain keeps all it downloads and builds in ``.cache`` inside the clone and needs no network
once that is there.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from pathlib import Path

from conformance.drivers.builds import CACHE, build_go, go_environment
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

_SOURCES = Path(__file__).parents[1] / "go"
_CACHE = CACHE / "go"


def missing_go() -> str | None:
    """Why the Go program cannot run here, in one line, or None when it can."""
    if shutil.which("go") is not None:
        return None
    return "go not on PATH: the tests with the Go client need the Go toolchain"


def binary() -> Path:
    """Return the built program; build it when its sources have changed. Raises BuildError."""
    return build_go(_SOURCES, _CACHE, "conformance")


def recipe() -> Path:
    """Return the program of docs/clients.md. Raises BuildError."""
    return binary().with_name("recipe")


def project_tests() -> tuple[list[str], Path, dict[str, str]]:
    """Return how the tests of docs/howto/languages.md are run: command, folder, variables.

    Raises BuildError.
    """
    binary()  # it brings the modules
    command = ["go", "test", "-vet=off", "-count=1", "-v", "./project"]
    return command, _SOURCES, go_environment() | {"GOPROXY": "off"}


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
