"""What a soak counts at the end of each round, and when it counts as grown."""

from __future__ import annotations

import asyncio
import gc
import os
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from bench.census import census
from bench.family import resident_bytes
from bench.measure import Figure
from fakemq import Cluster

TOLERANCE = {
    "memory": (6.0, "MiB"),
    "descriptors": (3, ""),
    "tasks": (1, ""),
    "timers": (6, ""),
    "sessions": (3, ""),
    "objects": (2000, ""),
    "table entries": (150, ""),
}
"""The allowed growth of each value from begin to end, and its unit."""
TABLE_TOLERANCE = 20
SESSIONS = {"Broker.sessions", "NameServer.sessions"}


class Sample(msgspec.Struct, frozen=True):
    """What remains at the end of a round, after a reset, with the lasting clients."""

    minute: float
    held: dict[str, float]
    tables: Counter[str]


def sample(mq: Cluster, minute: float) -> Sample:
    """Reset the cluster and count what remains."""
    mq.reset()
    server = mq._running().server
    tables = mq.inspect(lambda core: census(server))
    tasks = mq.inspect(lambda core: len(asyncio.all_tasks()))
    gc.collect()
    return Sample(
        minute,
        {
            "memory": resident_bytes(os.getpid()) / (1 << 20),
            "descriptors": len(os.listdir("/proc/self/fd")),
            "tasks": tasks,
            "timers": len(mq.clock.timers()),
            "sessions": sum(size for place, size in tables.items() if place in SESSIONS),
            "objects": len(gc.get_objects()),
            "table entries": tables.total(),
        },
        tables,
    )


def growth(values: Sequence[float]) -> float:
    """Return how much the last third exceeds the first; the fitted line's growth if that is more.

    A third counts by its mean. The line is fitted by least squares and taken over the whole run.
    """
    third = max(1, len(values) // 3)
    risen = sum(values[-third:]) / third - sum(values[:third]) / third
    middle = (len(values) - 1) / 2
    mean = sum(values) / len(values)
    square = sum((x - middle) ** 2 for x in range(len(values)))
    slope = sum((x - middle) * (y - mean) for x, y in enumerate(values)) / square if square else 0
    return max(risen, slope * (len(values) - 1))


def figures(
    samples: Sequence[Sample],
    tally: msgspec.Struct,
    must_be_zero: Sequence[str] = (),
    warm_up: int = 1,
) -> Iterator[Figure]:
    """Yield curves of what remained after each round, their growth, and counters.

    The first ``warm_up`` rounds fill caches, and do not count as growth.
    """
    for one in samples:
        for name, value in one.held.items():
            yield Figure(
                group="soak", name=name, value=value, unit=TOLERANCE[name][1],
                x=round(one.minute, 2), x_unit="min",
            )  # fmt: skip
    warm = samples[warm_up:]
    for name, (at_most, unit) in TOLERANCE.items():
        values = [one.held[name] for one in warm]
        yield Figure(
            group="soak", name=f"growth of {name}", value=growth(values), unit=unit,
            at_most=at_most,
            note=f"{values[0]:,.0f} after round {warm_up + 1}, {values[-1]:,.0f} at last",
        )  # fmt: skip
    places = set[str]().union(*(one.tables for one in warm))
    grown = [
        place for place in sorted(places)
        if growth([one.tables[place] for one in warm]) > TABLE_TOLERANCE
    ]  # fmt: skip
    yield Figure(
        group="soak", name="tables that grew", value=len(grown), unit="", at_most=0,
        note=", ".join(grown) or f"of {len(places)}",
    )  # fmt: skip
    done = msgspec.structs.asdict(tally)
    done["virtual_min"] = done.pop("virtual_s") / 60
    for name, value in done.items():
        words = name.split("_")
        unit = words.pop() if words[-1] in ("s", "min") else ""
        target = 0.0 if name in must_be_zero else None
        yield Figure(group="soak", name=" ".join(words), value=value, unit=unit, at_most=target)
