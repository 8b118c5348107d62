"""What a start, a reset, a restore and a stopped broker do to users and their checks."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import fakemq
from conformance.targets.accounts import ADMIN, AUTH, STATEFUL
from fakemq.client import Client
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.bodies.auth import AuthTables
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.users import RULES, SECRET, ask, users_of


def stateful() -> fakemq.Cluster:
    return fakemq.Cluster(
        reference="5.5.0", acl=RULES, config=STATEFUL, clock="frozen", topics={"orders": 1}
    )


def restoring(mq: fakemq.Cluster) -> Callable[[], None]:
    snapshot = mq.snapshot()
    return lambda: mq.restore(snapshot)


PASSWORD = b'{"password":"x"}'


@pytest.mark.parametrize("begin_anew", [lambda mq: mq.reset, restoring], ids=["reset", "restore"])
def test_decisions_end_with_what_they_were_made_for(
    begin_anew: Callable[[fakemq.Cluster], Callable[[], None]],
) -> None:
    with stateful() as mq, Client(mq.namesrv_addr, access_key="new", secret_key="x") as client:
        again = begin_anew(mq)
        with Client(mq.namesrv_addr, access_key="boss", secret_key=SECRET) as boss:
            made = ask(boss, mq, RequestCode5.AUTH_CREATE_USER, {"username": "new"}, PASSWORD)
        assert made.code == 0
        assert ask(client, mq, RequestCode.GET_BROKER_RUNTIME_INFO).code == 0
        again()
        found = ask(client, mq, RequestCode.GET_BROKER_RUNTIME_INFO)
        assert found.remark == "User:new is not found."


def test_inner_credentials_are_read_at_the_start() -> None:
    with fakemq.Cluster(reference="5.5.0", acl=RULES, slaves=1, clock="frozen") as mq:
        slave = mq.broker("broker-a-1")
        keys = '{"accessKey":"stranger","secretKey":"x"}'
        slave.stop()
        slave.restart({"innerClientAuthenticationCredentials": keys})
        mq.create_topic("orders")
        mq.clock.advance("2m")
        has = "orders" in mq.inspect(lambda core: core.brokers["broker-a-1"].topics.snapshot())
    assert not has


def test_rules_are_taken_over_once(tmp_path: Path) -> None:
    def started() -> fakemq.Cluster:
        return fakemq.Cluster(reference="5.5.0", acl=RULES, store=str(tmp_path), clock="frozen")

    with started() as mq:
        with Client(mq.namesrv_addr, access_key="boss", secret_key=SECRET) as boss:
            ask(boss, mq, RequestCode5.AUTH_DELETE_USER, {"username": "shop"})
            ask(boss, mq, RequestCode5.AUTH_DELETE_ACL, {"subject": "User:billing"})
            ask(boss, mq, RequestCode5.AUTH_UPDATE_USER, {"username": "boss"}, PASSWORD)
        broker = mq.broker("broker-a-0")
        broker.stop()
        broker.restart()
        tables = mq.inspect(persisted)
        assert names(tables) == ["billing", "boss"]
    with started() as mq:
        again = mq.inspect(persisted)
        files = sorted(tmp_path.rglob("auth.json*"))
        assert [file.name for file in files] == ["auth.json", "auth.json.bak"]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}, "passwords"
        assert again == tables
        assert [user.password for user in again.users] == [SECRET, "x"]
        assert again.acls == []
        mq.reset()
        assert names(mq.inspect(persisted)) == ["billing", "boss", "shop"]


def test_users_of_the_config_come_back_with_each_start() -> None:
    with fakemq.Cluster(reference="5.5.0", config=AUTH, clock="frozen") as mq:
        with Client(mq.namesrv_addr, access_key=ADMIN, secret_key=SECRET) as boss:
            ask(boss, mq, RequestCode5.AUTH_DELETE_USER, {"username": ADMIN})
        assert names(mq.inspect(persisted)) == []
        broker = mq.broker("broker-a-0")
        broker.stop()
        broker.restart()
        assert names(mq.inspect(persisted)) == [ADMIN]


def persisted(core: ClusterCore) -> AuthTables:
    return users_of(core).persisted()


def names(tables: AuthTables) -> list[str | None]:
    return [user.username for user in tables.users]
