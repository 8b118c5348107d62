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


def needs_accounts(config: Mapping[str, str]) -> bool:
    """Return whether brokers of this config check their clients."""
    return config.get("aclEnable") == "true"


def write_rules(home: Path, rules: Mapping[str, object] = RULES) -> None:
    """Write the accounts to where a broker with this ``rocketmqHome`` reads them."""
    (home / "conf").mkdir(parents=True, exist_ok=True)
    (home / "conf" / "plain_acl.yml").write_text(json.dumps(rules, indent=1))
