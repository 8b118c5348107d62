"""Runs the scenarios that stdin names; the commands and events are those of conformance/java."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from conformance.python.drivers import commands
from conformance.python.lab import Lab
from conformance.python.spelling import event

LabT = TypeVar("LabT", bound=Lab)


def run_scenarios(
    table: Mapping[str, Callable[[LabT], None]],
    lab_of: Callable[[str, str], LabT],
    at_once: int,
) -> None:
    """Run scenarios, some at a time, until stdin ends; ``lab_of`` takes a name and a suffix."""
    pool = ThreadPoolExecutor(at_once, "scenario")
    event("ready")
    for command in commands():
        _, name, suffix = command.split(" ")
        pool.submit(_run, table[name], lab_of(name, suffix))
    # Clients may still run; that is no part of the observations.
    sys.stdout.flush()
    os._exit(0)


def _run(scenario: Callable[[LabT], None], lab: LabT) -> None:
    """Run one scenario to its end."""
    try:
        scenario(lab)
    except Exception as error:
        lab.fail(error)
    event(f"ended {lab.scenario}")
    lab.close()
