"""``python -m conformance``: scenarios on the fake against their recordings, or recorded anew."""

from __future__ import annotations

import argparse
import sys

from conformance.compare import diff, differences, expected, record
from conformance.scenario import Scenario, by_config, minutes, scenarios
from conformance.targets.fake_or_java import fake_target, java_target
from conformance.timed_runs import repeat, table
from fakemq.clock.machine_time import real_elapsed_ms


def main(arguments: list[str] | None = None) -> int:
    """Run the scenarios; the exit code is the number that differ."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write recordings of the real 4.9.7")
    parser.add_argument("--show", action="store_true", help="print what the fake says")
    parser.add_argument("--runs", type=int, default=0, help="run them so often, and time each run")
    parser.add_argument(
        "--minutes", action="store_true", help="those a real cluster needs minutes for"
    )
    parser.add_argument("--table", action="store_true", help="list them, for docs/scenarios.md")
    parser.add_argument("names", nargs="*", help="scenarios to run; all if none is named")
    options = parser.parse_args(arguments)
    known = minutes() if options.minutes else scenarios()
    unknown = set(options.names) - {one.name for one in known}
    if unknown:
        parser.error(f"no scenario {sorted(unknown)}; there are {[one.name for one in known]}")
    chosen = [one for one in known if not options.names or one.name in options.names]
    if options.record:
        return _record(chosen)
    if options.table:
        print("\n".join(table(chosen)))
        return 0
    if options.runs:
        return repeat(chosen, options.runs)
    return _show(chosen) if options.show else _compare(chosen)


def _record(chosen: list[Scenario]) -> int:
    for config, together in by_config(chosen):
        with java_target(config, together[0].slaves) as target:
            for scenario in together:
                began_ms = real_elapsed_ms()
                record(scenario, scenario.transcript(target))
                took_s = (real_elapsed_ms() - began_ms) / 1000
                print(f"recorded  {scenario.name}: {scenario.title} ({took_s:.1f} s)", flush=True)
    return 0


def _show(chosen: list[Scenario]) -> int:
    for scenario in chosen:
        with fake_target(scenario.config, scenario.slaves) as target:
            print(scenario.transcript(target))
    return 0


def _compare(chosen: list[Scenario]) -> int:
    accepted = differences()
    different = 0
    for scenario in chosen:
        with fake_target(scenario.config, scenario.slaves) as target:
            seen = scenario.transcript(target)
        found = diff(expected(scenario, accepted), seen, scenario, "fakemq")
        rows = sum(row.scenario == scenario.name for row in accepted)
        print(
            f"{'differs ' if found else 'the same'}  {scenario.name}: {scenario.title}"
            f"{f' ({rows} accepted differences)' if rows else ''}"
        )
        if found:
            different += 1
            print(found)
    return different


if __name__ == "__main__":
    sys.exit(main())
