"""The versions that peers say they have: numbers on the wire, names to people.

Source: common/MQVersion.java (4.9.7)
"""

from __future__ import annotations

V3_0_7_SNAPSHOT = 28
V3_1_8_SNAPSHOT = 62
V3_4_9 = 121
V4_1_0_SNAPSHOT = 232

_FIRST = (
    *("SNAPSHOT", "ALPHA1", "BETA1", "BETA2", "BETA3", "BETA4", "BETA5", "BETA6_SNAPSHOT", "BETA6"),
    *("BETA7_SNAPSHOT", "BETA7", "BETA8_SNAPSHOT", "BETA8", "BETA9_SNAPSHOT", "BETA9", "FINAL"),
)
_LAST_OF_3_0 = 15


def version_name(version: int) -> str:
    """Return the name of a version before 3.1.8: the only ones that a broker ever complains about.

    ``version`` is 0 or more.
    """
    if version < len(_FIRST):
        return f"V3_0_0_{_FIRST[version]}"
    number, released = divmod(version - len(_FIRST), 2)
    number += 1  # of 3.0.x
    name = f"V3_0_{number}" if number <= _LAST_OF_3_0 else f"V3_1_{number - _LAST_OF_3_0 - 1}"
    return name if released else f"{name}_SNAPSHOT"


VERSION_DESCRIPTIONS = {407: "V4_9_7"}
"""Names of versions that clients of ours say they have."""
