"""Runs a part of the script on a cluster, and returns what mqadmin printed, step by step."""

from __future__ import annotations

import json
import re
import shlex
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import fakemq
from conformance.mqadmin.normalise import Output
from conformance.mqadmin.program import Mqadmin
from conformance.mqadmin.script import Part, Step
from conformance.mqadmin.state import State
from conformance.targets.accounts import RULES, needs_accounts
from conformance.targets.fake_or_java import CONTROLLER_KEYS, MASTERS, java_target
from fakemq.errors import ConfigWarning

UNTIL_S = 20.0
BODIES = "/tmp/rocketmq/msgbodys/"
"""Where mqadmin writes the bodies of messages, whatever its home."""

SIZES = {
    "mappedFileSizeCommitLog": str(16 << 20),
    "mappedFileSizeConsumeQueue": "60000",
    "maxHashSlotNum": "10000",
    "maxIndexNum": "40000",
    "waitTimeMillsInSendQueue": "10000",
    "osPageCacheBusyTimeOutMills": "10000",
}
"""What the brokers of a `JavaCluster` are configured with besides."""

Printed = dict[str, list[str]]
"""Sub-command with its options → its output; calls of the same line differ by a number."""

Start = Callable[[Part], AbstractContextManager[str]]
"""Starts a cluster for a part, and yields the address of its name server: `fake` or `real`."""


@contextmanager
def fake(part: Part, **options: Any) -> Iterator[str]:
    """Start a fake for a part, with further options; yield the address of its name server."""
    acl = RULES if needs_accounts(part.config) else None
    config = {**SIZES, **part.config}
    slaves = part.slaves or max(part.replicas - 1, 0)
    if part.controllers:
        options["controllers"] = part.controllers
        config |= CONTROLLER_KEYS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)  # only that they are printed counts
        cluster = fakemq.Cluster(
            reference=part.reference,
            masters=1 if slaves else MASTERS,
            slaves=slaves,
            config=config,
            acl=acl,
            **options,
        )
    with cluster:
        yield cluster.namesrv_addr


@contextmanager
def real(part: Part) -> Iterator[str]:
    """Start a real cluster for a part; yield the address of its name server."""
    with java_target(
        *(part.config, part.slaves, part.reference),
        controllers=part.controllers,
        replicas=part.replicas,
    ) as target:
        yield target.namesrv_addr


def run(part: Part, namesrv_addr: str, jvm: Sequence[str] = ()) -> Printed:
    """Run all steps of a part, in a JVM with further flags."""
    with Mqadmin(jvm, part.reference) as mqadmin, part.contents(namesrv_addr) as state:
        session = Session(mqadmin, state)
        for step in part.steps:
            session.run(step)
        return session.printed


class Session:
    """One run of a part."""

    def __init__(self, mqadmin: Mqadmin, state: State) -> None:
        self._mqadmin = mqadmin
        home = str(mqadmin.home)
        self._output = Output(state, home)
        self._words = {"home": home, **state.addrs, **state.clients}
        self._words |= {f"id {name}": id for name, id in state.ids.items()}
        self._words |= {f"key {name}": key for name, key in state.keys.items()}
        self.printed: Printed = {}

    def run(self, step: Step) -> None:
        """Run one step and write down what it prints."""
        if step.account is not None:
            self._mqadmin.sign_as(step.account)
        printed = self._printed(step)
        _remove_bodies(printed)
        for word, pattern in step.keeps.items():
            self._words[word] = _found(pattern, printed, step)
        lines = self._output.lines(printed, step.hides, unordered=step.unordered)
        for name in step.files:
            file = self._mqadmin.home / name
            lines += [f"<home>/{name}:", *self._written(file, step)]
        self.printed[self._title(step)] = lines

    def _printed(self, step: Step) -> list[str]:
        # What has a quotation mark is JSON.
        line = re.sub(r"\{([^}\"]*)\}", lambda found: self._words[found[1]], step.line)
        arguments = shlex.split(line)
        if not line.startswith("@"):
            arguments += ["-n", self._words["namesrv"]]
        deadline = time.monotonic() + UNTIL_S
        while True:
            printed = self._mqadmin.run(arguments, step.most_lines)
            if not step.until or any(step.until in one for one in printed):
                return printed
            if time.monotonic() > deadline:
                return [*printed, f"no {step.until!r} in {UNTIL_S} s"]

    def _written(self, file: Path, step: Step) -> list[str]:
        if not file.exists():
            return ["no such file"]
        value = json.loads(file.read_text(encoding="utf-8"))
        file.unlink()  # the next step may not write it
        text = json.dumps(value, indent=1, sort_keys=True)
        return self._output.lines(text.splitlines(), step.hides)

    def _title(self, step: Step) -> str:
        """Return what names the step; the same line again has a number behind it."""
        title, number = step.line, 2
        while title in self.printed:
            title, number = f"{step.line}  # {number}", number + 1
        return title


def _found(pattern: str, printed: Iterable[str], step: Step) -> str:
    for line in printed:
        if found := re.search(pattern, line):
            return found[1]
    raise AssertionError(f"{step.line}: no {pattern!r} in {printed}")


def _remove_bodies(printed: Iterable[str]) -> None:
    for line in printed:
        _, found, name = line.partition(BODIES)
        if found:
            Path(BODIES, name.strip()).unlink(missing_ok=True)
