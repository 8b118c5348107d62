"""One seed from start to end: its folder, its run, its verdict, and its journal as text."""

from __future__ import annotations

import gc
import logging
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Unpack

from fakemq.journal.entries import Entry
from fakemq.journal.journal import line
from fakemq.sim.drawing import RunKind, draw_plan
from fakemq.sim.events import Sent
from fakemq.sim.history import Violation
from fakemq.sim.plan import REFERENCES, Plan, PopPlan, ReplicasPlan
from fakemq.sim.run import SimulationRun

RAM_FOLDER = "/dev/shm"
"""Stores are here if it exists: a simulated disk does not need the flushes of a real one."""
STORE = "STORE"
"""Replaces the store folder in the journal's text, because each run has another folder."""
LINES_MAX = 40
"""A violation is shown with at most this number of journal lines."""

_COLLECT_AFTER = 200_000
"""New objects between two garbage collections: a run is short and keeps most of its objects."""


class Result:
    """The result of a run: the number of stored ``messages``, and what was ``violated``."""

    def __init__(self, plan: Plan, messages: int, violated: list[Violation]) -> None:
        self.plan = plan
        self.messages = messages
        self.violated = violated


def store_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder for stores; it is deleted when its context ends."""
    usable = os.access(RAM_FOLDER, os.W_OK)
    return tempfile.TemporaryDirectory(prefix="fakemq-sim-", dir=RAM_FOLDER if usable else None)


def replay(
    plan: Plan,
    root: str,
    write: Callable[[str], None] | None = None,
    reached: Callable[[int], None] | None = None,
) -> Result:
    """Run a plan with its stores in the empty folder ``root``.

    Call ``write`` with each line of the journal, and ``reached`` with the virtual time of each
    entry, in milliseconds since the start.
    """
    with _rare_collections(), _silent_clients():
        sim = SimulationRun(plan, root)
        sim.core.stop_logging()  # errors are in the verdict, warnings in the journal
        stop_writing = _nothing
        if write is not None:
            stop_writing = sim.core.journal.listen(_writer(write, root))
        if reached is not None:
            began_ms = sim.core.clock.now_ms()
            sim.core.journal.listen(lambda entry: reached(entry.at_ms - began_ms))
        try:
            sim.start()
            sim.pass_to(plan.length_ms)
            stop_writing()  # the checkers start brokers again: that is not part of the run
            return Result(plan, sum(1 for _ in sim.history.of(Sent)), sim.verdict())
        finally:
            sim.close()


def replay_seed(
    seed: int,
    minutes: float,
    write: Callable[[str], None] | None = None,
    reference: str = REFERENCES[0],
    **more: Unpack[RunKind],
) -> Result:
    """Draw a seed's plan and run it in a temporary folder."""
    with store_folder() as root:
        return replay(draw_plan(seed, minutes, reference, **more), root, write)


def _writer(write: Callable[[str], None], root: str) -> Callable[[Entry], None]:
    return lambda entry: write(line(entry).replace(root, STORE))


def _nothing() -> None:
    pass


@contextmanager
def _rare_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(_COLLECT_AFTER, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _silent_clients() -> Iterator[None]:
    """Let clients not log what faults do to them: that is what they are for."""
    logger = logging.getLogger("fakemq.client")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def drawn(plan: Plan) -> Iterator[str]:
    """Yield a plan as lines of text."""
    cluster = plan.cluster
    yield (
        f"seed {plan.seed}, {plan.minutes:g} virtual minutes, quiet from"
        f" {plan.quiet_at_ms / 1000:g} s on"
    )
    yield (
        f"cluster: {cluster.masters} masters with {cluster.slaves} slaves each,"
        f" {cluster.namesrvs} name servers, {cluster.role}, {cluster.flush}, stores"
        f" {'on disk' if cluster.on_disk else 'in memory'}, log files of"
        f" {cluster.log_file_bytes // 1024} KiB{', a gRPC front' * plan.grpc}"
    )
    if cluster.replicas is not None:
        yield f"controllers: {_keys(cluster.replicas)}"
    for producer in plan.producers:
        yield (
            f"{producer.name}: to {producer.topic} every {producer.pause_ms} ms or so,"
            f" waiting {producer.send_timeout_ms} ms at most"
        )
    for consumer in plan.consumers:
        yield (
            f"{consumer.name}: {', '.join(consumer.topics)}{' in order' * consumer.ordered},"
            f" failing {consumer.failing:.0%}, tried {consumer.tries} times again,"
            f" {'pulling' if consumer.pop is None else 'popping'} {consumer.batch} and"
            f" processing {consumer.threads} at once, {consumer.work_ms} ms of work"
        )
        if consumer.pop is not None:
            yield f"    {_popping(consumer.pop)}"
    for fault in plan.faults:
        amount = f", {fault.amount}" if fault.amount else ""
        yield (
            f"fault: {fault.name} of {fault.target} at {fault.at_ms / 1000:g} s"
            f" for {fault.for_ms / 1000:g} s{amount}"
        )


def _keys(replicas: ReplicasPlan) -> str:
    return (
        f"{replicas.controllers}, controllerType={replicas.controller_type},"
        f" allAckInSyncStateSet={str(replicas.all_ack_in_sync_state_set).lower()},"
        f" minInSyncReplicas={replicas.min_in_sync_replicas},"
        f" inSyncReplicas={replicas.in_sync_replicas},"
        f" brokerHeartbeatInterval={replicas.broker_heartbeat_interval}"
    )


def _popping(pop: PopPlan) -> str:
    words = [
        f"invisible for {pop.invisible_ms} ms",
        f"changed for {pop.renewing:.0%} of the messages",
        f"waiting {pop.poll_ms} ms for a {'notification' if pop.notified else 'message'}",
        "acknowledging together" if pop.batch_acks else "acknowledging one by one",
        f"forgetting {pop.forgetting:.0%} of what fails",
    ]
    if pop.share:
        words.append(f"sharing with {pop.share} members")
    return ", ".join(words)


def lines_about(violation: Violation, journal: Iterable[str]) -> list[str]:
    """Return the last journal lines that name the message or node of a violation."""
    found = (one for one in journal if any(word in one for word in violation.words))
    return list(deque(found, LINES_MAX))
