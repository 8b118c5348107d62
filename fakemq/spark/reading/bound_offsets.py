"""Resolves ``startingOffsets``, ``endingTimestamp`` and similar options to offsets of queues."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping

from fakemq.client.blocking import Client
from fakemq.clock.machine_time import real_wait_ms
from fakemq.errors import ConfigError, FakemqError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.spark.reading.offsets import EARLIEST, LATEST, SHAPE, Offsets, queue_text, queue_texts
from fakemq.spark.reading.options import Bound, ReadOptions
from fakemq.spark.reading.queue_bounds import Bounds, Survey, find_bounds, first_at_or_after

Wait = Callable[[int], None]
"""Waits for a number of milliseconds."""


class BrokerAwayError(FakemqError):
    """No replica of a broker responds."""


def surveyed(
    client: Client,
    queues: Iterable[MessageQueue],
    options: ReadOptions,
    wait: Wait = real_wait_ms,
) -> dict[MessageQueue, Bounds]:
    """Return the bounds of every queue. Raise BrokerAwayError if a broker does not respond."""
    wanted = list(queues)
    survey = find_bounds(client, wanted)
    for _ in range(options.pulling.retries):
        if len(survey.bounds) == len(wanted):
            break
        wait(options.pulling.retry_interval_ms)
        survey = find_bounds(client, wanted)
    missing = [queue for queue in wanted if queue not in survey.bounds]
    if missing:
        raise BrokerAwayError(
            f"rocketmq: no broker returned the offsets of {why_missing(survey, missing)}"
        )
    return survey.bounds


def why_missing(survey: Survey, missing: Iterable[MessageQueue]) -> str:
    """Return the queues without bounds, and the errors of their brokers."""
    queues = sorted(missing)
    reasons = {str(survey.failures.get(one.broker_name or "", "no address")) for one in queues}
    return f"{queue_texts(queues)}: {'; '.join(sorted(reasons))}"


def resolved(
    client: Client, bounds: Mapping[MessageQueue, Bounds], bound: Bound, options: ReadOptions
) -> Offsets:
    """Return, for one end of the reading, the offset of every queue.

    Raise ConfigError if the option names other queues than exist. Raise DataLossError if an offset
    does not exist any more, or not yet.
    """
    if bound.everywhere is None:
        _require_same(bound, bounds)
    of_queue = _of_time if bound.by_time else _of_offset
    return {queue: of_queue(client, queue, here, bound, options) for queue, here in bounds.items()}


def _require_same(bound: Bound, bounds: Mapping[MessageQueue, Bounds]) -> None:
    missing, unknown = bounds.keys() - bound.each.keys(), bound.each.keys() - bounds.keys()
    if unknown:
        raise ConfigError(
            f"rocketmq: option {bound.option} names queues that are not read:"
            f" {queue_texts(unknown)}"
        )
    if missing:
        placeholders = "" if bound.by_time else ", -1 standing for latest and -2 for earliest"
        raise ConfigError(
            f"rocketmq: option {bound.option} does not name {queue_texts(missing)}: it has to"
            f" name every queue, as in {SHAPE}{placeholders}"
        )


def _of_offset(
    client: Client, queue: MessageQueue, here: Bounds, bound: Bound, options: ReadOptions
) -> int:
    wanted = bound.of(queue)
    if wanted is None or wanted == LATEST:
        return here.max_offset
    if wanted == EARLIEST:
        return here.min_offset
    if wanted > here.max_offset and here.is_slave:
        return wanted  # the slave may be behind its master; the worker will find out
    possible = min(max(wanted, here.min_offset), here.max_offset)
    if possible != wanted:
        report_data_loss(
            f"{queue_text(queue)}: option {bound.option} says {wanted}, and the offsets there are"
            f" {here.min_offset} to {here.max_offset - 1}",
            f"taken as {possible}",
            fail=options.fail_on_data_loss,
        )
    return possible


def _of_time(
    client: Client, queue: MessageQueue, here: Bounds, bound: Bound, options: ReadOptions
) -> int:
    time_ms = bound.of(queue) or 0
    found = first_at_or_after(client, queue, here, time_ms)
    is_start = bound.option.startswith("starting")
    if found == here.max_offset and is_start and not options.latest_if_no_time:
        raise ConfigError(
            f"rocketmq: {queue_text(queue)}: no message was stored at or after {time_ms}, which"
            f" option {bound.option} says; set startingOffsetsByTimestampStrategy to latest to"
            " start at the end of such queues"
        )
    return found


# Errors and warnings when messages that should be read no longer exist.

ADVICE = (
    "some messages may be lost: they were aged out, the topic was created again, or a broker came"
    " back without its newest ones"
)


class DataLossError(FakemqError):
    """Messages that should be read no longer exist."""


class DataLossWarning(UserWarning):
    """Like `DataLossError`, but a warning: ``failOnDataLoss`` is false."""


def report_data_loss(what: str, consequence: str, *, fail: bool) -> None:
    """Raise or warn, as ``failOnDataLoss`` says; ``consequence`` says what the reader does then.

    Python shows each warning text once in a process.
    """
    if fail:
        raise DataLossError(
            f"rocketmq: {what}: {ADVICE}. To continue with the messages that exist, set"
            " failOnDataLoss to false."
        )
    warnings.warn(f"rocketmq: {what}: {ADVICE}; {consequence}", DataLossWarning, stacklevel=3)
