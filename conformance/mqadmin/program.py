"""RocketMQ's own mqadmin, whose sub-commands share one JVM.

Source: conformance/java/src/main/java/conformance/Mqadmin.java
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from conformance.drivers.java_program import SMALL_JVM, JavaDriver
from conformance.targets.accounts import SECRET
from conformance.targets.java_jars import REFERENCE

COMMAND_TIMEOUT_S = 60.0
_LATER_LOGS = "-Drmq.logback.configurationFile=conf/rmq.tools.logback.xml"
"""Where 5.5.0 looks first, as its own start script says."""


class Mqadmin(JavaDriver):
    """A JVM that runs sub-commands one after another; ``home`` is its current folder, too.

    ``jvm`` has further flags.
    """

    def __init__(self, jvm: Sequence[str] = (), version: str = REFERENCE) -> None:
        self._numbers = count(1)
        self._printed_by: dict[str, list[str]] = {}
        self._ended: set[str] = set()
        jvm = (*SMALL_JVM, *jvm, "-Dfile.encoding=UTF-8", "-Duser.timezone=UTC", _LATER_LOGS)
        super().__init__(version, "-", "mqadmin", jvm=jvm)
        self._conf = self.home / "conf"
        self._conf.mkdir()
        for name in ("logback_tools.xml", "rmq.tools.logback.xml"):
            (self._conf / name).write_text("<configuration/>")

    def sign_as(self, access_key: str) -> None:
        """Let later sub-commands sign with the keys of an account; "": they sign nothing."""
        tools = self._conf / "tools.yml"
        tools.unlink(missing_ok=True)
        if access_key:
            tools.write_text(f'accessKey: "{access_key}"\nsecretKey: "{SECRET}"\n')

    def run(self, arguments: Sequence[str], most_lines: int = 0) -> list[str]:
        """Return the lines that a sub-command prints, on stdout and stderr alike.

        With ``most_lines`` it is interrupted when it has printed that many.
        """
        tag = f"#{next(self._numbers)}"
        self._printed_by[tag] = []
        self.say("\t".join([tag, str(most_lines), *arguments]))
        self.wait_for(lambda: tag in self._ended, " ".join(arguments), COMMAND_TIMEOUT_S)
        return self._printed_by.pop(tag)

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "printed":
            tag, _, text = rest.partition(" ")
            self._printed_by[tag].append(text)
        elif kind == "ended":
            self._ended.add(rest)
