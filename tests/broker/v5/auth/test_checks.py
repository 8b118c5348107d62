"""What is remembered of a connection, and what is checked in steps."""

from __future__ import annotations

from typing import Any, cast

import pytest

from fakemq.broker.v5.auth.asks import BROKER
from fakemq.broker.v5.auth.checks import (
    READ_AT_ONCE_BYTES,
    REMEMBERED_MAX_CHARS,
    AuthControl,
    AuthStrategy,
)
from fakemq.broker.v5.auth.errors import AuthError
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand


class Connection:
    closed = False


class Checks:
    """A stateful strategy, and how often it has checked."""

    def __init__(self, most: int = 10) -> None:
        self.strategy = AuthStrategy(lambda: 0)
        self.strategy.begin("", 60, most)
        self.connection: Any = Connection()
        self.count = 0

    def ask(self, *key: str) -> AuthError:
        """Ask for something that is refused."""

        def check() -> None:
            self.count += 1
            error = AuthError("no", resource="Topic:orders", actions=("Pub",))
            error.needs = iter(())
            raise error

        with pytest.raises(AuthError) as caught:
            self.strategy.evaluate(self.connection, "310", key, check)
        return caught.value


def test_refusal_is_remembered_without_its_request() -> None:
    checks = Checks()
    first, second = checks.ask("shop"), checks.ask("shop")
    assert checks.count == 1
    assert first is not second
    assert (second.message, second.resource, second.actions) == ("no", "Topic:orders", ("Pub",))
    assert second.needs == ()


def test_long_names_are_not_remembered() -> None:
    checks = Checks()
    for _ in range(2):
        checks.ask("shop", "x" * REMEMBERED_MAX_CHARS)
    assert checks.count == 2


def test_all_connections_together_have_no_more_decisions_than_a_limit() -> None:
    checks, connections = Checks(most=10), [cast("Any", Connection()) for _ in range(4)]
    for checks.connection in connections:
        for number in range(3):
            checks.ask(str(number))
    assert checks.count == 12
    assert sum(len(found) for found in checks.strategy._decisions.values()) <= 10
    checks.ask("0")
    assert checks.count == 12
    checks.connection = connections[0]
    checks.ask("0")
    assert checks.count == 13, "the oldest connection's were forgotten"
    for number in range(20):  # one connection alone
        checks.ask(str(number))
    assert sum(len(found) for found in checks.strategy._decisions.values()) <= 10


@pytest.mark.parametrize("most", [0, 1])
def test_limit_may_be_small(most: int) -> None:
    checks = Checks(most)
    for name in ("a", "a", "b", "a"):
        checks.ask(name)
    assert checks.count == (4 if most == 0 else 3)


def test_decisions_of_closed_connections_are_forgotten() -> None:
    checks = Checks(most=10_000)
    for _ in range(1_000):
        checks.connection = Connection()
        checks.ask("a")
        checks.connection.closed = True
    assert checks.strategy._count == len(checks.strategy._decisions) < 200


def test_long_list_of_names_in_a_field_is_checked_in_steps() -> None:
    auth = object.__new__(AuthControl)
    auth._rules = BROKER

    def takes_long(names: str) -> bool:
        code = RequestCode.QUERY_CORRECTION_OFFSET
        command = RemotingCommand(code, ext_fields={"filterGroups": names, "topic": "t"})
        return auth.takes_long(command)

    assert not takes_long("a,b")
    assert takes_long("a," * READ_AT_ONCE_BYTES)
