"""What is remembered of a connection, and what is checked in steps."""

from __future__ import annotations

from typing import Any

import pytest

from fakemq.broker.v5.auth.asks import BROKER
from fakemq.broker.v5.auth.checks import (
    READ_AT_ONCE_BYTES,
    REMEMBERED_MAX,
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

    def __init__(self) -> None:
        self.strategy = AuthStrategy("", lambda: 0, 60)
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


def test_connection_has_no_more_answers_than_a_limit() -> None:
    checks = Checks()
    for number in range(REMEMBERED_MAX + 1):
        checks.ask(str(number))
    checks.ask("0")
    assert checks.count == REMEMBERED_MAX + 2


def test_long_list_of_names_in_a_field_is_checked_in_steps() -> None:
    auth = object.__new__(AuthControl)
    auth._rules = BROKER

    def takes_long(names: str) -> bool:
        code = RequestCode.QUERY_CORRECTION_OFFSET
        command = RemotingCommand(code, ext_fields={"filterGroups": names, "topic": "t"})
        return auth.takes_long(command)

    assert not takes_long("a,b")
    assert takes_long("a," * READ_AT_ONCE_BYTES)
