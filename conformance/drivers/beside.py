"""``python -m conformance.drivers.beside``: the Python client beside Java's, on one real cluster.

Each scenario of conformance/python runs there with the Python client, and with the Java client of
4.9.7 in its place: both must observe the same, but for what differences.toml beside this file
accepts. ``--record`` keeps what Java's client observed, and tests compare with that.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from conformance.compare import RECORDINGS
from conformance.drivers.drivers import DriverError
from conformance.drivers.java_program import LITE_SCENARIOS, SCENARIOS, JavaProgram
from conformance.drivers.python_program import PythonProgram
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import CLIENT_VERSIONS, REFERENCE
from conformance.targets.processes import FakemqProcess, together
from conformance.targets.quick_pair import QUICK, TWO_MASTERS
from fakemq.client import MessageQueue, Producer

FOLDER = RECORDINGS / "clients"
DIFFERENCES = Path(__file__).parent / "differences.toml"
FILLED = "Filled"
QUICK_SCENARIOS = (*SCENARIOS, *LITE_SCENARIOS)
DEFAULT_SCENARIOS = ("nosql",)
"""Those for a cluster with the defaults."""
EVERY_SCENARIO = (*QUICK_SCENARIOS, *DEFAULT_SCENARIOS)
"""All that are about a client; "steered" shows a fake's control port, and has no real cluster."""
NOT_ON_FIVE = {
    "growing": "a topic of a 5.5.0 broker does not shrink",
    "deleted": "a 5.5.0 broker deletes no topic while its timer wheel is off, as it is in tests",
}
"""Scenarios that no client can run to their end at a cluster of 5.5.0."""
PROMPT_ENDS = {"transactionOpBatchInterval": "10"}
"""For brokers of 5.5.0, in milliseconds: by default they write the ends of transactions every 3 s,
and ask about some that have ended."""


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An accepted difference: what Java says under these keys, the Python client says otherwise."""

    scenario: str
    keys: tuple[str, ...]
    why: str
    python: tuple[str, ...] = ()
    """Its lines in their place, in order."""
    words: dict[str, str] = {}
    """Instead of ``python``: what the Python client says for some words within these lines."""
    version: str = ""
    """Of the brokers, if it is for one only."""


def differences(path: Path = DIFFERENCES) -> list[Difference]:
    """Return every accepted difference."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("difference", [])
    return msgspec.convert(rows, list[Difference])


def neutral(line: str) -> str:
    """Return an observation without ids, and without what only Java's exceptions or decoder have.

    The exceptions of Java's client repeat their code in their text. TraceBean sets the storeHost of
    a consumer's events to the address of the machine that decodes them.
    """
    line = re.sub(r"(\w+Exception (?:code=\d+ )?)CODE: \d+  DESC: ", r"\1", line)
    line = re.sub(r"^(trace: Sub.*) storeHost=.*", r"\1", line)
    return without_ids(line)


def without_ids(line: str) -> str:
    """Return an observation without unique ids; those of a machine with IPv6 are longer."""
    return re.sub(r"\b[0-9A-F]{32,}\b", "ID", line)


def expected(
    scenario: str,
    java: Iterable[str],
    accepted: Iterable[Difference],
    version: str = REFERENCE,
) -> list[str]:
    """Return what the Python client should observe where Java's observes this.

    Raise ValueError for a row that does not apply any more.
    """
    lines = [neutral(line) for line in java]
    for row in accepted:
        if row.scenario == scenario and row.version in ("", version):
            lines = _replaced(lines, row)
    return lines


def _replaced(lines: Sequence[str], row: Difference) -> list[str]:
    starts = tuple(f"{key}: " for key in row.keys)
    others = [line for line in lines if not line.startswith(starts)]
    if len(others) == len(lines):
        raise ValueError(f"Java's client says nothing of {row.keys} in {row.scenario} any more")
    if row.words:
        return [_reworded(line, row) if line.startswith(starts) else line for line in lines]
    place = next(at for at, line in enumerate(lines) if line.startswith(starts))
    return [*others[:place], *row.python, *others[place:]]


def _reworded(line: str, row: Difference) -> str:
    for java, python in row.words.items():
        if java not in line:
            raise ValueError(f"no {java!r} in {row.scenario} any more: {line}")
        line = line.replace(java, python)
    return line


def recording_path(version: str) -> Path:
    """Return where the observations of Java's client on a real cluster are kept."""
    return FOLDER / f"{version}.txt"


def recorded(version: str = REFERENCE) -> dict[str, list[str]]:
    """Return what Java's client observed on a real cluster of this version, by scenario."""
    found: dict[str, list[str]] = {}
    for line in recording_path(version).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            lines = found[line[2:]] = []
        elif line:
            lines.append(line)
    return found


def record(version: str, observed: Mapping[str, Sequence[str]]) -> None:
    """Keep observations, beside those of other scenarios that are kept already."""
    path = recording_path(version)
    neutrals = {name: list(map(without_ids, lines)) for name, lines in observed.items()}
    known = (recorded(version) if path.exists() else {}) | neutrals
    texts = ["\n".join([f"# {name}", *known[name], ""]) for name in sorted(known)]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(texts), encoding="utf-8")


def report(scenario: str, wanted: Sequence[str], seen: Sequence[str], where: str) -> str:
    """Return how observations differ; "" if they are the same."""
    lines = difflib.unified_diff(
        list(wanted),
        list(seen),
        f"{scenario} by Java's client",
        f"{scenario} by the Python client on {where}",
        n=2,
        lineterm="",
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run the scenarios beside each other; the exit code is the number that differ."""
    parser = argparse.ArgumentParser(prog="python -m conformance.drivers.beside")
    parser.add_argument("--version", choices=CLIENT_VERSIONS, default=REFERENCE)
    parser.add_argument("--record", action="store_true", help="keep what Java's client observes")
    parser.add_argument(
        "--recorded", action="store_true", help="take Java's observations from their recording"
    )
    parser.add_argument("--fake", action="store_true", help="run the Python client on the fake")
    parser.add_argument("names", nargs="*", help="scenarios; all if none is named")
    options = parser.parse_args(arguments)
    if options.fake and not options.recorded:
        parser.error("--fake goes with --recorded: Java's client is observed on a real cluster")
    differ = 0
    for config, scenarios in ((QUICK, QUICK_SCENARIOS), ({}, DEFAULT_SCENARIOS)):
        chosen = [one for one in scenarios if not options.names or one in options.names]
        if options.version != REFERENCE:
            chosen = [one for one in chosen if one not in NOT_ON_FIVE]
        if chosen:
            differ += _beside(chosen, config, options)
    return differ


def _beside(chosen: Sequence[str], config: Mapping[str, str], options: argparse.Namespace) -> int:
    """Run scenarios on one cluster; return how many differ."""
    java = recorded(options.version) if options.recorded else {}
    if options.fake:
        lines = [f"{key}={value}" for key, value in config.items()]
        with FakemqProcess(*TWO_MASTERS, config=lines) as fake:
            return _compare(chosen, java, fake.namesrv_addr, REFERENCE, "the fake")
    more = {} if options.version == REFERENCE else PROMPT_ENDS
    with JavaCluster(
        masters=2, config={**config, **more}, topics={FILLED: 1}, version=options.version
    ) as real:
        # A prepared message at the beginning of an empty log would look like no prepared one.
        with Producer(real.namesrv_addr, group="GFilled") as producer:
            for broker in ("broker-a", "broker-b"):
                producer.send(FILLED, b"first", queue=MessageQueue(FILLED, broker, 0))
        if not options.recorded:
            java = _observed_by_java(chosen, real.namesrv_addr)
        if options.record:
            record(options.version, java)
        where = f"a real {options.version}"
        return _compare(chosen, java, real.namesrv_addr, options.version, where)


def _observed_by_java(chosen: Sequence[str], namesrv_addr: str) -> dict[str, list[str]]:
    with JavaProgram(namesrv_addr, REFERENCE) as program:
        for scenario in chosen:
            program.begin(scenario)
        observed: dict[str, list[str]] = {}
        for scenario in chosen:
            try:
                observed[scenario] = program.observe(scenario)
            except DriverError as error:
                print(f"Java's client: {str(error)[:4000]}", flush=True)
        return observed


def _compare(
    chosen: Sequence[str],
    java: Mapping[str, Sequence[str]],
    namesrv_addr: str,
    version: str,
    where: str,
) -> int:
    accepted = differences()
    differ = 0
    with together(program := PythonProgram(namesrv_addr)):
        for scenario in chosen:
            program.begin(scenario)
        for scenario in chosen:
            try:
                seen = program.observe(scenario)
                wanted = expected(scenario, java[scenario], accepted, version)
                text = report(scenario, wanted, list(map(neutral, seen)), where)
            except Exception as error:
                text = f"{scenario}: {str(error)[:2000]}"
            differ += bool(text)
            print(text or f"same      {scenario}", flush=True)
    return differ


if __name__ == "__main__":
    sys.exit(main())
