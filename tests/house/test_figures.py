"""What `tests.figures` counts grows no more: a mechanism is said once."""

from __future__ import annotations

import pytest

from tests import figures
from tests.support.sources import READ_BY_ONE_WORKER

pytestmark = READ_BY_ONE_WORKER

AT_MOST = {
    "modules in no folder": 7,
    "public class names of two modules": 28,
    "drivers of generators": 3,
    "types of later values": 2,
    "client transports": 1,
    "files with a release in their name": 0,
}
"""Lower a figure when it has fallen."""


@pytest.mark.parametrize("name", AT_MOST)
def test_figure_is_the_most_that_it_may_be(name: str) -> None:
    assert figures.figures()[name] <= AT_MOST[name], "`python -m tests.figures` names them"


def test_every_figure_is_counted() -> None:
    found = figures.figures()
    assert all(found[name] > 0 for name in found if AT_MOST.get(name) != 0)
