"""What a process does for itself before its cluster runs."""

from __future__ import annotations

import pytest

from fakemq.store.descriptors import OPEN_MAX, raise_descriptor_limit

resource = pytest.importorskip("resource")
UNLIMITED = resource.RLIM_INFINITY


class System:
    """Keeps a limit as some system would, which takes no more than ``most``."""

    def __init__(self, soft: int, hard: int, most: int) -> None:
        self.limits = (soft, hard)
        self.most = most

    def getrlimit(self, what: int) -> tuple[int, int]:
        assert what == resource.RLIMIT_NOFILE
        return self.limits

    def setrlimit(self, what: int, limits: tuple[int, int]) -> None:
        soft, hard = limits
        assert (what, hard) == (resource.RLIMIT_NOFILE, self.limits[1])
        if soft == UNLIMITED or soft > self.most:
            raise ValueError("current limit exceeds maximum limit")
        self.limits = limits


@pytest.mark.parametrize(
    ("soft", "hard", "most", "then"),
    [
        (1024, 4096, 4096, 4096),
        (256, UNLIMITED, OPEN_MAX, OPEN_MAX),
        (20_000, UNLIMITED, 20_000, 20_000),
        (256, UNLIMITED, 300, 256),
    ],
    ids=["Linux", "macOS", "one that had more", "one that forbids it"],
)
def test_descriptor_limit_is_raised_to_the_systems(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, most: int, then: int
) -> None:
    system = System(soft, hard, most)
    monkeypatch.setattr(resource, "getrlimit", system.getrlimit)
    monkeypatch.setattr(resource, "setrlimit", system.setrlimit)
    raise_descriptor_limit()
    assert system.limits == (then, hard)
