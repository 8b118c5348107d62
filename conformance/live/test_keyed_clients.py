"""RocketMQ 5's clients say of right and wrong keys at the fake what they say behind a real proxy.

What that is was recorded; ``python -m conformance.drivers.keyed_clients`` compares it with a real
cluster now.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.drivers.beside import recorded
from conformance.drivers.keyed_clients import (
    CASES,
    CLIENTS,
    RECORDED,
    KeyedClient,
    difference,
    front,
    observe,
    scenario,
)
from conformance.drivers.v5_clients import Where
from conformance.live.groups import WAITING
from conformance.live.toolchains import require

# Slow: toolchains that build once, and clients that try again before they give up.
pytestmark = [pytest.mark.slow, pytest.mark.jvm, pytest.mark.timeout(1200), WAITING]


@pytest.fixture(scope="module")
def where() -> Iterator[Where]:
    with front(fake=True) as found:
        yield found


@pytest.mark.parametrize("client", CLIENTS, ids=[one.name for one in CLIENTS])
def test_client_says_of_each_key_what_was_recorded(where: Where, client: KeyedClient) -> None:
    require(client.missing())
    found = [difference(client, case, observe(client, where, case)) for case in CASES]
    assert not any(found), "\n".join(filter(None, found))


def test_every_case_of_every_client_is_recorded() -> None:
    wanted = {scenario(client, case) for client in CLIENTS for case in CASES}
    assert recorded(RECORDED).keys() == wanted
