"""Ports of tests are reserved: two tests of one machine never get the same."""

from __future__ import annotations

import subprocess
import sys

from conformance.targets import free_ports
from conformance.targets.free_ports import free_port


def test_free_port_is_reserved_for_this_process() -> None:
    port = free_port(broker=True)
    code = f"from conformance.targets import free_ports; print(free_ports._reserve({port}))"
    command = [sys.executable, "-c", code]
    asked = subprocess.run(command, capture_output=True, text=True, check=True)
    assert asked.stdout.split() == ["False"]
    assert not free_ports._reserve(port)
