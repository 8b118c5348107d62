"""Waits until the cluster is busy with a call's work that it does in slices."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import fakemq


def wait_until_in_slices(mq: fakemq.Cluster, call: Future[Any]) -> None:
    """Wait until some of a call's work is left for later; fail if it was done at once."""
    while not mq.inspect(lambda core: core.clock.slices.waiting):
        assert not call.done(), "it was done at once"
