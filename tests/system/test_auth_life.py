"""What a start, a reset, a restore and a stopped broker do to users and their checks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import fakemq
from conformance.targets.accounts import STATEFUL
from fakemq.client import Client
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5
from tests.system.test_auth import RULES, SECRET


def stateful() -> fakemq.Cluster:
    return fakemq.Cluster(
        reference="5.5.0", acl=RULES, config=STATEFUL, clock="frozen", topics={"orders": 1}
    )


def restoring(mq: fakemq.Cluster) -> Callable[[], None]:
    snapshot = mq.snapshot()
    return lambda: mq.restore(snapshot)


PASSWORD = b'{"password":"x"}'


def ask(
    client: Client,
    mq: fakemq.Cluster,
    code: int,
    fields: dict[str, str] | None = None,
    body: bytes = b"",
) -> RemotingCommand:
    """Send a signed request to the only master; return the answer."""
    command = RemotingCommand(code, ext_fields=dict(fields or {}), body=body)
    return client.invoke(mq.broker("broker-a-0").addr, command)


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
        keys = '{"accessKey":"nobody","secretKey":"x"}'
        slave.stop()
        slave.restart({"innerClientAuthenticationCredentials": keys})
        mq.create_topic("orders")
        mq.clock.advance("2m")
        has = "orders" in mq.inspect(lambda core: core.brokers["broker-a-1"].topics.snapshot())
    assert not has
