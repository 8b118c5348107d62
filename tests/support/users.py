"""Users and rights of auth 2.0 for tests, and the requests of their administrators."""

from __future__ import annotations

import fakemq
from fakemq.broker.v5.auth.users import Users
from fakemq.broker.v5.broker import Broker5
from fakemq.client import Client
from fakemq.core.cluster import ClusterCore
from fakemq.protocol.command import RemotingCommand

SECRET = "12345678"


def entry(resource: str, *actions: str) -> dict[str, object]:
    return {"resource": resource, "actions": list(actions), "decision": "Allow"}


RULES = {
    "users": [
        {"username": "boss", "password": SECRET, "userType": "Super"},
        {"username": "shop", "password": SECRET},
        {"username": "billing", "password": SECRET},
    ],
    "acls": [
        {"subject": "User:shop", "policies": [{"entries": [entry("Topic:orders", "Pub")]}]},
        {
            "subject": "User:billing",
            "policies": [{"entries": [entry("Topic:*", "Sub"), entry("Group:*", "Sub")]}],
        },
    ],
}


def users_of(core: ClusterCore) -> Users:
    """Return the users of the only broker."""
    broker = core.brokers["broker-a-0"]
    assert isinstance(broker, Broker5)
    assert broker.users is not None
    return broker.users


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
