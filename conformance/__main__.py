"""``python -m conformance``: scenarios on the fake against their recordings, or recorded anew."""

from __future__ import annotations

import argparse
import sys

from conformance.compare import (
    differences,
    keep_waiting,
    record,
    recorded,
    replay_to_its_end,
    waiting,
)
from conformance.scenario import Scenario, by_config, minutes, scenarios
from conformance.targets.fake_or_java import fake_target, java_target
from conformance.targets.java_jars import REFERENCE, REFERENCES
from conformance.timed_runs import repeat, table
from fakemq.clock.machine_time import real_elapsed_ms


def main(arguments: list[str] | None = None) -> int:
    """Run the scenarios; the exit code is the number that differ."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument(
        "--reference",
        choices=REFERENCES,
        default=REFERENCE,
        help="the release that the fake behaves as, and that recordings are of",
    )
    parser.add_argument("--record", action="store_true", help="write recordings of a real cluster")
    parser.add_argument(
        "--waiting", action="store_true", help="write the list of those that differ anew"
    )
    parser.add_argument("--show", action="store_true", help="print what the fake says")
    parser.add_argument("--runs", type=int, default=0, help="run them so often, and time each run")
    parser.add_argument(
        "--minutes", action="store_true", help="those a real cluster needs minutes for"
    )
    parser.add_argument("--table", action="store_true", help="list them, for docs/scenarios.md")
    parser.add_argument("names", nargs="*", help="scenarios to run; all if none is named")
    options = parser.parse_args(arguments)
    reference: str = options.reference
    known = minutes(reference) if options.minutes else scenarios(reference)
    kept = known if options.record else recorded(reference)
    known = [one for one in known if one in kept]
    unknown = set(options.names) - {one.name for one in known}
    if unknown:
        parser.error(f"no scenario {sorted(unknown)}; there are {[one.name for one in known]}")
    chosen = [one for one in known if not options.names or one.name in options.names]
    if options.record:
        return _record(chosen, reference)
    if options.waiting:
        return _keep_waiting(known, reference)
    if options.table:
        print("\n".join(table(chosen)))
        return 0
    if options.runs:
        return repeat(chosen, options.runs)
    return _show(chosen, reference) if options.show else _compare(chosen, reference)


def _record(chosen: list[Scenario], reference: str) -> int:
    """Return how many could not be recorded."""
    failed = 0
    for config, together in by_config(chosen):
        with java_target(
            *(config, together[0].slaves, reference),
            grpc=together[0].grpc,
            controllers=together[0].controllers,
            replicas=together[0].replicas,
        ) as target:
            for scenario in together:
                began_ms = real_elapsed_ms()
                try:
                    record(scenario, scenario.transcript(target), reference)
                except Exception as error:  # others are recorded nevertheless
                    failed += 1
                    print(f"failed    {scenario.name}: {error!r}", flush=True)
                    continue
                took_s = (real_elapsed_ms() - began_ms) / 1000
                print(f"recorded  {scenario.name}: {scenario.title} ({took_s:.1f} s)", flush=True)
    return failed


def _show(chosen: list[Scenario], reference: str) -> int:
    for scenario in chosen:
        with fake_target(
            *(scenario.config, scenario.slaves, reference),
            grpc=scenario.grpc,
            controllers=scenario.controllers,
            replicas=scenario.replicas,
        ) as target:
            print(scenario.transcript(target))
    return 0


def _keep_waiting(known: list[Scenario], reference: str) -> int:
    accepted = differences(reference=reference)
    found = {one.name: replay_to_its_end(one, accepted, reference) for one in known}
    lacking = {name: text for name, text in found.items() if text}
    keep_waiting(reference, lacking)
    print(f"{len(lacking)} of {len(found)} scenarios of {reference} wait")
    return 0


def _compare(chosen: list[Scenario], reference: str) -> int:
    """Return how many differ, and how many no longer do although they are waited for."""
    accepted, lacks = differences(reference=reference), waiting(reference)
    wrong = 0
    for scenario in chosen:
        found = replay_to_its_end(scenario, accepted, reference)
        waits = scenario.name in lacks
        rows = sum(row.scenario == scenario.name for row in accepted)
        wrong += bool(found) != waits
        print(
            f"{'differs ' if found else 'the same'}  {scenario.name}: {scenario.title}"
            f"{f' ({rows} accepted differences)' if rows else ''}"
            f"{f' (waiting: {lacks[scenario.name]})' if waits else ''}"
        )
        if found:
            print(found)
        elif waits:
            print("nothing differs any more: take it out of waiting.toml")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
