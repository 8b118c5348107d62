"""A cluster of 5.5.0 with users: what the recordings do not show of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fakemq
from conformance.targets.accounts import AUTH, LOCAL_USERS
from fakemq.client import Client, Message, MQBrokerError, MQClientError
from fakemq.events import AccessRefused, Warned
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.control import Http
from tests.support.users import RULES, SECRET

NONE = "User:shop has no permission to access Topic:other from 127.0.0.1, no matched policies."


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        reference="5.5.0", acl=RULES, clock="frozen", topics={"orders": 1, "other": 1}
    ) as cluster:
        yield cluster


def test_clients_do_what_their_users_may(mq: fakemq.Cluster) -> None:
    mq.producer(access_key="shop", secret_key=SECRET).send("orders", b"tea")
    consumer = mq.consumer(
        group="g",
        subscribe="orders",
        consume_from="first",
        access_key="billing",
        secret_key=SECRET,
    )
    mq.settle()
    assert [message.body for message in consumer.received] == [b"tea"]
    with pytest.raises((MQClientError, MQBrokerError), match="no permission to access Topic:other"):
        mq.producer(group="p", access_key="shop", secret_key=SECRET).send("other", b"tea")


def test_refusal_names_user_resource_and_action(mq: fakemq.Cluster) -> None:
    with pytest.raises((MQClientError, MQBrokerError)):
        mq.producer(group="p", access_key="shop", secret_key=SECRET).send("other", b"tea")
    refused = mq.journal.find(AccessRefused)[-1]
    assert (refused.user, refused.resource, refused.actions) == ("shop", "Topic:other", ("Pub",))
    assert refused.topics == ("other",)
    assert refused.why == NONE


def test_diagnosis_names_user_resource_and_action(mq: fakemq.Cluster) -> None:
    for group, secret in (("g", SECRET), ("wrong", "87654321")):
        mq.consumer(group=group, subscribe="orders", access_key="shop", secret_key=secret)
    mq.seed("orders", [b"tea"])
    mq.clock.advance("5s")  # a heartbeat is what is refused last
    (said,) = mq.diagnosis("orders", "g")
    assert said.endswith(
        "User:shop has no permission to access Group:g from 127.0.0.1, no matched policies."
        " (it takes Sub for Group:g)"
    )
    (said,) = mq.diagnosis("orders", "wrong")
    assert said.endswith("check signature failed. (key of shop)")


@pytest.mark.parametrize(("user", "key"), [("", ""), ("shop", "x"), ("shop", SECRET)])
def test_diagnosis_names_refused_sends(mq: fakemq.Cluster, user: str, key: str) -> None:
    with pytest.raises((MQClientError, MQBrokerError)):
        mq.producer(group="p", access_key=user, secret_key=key).send("other", b"tea")
    (said,) = mq.diagnosis("other")
    assert said.startswith("access control refused a request of 127.0.0.1 for topic other at ")
    assert said in mq.diagnosis()


def test_diagnosis_names_nodes_that_are_refused() -> None:
    with fakemq.Cluster(reference="5.5.0", slaves=1, clock="frozen", config=AUTH) as mq:
        mq.clock.advance("1m")
        said = [one for one in mq.diagnosis() if "of broker-a-1" in one]
        refused = mq.journal.find(AccessRefused, sender="broker-a-1")
    assert {RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_CONSUMER_OFFSET} <= {
        one.code for one in refused
    }
    (line,) = said
    assert line.startswith("access control of broker-a-0 refused GET_")
    assert line.endswith("username cannot be null.")


@pytest.mark.parametrize(
    ("config", "warning"),
    [
        (
            {"authenticationEnabled": "true"},
            "authenticationEnabled=true without authenticationMetadataProvider: each",
        ),
        (
            {**LOCAL_USERS, "authorizationMetadataProvider": "", "authorizationEnabled": "true"},
            "authorizationEnabled=true without authorizationMetadataProvider: only super users",
        ),
    ],
)
def test_check_without_a_provider_is_named_at_the_start(
    config: dict[str, str], warning: str
) -> None:
    with fakemq.Cluster(reference="5.5.0", clock="frozen", config=config) as mq:
        (warned,) = mq.journal.find(Warned)
    assert warned.text.startswith(warning)


def test_secrets_are_in_no_journal_page_or_error(tmp_path: Path) -> None:
    secrets = [f"secret-{number}" for number in range(8)]
    init = json.dumps({"username": "init", "password": secrets[0]})
    inner = json.dumps({"accessKey": "inner", "secretKey": secrets[1]})
    config = AUTH | {
        "initAuthenticationUser": init,
        "innerClientAuthenticationCredentials": inner,
    }
    journal, texts = tmp_path / "journal", []
    with fakemq.Cluster(
        reference="5.5.0",
        config=config,
        clock="frozen",
        journal=str(journal),
        slaves=1,
        control_port=0,
    ) as mq:
        requests: list[tuple[int, dict[str, str], str]] = [
            (RequestCode5.AUTH_CREATE_USER, {"username": "a"}, f'{{"password":"{secrets[2]}"}}'),
            (RequestCode5.AUTH_CREATE_USER, {"username": "a"}, f'{{"password":"{secrets[3]}"}}'),
            (RequestCode5.AUTH_CREATE_USER, {"username": "b"}, f'["{secrets[4]}'),
            (RequestCode5.AUTH_UPDATE_USER, {"username": "a"}, f'{{"password":"{secrets[5]}"}}'),
            (RequestCode5.AUTH_GET_USER, {"username": "a"}, ""),
            (RequestCode.UPDATE_BROKER_CONFIG, {}, f"initAuthenticationUser={secrets[6]}"),
            (RequestCode.UPDATE_BROKER_CONFIG, {}, f"initAuthenticationUsers={secrets[6]}"),
            (RequestCode.UPDATE_BROKER_CONFIG, {}, f"authorizationWhitelist={secrets[6]}"),
        ]
        addr = mq.broker("broker-a-0").addr
        for user, key in (("init", secrets[0]), ("a", secrets[7]), ("init", secrets[7])):
            with Client(mq.namesrv_addr, access_key=user, secret_key=key) as client:
                texts.append(repr(client))
                for code, fields, body in requests:
                    command = RemotingCommand(code, ext_fields=dict(fields), body=body.encode())
                    texts.append(client.invoke(addr, command).remark or "")
        mq.clock.advance("2m")
        texts += ["\n".join(map(str, mq.journal)), *mq.diagnosis()]
        texts.append(mq.inspect(lambda core: repr(core.brokers["broker-a-0"].config)))
        assert mq.control_url is not None
        page = Http(mq.control_url)
        texts += [str(page.get(f"/v1/{place}")) for place in ("journal", "brokers", "faults")]
    texts.append(journal.read_text())
    found = {secret for secret in secrets for text in texts if secret in text}
    assert not found


def test_single_requests_are_signed(mq: fakemq.Cluster) -> None:
    with Client(mq.namesrv_addr, access_key="boss", secret_key=SECRET) as client:
        sent = client.send(Message("orders", b"tea", keys="one"))
        found = client.query_message_by_unique_key("orders", sent.msg_id)
        assert found is not None
        assert found.body == b"tea"


def test_accounts_of_4_9_7_become_users() -> None:
    account = {"accessKey": "billing1", "secretKey": SECRET, "topicPerms": ["orders=PUB"]}
    with fakemq.Cluster(
        reference="5.5.0", acl={"accounts": [account]}, clock="frozen", topics={"orders": 1}
    ) as mq:
        mq.producer(access_key="billing1", secret_key=SECRET).send("orders", b"tea")
        with pytest.raises((MQClientError, MQBrokerError), match="username cannot be null"):
            mq.producer(group="p").send("orders", b"tea")


def slave_has_topics(**options: object) -> bool:
    with fakemq.Cluster(reference="5.5.0", slaves=1, clock="frozen", **options) as mq:  # type: ignore[arg-type]
        mq.create_topic("orders")
        mq.clock.advance("2m")
        return mq.inspect(lambda core: "orders" in core.brokers["broker-a-1"].topics.snapshot())


def test_slave_needs_the_keys_of_a_user() -> None:
    assert not slave_has_topics(config=AUTH)
    inner = {"innerClientAuthenticationCredentials": '{"accessKey":"inner","secretKey":"x"}'}
    assert slave_has_topics(config=AUTH | inner)
    assert slave_has_topics(acl=RULES)


def test_acl_enable_does_nothing_in_5_5_0() -> None:
    with fakemq.Cluster(
        reference="5.5.0", config={"aclEnable": "true"}, clock="frozen", topics={"orders": 1}
    ) as mq:
        mq.producer().send("orders", b"tea")
        assert len(mq.messages("orders")) == 1
        (warned,) = mq.journal.find(Warned)
        assert warned.text == "aclEnable does nothing in RocketMQ 5.5.0: see docs/auth.md"


def test_switched_off_it_imports_nothing() -> None:
    code = (
        "import sys, fakemq\n"
        "with fakemq.Cluster(reference='5.5.0', topics={'orders': 1}) as mq:\n"
        "    mq.seed('orders', [b'tea'])\n"
        "print([name for name in sys.modules if '.auth' in name or '.acl' in name])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
