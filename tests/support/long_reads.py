"""Sees whether the cluster does a call's work in slices, between which others go first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import pytest

import fakemq
from fakemq.clock.slices import Steps
from fakemq.core.cluster import ClusterCore

T = TypeVar("T")


def wait_until_in_slices(mq: fakemq.Cluster, call: Future[Any]) -> None:
    """Wait until some of a call's work is left for later; fail if it was done at once."""
    while not mq.inspect(lambda core: core.clock.slices.waiting):
        assert not call.done(), "it was done at once"


def result_of_slices(
    mq: fakemq.Cluster, call: Callable[[], T], meanwhile: Callable[[], object] = lambda: None
) -> T:
    """Return what a call returns; fail if none of its work was left for later.

    ``meanwhile`` is called once, on the cluster's thread, when the first of it is left.
    """
    slices = mq.inspect(lambda core: core.clock.slices)
    soon = slices.soon
    left: list[bool] = []
    assert soon is not None

    def noted() -> None:
        soon()
        if not left:
            left.append(True)
            meanwhile()

    slices.soon = noted
    try:
        result = call()
    finally:
        slices.soon = soon
    assert left, "it was done at once"
    return result


def most_reads_of_a_step(core: ClusterCore, steps: Steps[object]) -> int:
    """Do work up to its end; return how many messages its longest step read from the stores."""
    reads: Counter[int] = Counter()
    step = 0

    def noting(look: Callable[..., T]) -> Callable[..., T]:
        def noted(*args: Any) -> T:
            reads[step] += 1
            return look(*args)

        return noted

    with pytest.MonkeyPatch.context() as patch:
        for broker in core.brokers.values():
            look = noting(broker.store.look_message_by_offset)
            patch.setattr(broker.store, "look_message_by_offset", look)
        for _ in steps:
            step += 1
    return max(reads.values())
