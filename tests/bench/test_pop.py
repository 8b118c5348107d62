"""The loads of POP that are measured, and the program's lines."""

from __future__ import annotations

from bench.measure import Plan
from bench.pop import LOADS, Load, figures


def test_load_names_its_figures() -> None:
    assert Load(1, 1).names == ("pops/s, 1 thread, 1 queue", "acks/s, 1 thread, 1 queue")
    assert Load(16, 8).names == ("pops/s, 16 threads, 8 queues", "acks/s, 16 threads, 8 queues")


def test_loads_have_one_thread_and_sixteen() -> None:
    assert {load.threads for load in LOADS} == {1, 16}


def test_nothing_is_measured_without_java() -> None:
    assert not list(figures(Plan(java=False)))
