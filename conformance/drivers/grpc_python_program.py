"""Runs conformance/grpc_python: RocketMQ 5's own Python client, behind a proxy.

The client is installed by pip into a folder of ``.cache``, with all it needs: none of that is part
of the development environment. It is done once, and needs no network after that.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from conformance.drivers.drivers import Observing

SCENARIOS = (
    *("pydead", "pytransaction", "pyretry", "pyunacknowledged", "pyfifopush", "pydelay"),
    *("pychange", "pyfilters", "pyfifo", "pyplain"),
)
AT_ONCE = 6
"""Scenarios of one process that run at a time: most of what they do is wait."""
INSTALL_TIMEOUT_S = 600.0

_ROOT = Path(__file__).parents[2]
_REQUIREMENTS = _ROOT / "conformance" / "grpc_python" / "requirements.txt"
_CACHE = _ROOT / ".cache" / "grpc_python"


class GrpcClientError(Exception):
    """pip could not install the client; the message carries its output."""


def client_folder() -> Path:
    """Return the folder with the client; install it if it is missing. Raises GrpcClientError."""
    return installed(_REQUIREMENTS, _CACHE)


def installed(requirements: Path, cache: Path) -> Path:
    """Return the folder with what a file requires, and nothing besides; install what is missing.

    It is safe under xdist. Raises GrpcClientError.
    """
    cache.mkdir(parents=True, exist_ok=True)
    folder, stamp = cache / "lib", cache / "stamp"
    wanted = f"{sys.version}\n{requirements.read_text()}"
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            _install(requirements, folder)
            stamp.write_text(wanted)
    return folder


def _install(requirements: Path, folder: Path) -> None:
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        *("--no-compile", "--no-deps", "--target", str(folder)),
        *("--requirement", str(requirements)),
    ]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=INSTALL_TIMEOUT_S,
    )
    if done.returncode != 0:
        raise GrpcClientError(f"pip failed for {requirements}:\n{done.stdout[-4000:]}")


def environment(home: Path) -> Mapping[str, str]:
    # The client logs below HOME.
    paths = os.pathsep.join(map(str, (_ROOT, client_folder())))
    return os.environ | {"PYTHONPATH": paths, "HOME": str(home)}


class GrpcPythonProgram(Observing):
    """A process that runs scenarios, up to ``AT_ONCE`` of those begun at a time.

    ``variables`` are added to its environment.
    """

    def __init__(self, namesrv_addr: str, proxy_addr: str, **variables: str) -> None:
        self._addrs = namesrv_addr, proxy_addr
        words = ("-m", "conformance.grpc_python", *self._addrs, str(AT_ONCE))
        super().__init__(
            lambda _: [sys.executable, *words], lambda home: {**environment(home), **variables}
        )

    def observe_again(self, scenario: str) -> list[str]:
        """Return what the clients of a scenario see in a process of their own."""
        with GrpcPythonProgram(*self._addrs) as program:
            return program.observe(scenario)

    def client_log(self) -> list[str]:
        """Return the errors that the client has logged."""
        return [
            line
            for path in sorted((self.home / "logs").rglob("*.log"))
            for line in path.read_text(errors="replace").splitlines()
            if "[ERROR]" in line or "[WARNING]" in line
        ]
