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
    ],
)
def test_versions_have_the_names_of_the_enum(version: int, name: str) -> None:
    assert version_name(version) == name
