"""Sees whether the cluster does a call's work in slices, between which others go first."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import fakemq

T = TypeVar("T")


def wait_until_in_slices(mq: fakemq.Cluster, call: Future[Any]) -> None:
    """Wait until some of a call's work is left for later; fail if it was done at once."""
    while not mq.inspect(lambda core: core.clock.slices.waiting):
        assert not call.done(), "it was done at once"


def result_of_slices(mq: fakemq.Cluster, call: Callable[[], T]) -> T:
    """Return what a call returns; fail if none of its work was left for later."""
    slices = mq.inspect(lambda core: core.clock.slices)
    soon, left = slices.soon, []
    assert soon is not None

    def noted() -> None:
        left.append(True)
        soon()

    slices.soon = noted
    try:
        result = call()
    finally:
        slices.soon = soon
    assert left, "it was done at once"
    return result
