"""All targets by name."""

from __future__ import annotations

from tests.fuzz.target import Target
from tests.fuzz.targets import bodies, client, cluster, stored, texts, wire

TARGETS: dict[str, Target] = {
    target.name: target
    for family in (wire, bodies, texts, stored, client, cluster)
    for target in family.TARGETS
}
