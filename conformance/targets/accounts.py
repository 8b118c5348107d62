"""The accounts of clusters whose config has aclEnable=true, as their plain_acl.yml."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

SECRET = "12345678"
ADMIN, USER, STRICT_ADMIN = "adminadmin", "useruser", "strictadmin"
LOCAL, REMOTE, SENDER, CLIENT = "locallocal", "remoteremote", "sendersender", "clientclient"
RULES: Mapping[str, object] = {
    "globalWhiteRemoteAddresses": ["10.10.103.*", "192.168.0.1-20"],
    "accounts": [
        {"accessKey": ADMIN, "secretKey": SECRET, "admin": True},
        {
            "accessKey": USER,
            "secretKey": SECRET,
            "defaultTopicPerm": "DENY",
            "defaultGroupPerm": "SUB",
            "topicPerms": [
                *("SAclPub=PUB", "SAclSub=SUB", "SAclBoth=PUB|SUB", "SAclDeny=DENY"),
                *("SAclKeys=SUB|PUB", "SAclDoor=PUB"),
            ],
            "groupPerms": ["GAclDeny=DENY", "GAclPub=PUB", "GAclSub=SUB"],
        },
        {
            "accessKey": STRICT_ADMIN,
            "secretKey": SECRET,
            "admin": True,
            "topicPerms": ["SAclSub=SUB"],
        },
        {"accessKey": LOCAL, "secretKey": SECRET, "whiteRemoteAddress": "127.0.0.1"},
        {"accessKey": REMOTE, "secretKey": SECRET, "whiteRemoteAddress": "10.0.0.1,10.0.0.2"},
        {"accessKey": SENDER, "secretKey": SECRET, "defaultTopicPerm": "PUB"},
        {
            "accessKey": CLIENT,
            "secretKey": SECRET,
            "defaultTopicPerm": "PUB|SUB",
            "defaultGroupPerm": "SUB",
        },
    ],
}
"""JSON is YAML, too, so that both sides read the same text."""


_AUTH = "org.apache.rocketmq.auth"
LOCAL_USERS = {
    "authenticationMetadataProvider": (
        f"{_AUTH}.authentication.provider.LocalAuthenticationMetadataProvider"
    ),
    "authorizationMetadataProvider": (
        f"{_AUTH}.authorization.provider.LocalAuthorizationMetadataProvider"
    ),
}
"""Where brokers of 5.5.0 keep users and their rights; without these keys they know of none."""
AUTH = {
    **LOCAL_USERS,
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "initAuthenticationUser": json.dumps({"username": ADMIN, "password": SECRET}),
}
"""Brokers of 5.5.0 with a super user."""
STATEFUL = {
    "authenticationStrategy": f"{_AUTH}.authentication.strategy.StatefulAuthenticationStrategy",
    "authorizationStrategy": f"{_AUTH}.authorization.strategy.StatefulAuthorizationStrategy",
}
"""Brokers that remember for a minute what they have said of a connection."""


PROXY_AUTH = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "authenticationMetadataProvider": (
        "org.apache.rocketmq.proxy.auth.ProxyAuthenticationMetadataProvider"
    ),
    "authorizationMetadataProvider": (
        "org.apache.rocketmq.proxy.auth.ProxyAuthorizationMetadataProvider"
    ),
    "enableAclRpcHookForClusterMode": "true",
    "innerClientAuthenticationCredentials": json.dumps({"accessKey": ADMIN, "secretKey": SECRET}),
}
"""A proxy that asks brokers for users and rights, and signs what it asks as their super user."""


def needs_accounts(config: Mapping[str, str]) -> bool:
    """Return whether brokers of this config read a plain_acl.yml."""
    return config.get("aclEnable") == "true"


def needs_keys(config: Mapping[str, str]) -> bool:
    """Return whether brokers of this config check their clients."""
    return needs_accounts(config) or config.get("authenticationEnabled") == "true"


def write_rules(home: Path, rules: Mapping[str, object] = RULES) -> None:
    """Write the accounts to where a broker with this ``rocketmqHome`` reads them."""
    (home / "conf").mkdir(parents=True, exist_ok=True)
    (home / "conf" / "plain_acl.yml").write_text(json.dumps(rules, indent=1))
