"""The names of versions, at the places where the pattern of their numbers changes."""

from __future__ import annotations

import pytest

from fakemq.protocol.versions import V3_0_7_SNAPSHOT, V3_1_8_SNAPSHOT, version_name


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (0, "V3_0_0_SNAPSHOT"),
        (15, "V3_0_0_FINAL"),
        (16, "V3_0_1_SNAPSHOT"),
        (17, "V3_0_1"),
        (V3_0_7_SNAPSHOT, "V3_0_7_SNAPSHOT"),
        (45, "V3_0_15"),
        (46, "V3_1_0_SNAPSHOT"),
        (61, "V3_1_7"),
        (V3_1_8_SNAPSHOT, "V3_1_8_SNAPSHOT"),
        (66, "V3_2_0_SNAPSHOT"),
        (86, "V3_3_1_SNAPSHOT"),
        (103, "V3_3_9"),
        (104, "V3_4_1_SNAPSHOT"),
        (211, "V3_9_9"),
        (212, "V4_0_0_SNAPSHOT"),
        (407, "V4_9_7"),
        (412, "V5_0_0_SNAPSHOT"),
        (513, "V5_5_0"),
        (611, "V5_9_9"),
        (612, "HIGHER_VERSION"),
        (1 << 31, "HIGHER_VERSION"),
    ],
)
def test_versions_have_the_names_of_the_enum(version: int, name: str) -> None:
    assert version_name(version) == name
