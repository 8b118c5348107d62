"""What differs from run to run, taken out of what mqadmin prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from conformance.mqadmin.state import State
from conformance.normalise import without_addresses

_STACK = re.compile(r"\s+(?:at [\w.$/<>]+\(|\.\.\. \d+ (?:more|common frames))")
_ID = re.compile(r"(?<![0-9A-F])[0-9A-F]{32,64}(?![0-9A-F])")
_CLIENT = re.compile(r"\b\d+\.\d+\.\d+\.\d+@[\w.#-]+")
_DATE = re.compile(r"\b20[2-9]\d-\d\d-\d\d[ #]\d\d:\d\d:\d\d(?:[,.:]\d{3})?|\b20\d{15}\b")
_MILLISECONDS = re.compile(r"\b1[6-9]\d{11}\b")
_BLANKS = re.compile(r"(?<=\S) +")
_DASHES = re.compile(r"-{20,}|={20,}")

_COUNTED = (
    r"\b(commitLogDirCapacity|commitLogDiskRatio|consumeQueueDiskRatio|runtime"
    r"|putMessageDistributeTime|putMessageEntireTimeMax|putLatency\w+|pageCacheLockTimeMills"
    r"|\w*QueueHeadWaitTimeMills|remainHowManyDataToFlush|commitLogMaxOffset|msgGetTotalTodayNow"
    r"|getTransferr?edTps|timer(?:Enqueue|Dequeue)Tps|getTotalTps|getFoundTps|getMissTps|putTps|putMessageSizeTotal"
    r"|putMessageAverageSize|messageAverageSize|getMessageEntireTimeMax|\w*(?:In|Out)Tps)\b"
    r'("? *[:=] *).*'
)
"""What a broker counts by real time, and how full this machine's disk is."""

_RULES = (
    # A client asks any broker of a topic about a group; which one is by chance.
    (r"(?<=BROKER: )<broker-[ab]>", "<a broker>"),
    # Its text names variables, in newer JVMs only.
    (r"(NullPointerException).*", r"\1"),
    (r"\b(spentTimeMills=)\d+", r"\1<ms>"),
    # Where a store, or a node's home, lies on this machine.
    (r"(commitLogDiskRatio_).*", r"\1<store>: <full>"),
    (r"\S*/rocketmq-\w{8}/broker-[ab]/(?=conf/plain_acl.yml)", ""),
    (r"\S*/rocketmq-\w{8}\b", "<top>"),
    (r"\b((?:PlainAccess|Jraft)Config@)[0-9a-f]+", r"\1<hash>"),
    # Ports, and what 4.9.7 derives from the number of cores.
    (r"^(listenPort|haListenPort)( +=).*", r"\1\2 <port>"),
    (r"^(\w+Thread(?:Pool)?Nums|clientCallbackExecutorThreads)( +=).*", r"\1\2 <by cores>"),
    (r'("cpuNum":).*', r"\1<by cores>"),
    (_COUNTED, r"\1\2<of this run>"),
    (r"(Consume TPS:).*", r"\1 <of this run>"),
)
"""Regular expressions, and what stands for what they find."""


class Output:
    """Normalises the output of one session; what is the same thing keeps the same name."""

    def __init__(self, state: State, home: str) -> None:
        self._home = home
        self._addresses = {addr: name for name, addr in state.addrs.items()}
        self._ids = {key: f"<key {name}>" for name, key in state.keys.items()}
        self._ids |= {id: f"<id {name}>" for name, id in state.ids.items()}
        self._clients = {id: f"<{name}>" for name, id in state.clients.items()}

    def lines(
        self, printed: Iterable[str], hides: Mapping[str, str], *, unordered: bool = False
    ) -> list[str]:
        """Return lines that are the same on every correct cluster."""
        lines = [self._line(line, hides) for line in printed if not _STACK.match(line)]
        if unordered:
            lines.sort()
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _line(self, line: str, hides: Mapping[str, str]) -> str:
        line = line.replace(self._home, "<home>")
        line = _ID.sub(lambda found: self._ids.get(found[0], "<id>"), line)
        line = _CLIENT.sub(lambda found: self._clients.get(found[0], "<client>"), line)
        line = without_addresses(line, self._addresses)
        line = _MILLISECONDS.sub("<now>", _DATE.sub("<date>", line))
        for pattern, text in hides.items():
            line = re.sub(pattern, text, line)
        for pattern, text in _RULES:
            line = re.sub(pattern, text, line)
        return _BLANKS.sub(" ", _DASHES.sub(lambda found: found[0][:20], line)).rstrip()
