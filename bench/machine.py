"""The machine's part of a figure: processor, cores, versions, and the load by other processes."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import gmtime, perf_counter, strftime

from bench.family import TICKS_PER_S, descendants, used_s
from bench.process import ROOT, TREE


def describe_machine(*, java: bool) -> dict[str, str]:
    """Return names and values as texts."""
    found = {
        "date": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
        "commit": _commit(),
        "form": form(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "event loop": "asyncio's; uvloop is hidden, as make serve installs none",
        "load before": f"{os.getloadavg()[0]:.1f}",
    }
    if java:
        from conformance.targets.java_jars import NEWEST, REFERENCE

        found["java"] = _java()
        found["RocketMQ"] = f"broker {REFERENCE}, client {NEWEST}"
    with suppress(PackageNotFoundError):
        found["Spark"] = f"PySpark {version('pyspark')}, pyarrow {version('pyarrow')}"
    return found


def form() -> str:
    """Return which form of fakemq is measured."""
    return "compiled" if any((TREE / "fakemq").rglob("*.so")) else "pure Python"


def _commit() -> str:
    """Return the checkout's commit, with a plus sign if files differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _java() -> str:
    done = subprocess.run(["java", "-version"], capture_output=True, text=True, timeout=30)
    said = (done.stderr or done.stdout).splitlines()
    return said[0] if said else "unknown version"


class Others:
    """The processor time that other processes used since this object was made."""

    def __init__(self) -> None:
        self._began_s = perf_counter()
        self._began_with_s = _busy_s() - _own_s()

    def cores(self) -> float:
        """Return it as a number of cores; what this process has started does not count."""
        used = _busy_s() - _own_s() - self._began_with_s
        return max(used, 0.0) / (perf_counter() - self._began_s)


def _busy_s() -> float:
    """Source: proc_stat(5): user, nice, system, idle, iowait, irq, softirq, ..."""
    ticks = [int(text) for text in Path("/proc/stat").read_text().split("\n")[0].split()[1:8]]
    return (sum(ticks) - ticks[3] - ticks[4]) / TICKS_PER_S


def _own_s() -> float:
    return sum(os.times()[:4]) + sum(map(used_s, descendants(os.getpid())))
