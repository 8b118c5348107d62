"""What figures depend on: processor, cores, versions, and what else the machine was doing."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path


def describe_machine(*, java: bool) -> dict[str, str]:
    """Names and values, in words."""
    told = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "event loop": "asyncio's; uvloop is hidden, as make serve installs none",
        "load before": f"{os.getloadavg()[0]:.1f}",
    }
    if java:
        from conformance.java_jars import NEWEST, REFERENCE

        told["java"] = _java()
        told["RocketMQ"] = f"broker {REFERENCE}, client {NEWEST}"
    return told


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _java() -> str:
    done = subprocess.run(["java", "-version"], capture_output=True, text=True, timeout=30)
    said = (done.stderr or done.stdout).splitlines()
    return said[0] if said else "says no version"
