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
_LINES = ((212, 4, 0, 0), (86, 3, 3, 1), (66, 3, 2, 0), (46, 3, 1, 0), (14, 3, 0, 0))
"""From the last to the first: the number with which some releases begin, how the first of them is
called, x.y.z; what has another z of 0 in its x.y has nine releases, others ten."""
_LAST = 611


def version_name(version: int) -> str:
    """Return the name of a version, 0 or more.

    Source: common/MQVersion.java#getVersionDesc (5.5.0)
    """
    if version < len(_FIRST):
        return f"V3_0_0_{_FIRST[version]}"
    if version > _LAST:
        return "HIGHER_VERSION"
    begin, major, minor, first = next(line for line in _LINES if line[0] <= version)
    number, released = divmod(version - begin, 2)
    further, patch = (0, number) if minor == 0 and major == 3 else divmod(number, 10 - first)
    more_major, minor = divmod(minor + further, 10)
    name = f"V{major + more_major}_{minor}_{first + patch}"
    return name if released else f"{name}_SNAPSHOT"


VERSION_DESCRIPTIONS = {407: "V4_9_7"}
"""Names of versions that clients of ours say they have."""
