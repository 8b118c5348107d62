"""Names and numbers that a peer should not send, and often may."""

from __future__ import annotations

from pathlib import Path
from random import Random

NUMBERS = (
    *("0", "-1", "1", "3", "4", "16", "64", "127", "255", "1000", "32767", "65535", "65536"),
    *("2147483647", "2147483648", "-2147483648", "4294967295", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775808", "1e9", "0x10", " 1", "1 ", "+1", "-0", "٣"),
    *("9" * 400, "NaN", "Infinity", "1.5", "true", "null"),
)
"""Texts where a number is expected."""

ODD_NUMBERS = (
    *(0, -1, 1, 1.5, 1e308, 255, 32767, 32768, 65536, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1),
    *(2**32, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**60),
)
"""Numbers inside of JSON."""

SYSTEM_NAMES = (
    *("TBW102", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"),
    *("RMQ_SYS_TRACE_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "OFFSET_MOVED_EVENT", "SELF_TEST_TOPIC"),
    *("BenchmarkTest", "broker-a", "DefaultCluster", "DefaultCluster_REPLY_TOPIC", "CID_RMQ_SYS_X"),
    *("TOOLS_CONSUMER", "DEFAULT_CONSUMER", "SELF_TEST_C_GROUP", "CLIENT_INNER_PRODUCER"),
)

_PATHS = (
    *("..", ".", "/", "//", "../x", "../../../../../pwned", "a/b", "a/../../b", "a\\..\\b"),
    *("/tmp/pwned", "~", "~root", "..\x00", "x\x00y", "con", "a\nb", "a\rb", "a\tb", " ", "a b"),
    *("%", "%%", "%s%n", "{}", "a\x01b", "a\x02b", "a@b", "a@@b", "a%b", "*", "?", "|", "||"),
    *("é", "名" * 40, "\U0001f600" * 40, "\ud800", "a\udfffb", "\ufeff", "\u202e", "\u2028"),
    *("x" * length for length in (64, 120, 127, 128, 200, 248, 255, 256, 300, 4_000)),
    *("%RETRY%", "%DLQ%", "%RETRY%%RETRY%x", "%DLQ%%RETRY%../x", "lock", "abort", "checkpoint"),
)


class HostileNames:
    """The names of one attack: few enough that what they create stays small."""

    def __init__(self, seed: int, folder: Path) -> None:
        random = Random(f"names {seed}")
        paths = [*_PATHS, f"{folder}/pwned", f"../../../{folder}/pwned"]
        grown = [
            "".join(random.choice(["..", "/", "a", "B", "%", "-", "_", "é", "\x00", "~", "1"])
                    for _ in range(random.randint(1, 12)))
            for _ in range(60)
        ]  # fmt: skip
        marked = [prefix + name for name in paths for prefix in ("%RETRY%", "%DLQ%")]
        plain = [f"Hostile{number}" for number in range(40)]
        self.topics = [*plain, *plain, *SYSTEM_NAMES, *paths, *marked, *grown]
        self.groups = [*plain, *SYSTEM_NAMES, *paths, *grown, *marked[:8]]
        self.all = list(dict.fromkeys([*self.topics, *self.groups]))
        self.long = "y" * 65_536
        self._random = random

    def of(self, random: Random) -> str:
        """Return any name; rarely one of 64 KB."""
        if random.random() < 0.002:
            return self.long
        return random.choice(self.topics)
