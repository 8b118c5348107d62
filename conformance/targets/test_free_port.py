"""Ports of tests are reserved: two tests of one machine never get the same."""

from __future__ import annotations

import subprocess
import sys

from conformance.targets import java_cluster
from conformance.targets.java_cluster import free_port


def test_free_port_is_reserved_for_this_process() -> None:
    port = free_port(broker=True)
    code = f"from conformance.targets import java_cluster; print(java_cluster._reserve({port}))"
    command = [sys.executable, "-c", code]
    asked = subprocess.run(command, capture_output=True, text=True, check=True)
    assert asked.stdout.split() == ["False"]
    assert not java_cluster._reserve(port)
