"""A walk over the table of rights: what an account without rights is refused, by every code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import fakemq
from fakemq.broker.acl.rights import BROKER
from fakemq.client import Client
from fakemq.core.cluster import ClusterCore
from fakemq.events.core import TransactionChecked
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message_id import create_offset_id
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference import NAMES, find_reference

SECRET = "12345678"
ADMIN, POWERLESS, OWNER = "adminadmin", "powerless", "owner-of-own"
RULES = {
    "accounts": [
        {"accessKey": ADMIN, "secretKey": SECRET, "admin": True},
        {"accessKey": POWERLESS, "secretKey": SECRET},
        {
            "accessKey": OWNER,
            "secretKey": SECRET,
            "topicPerms": ["own=PUB|SUB"],
            "groupPerms": ["OWN=SUB"],
        },
    ]
}
QUEUE = {"topic": "secret", "brokerName": "broker-a", "queueId": 0}
BODIES: dict[int, object] = {
    RequestCode.HEART_BEAT: {
        "clientID": "C",
        "consumerDataSet": [{"groupName": "G", "subscriptionDataSet": [{"topic": "secret"}]}],
    },
    RequestCode.LOCK_BATCH_MQ: {"consumerGroup": "G", "clientId": "C", "mqSet": [QUEUE]},
    RequestCode.UNLOCK_BATCH_MQ: {"consumerGroup": "G", "clientId": "C", "mqSet": [QUEUE]},
    RequestCode5.BATCH_ACK_MESSAGE: {"acks": [{"c": "G", "t": "secret", "r": "0"}]},
    RequestCode5.QUERY_ASSIGNMENT: {"topic": "secret", "consumerGroup": "G", "clientId": "C"},
}


class Place(NamedTuple):
    """A cluster that has a message in the topic "secret"."""

    mq: fakemq.Cluster
    broker: str
    offset: int

    def ask(self, account: str, code: int, fields: dict[str, str], body: bytes = b"") -> str:
        """Return the refusal of access control; "" if the request got past it."""
        with Client(self.mq.namesrv_addr, access_key=account, secret_key=SECRET) as client:
            command = RemotingCommand(code, ext_fields=dict(fields), body=body)
            remark = client.invoke(self.broker, command).remark or ""
        return remark.partition("AclException: ")[2].partition(", org.apache")[0]

    def fields(
        self, topic: str = "secret", group: str = "G", offset: int | None = None
    ) -> dict[str, str]:
        """Return each field that names something, in the form of every code."""
        offset = self.offset if offset is None else offset
        return {
            **dict.fromkeys(("topic", "b"), topic),
            **dict.fromkeys(("group", "consumerGroup", "a", "producerGroup"), group),
            **dict.fromkeys(("offset", "commitLogOffset"), str(offset)),
            "msgId": create_offset_id(("127.0.0.1", 10911), offset),
        }


WITH_ACCOUNTS = [name for name in NAMES if find_reference(name).reads_acl_enable]
"""5.5.0 has users: `tests/system/test_auth.py`."""


@pytest.fixture(scope="module", params=WITH_ACCOUNTS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    topics = {"secret": 1, "own": 1}
    with fakemq.Cluster(acl=RULES, clock="frozen", reference=request.param, topics=topics) as mq:
        mq.seed("own", [b"mine"])
        mq.seed("secret", [b"not yours"])
        (message,) = mq.messages("secret")
        addr = mq.inspect(lambda core: core.brokers["broker-a-0"].addr)
        yield Place(mq, addr, message.commit_log_offset)


def codes(release: str) -> list[int]:
    """Return the codes that ask for something."""
    rules = {
        code: row.in_4_9_7 if release == "4.9.7" else row.in_v5 for code, row in BROKER.items()
    }
    return [int(code) for code, rule in rules.items() if rule and (rule.admin or rule.needs)]


def test_account_without_rights_is_refused_by_each_code_that_asks(place: Place) -> None:
    release = place.mq.inspect(lambda core: core.spec.reference.name)
    walked = codes(release)
    assert len(walked) > (13 if release == "4.9.7" else 70)
    for code in walked:
        body = json.dumps(BODIES.get(code, {})).encode()
        refusal = place.ask(POWERLESS, code, place.fields(), body)
        assert refusal.startswith(("No default permission for", "Need admin permission")), code


def test_admin_gets_past_the_door_by_each_code(place: Place) -> None:
    for code in (RequestCode.GET_BROKER_RUNTIME_INFO, RequestCode.UPDATE_BROKER_CONFIG):
        assert place.ask(ADMIN, code, {}) == ""
    assert place.ask(OWNER, RequestCode.UPDATE_BROKER_CONFIG, {}).startswith("Need admin")


@pytest.mark.parametrize("code", [RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE])
def test_lite_pull_is_refused_as_a_pull_is(place: Place, code: RequestCode) -> None:
    fields = place.fields(group="OWN")
    assert place.ask(OWNER, code, fields) == "No default permission for topic:secret"


STORED = (
    *(RequestCode.VIEW_MESSAGE_BY_ID, RequestCode.CONSUMER_SEND_MSG_BACK),
    *(RequestCode.CONSUME_MESSAGE_DIRECTLY, RequestCode.END_TRANSACTION),
)


@pytest.mark.parametrize("place", ["5.3.2"], indirect=True)
@pytest.mark.parametrize("code", STORED)
def test_place_of_a_message_does_not_open_a_topic(place: Place, code: RequestCode) -> None:
    refusal = place.ask(OWNER, code, place.fields("own", "OWN"))
    assert refusal == "No default permission for topic:secret"
    mine = place.mq.messages("own")[0].commit_log_offset
    assert place.ask(OWNER, code, place.fields("own", "OWN", mine)) == ""


@pytest.mark.parametrize("place", ["5.3.2"], indirect=True)
def test_record_inside_a_body_is_no_message(place: Place) -> None:
    def record_at(offset: int) -> bytes:
        def read(core: ClusterCore) -> bytes:
            return bytes(
                core.brokers["broker-a-0"].store.select_one_message_by_offset(offset) or b""
            )

        return place.mq.inspect(read)

    mine = record_at(place.mq.messages("own")[0].commit_log_offset)
    place.mq.seed("own", [mine])
    outer = place.mq.messages("own")[-1].commit_log_offset
    inside = str(outer + record_at(outer).index(mine))
    refusal = place.ask(OWNER, RequestCode.VIEW_MESSAGE_BY_ID, {"offset": inside})
    assert refusal == f"No default permission for topic:<no message begins at offset {inside}>"


def test_batch_of_4_9_7_needs_no_permission_as_recorded(place: Place) -> None:
    release = place.mq.inspect(lambda core: core.spec.reference.name)
    refusal = place.ask(POWERLESS, RequestCode.SEND_BATCH_MESSAGE, place.fields())
    assert refusal == ("" if release == "4.9.7" else "No default permission for topic:secret")


@pytest.mark.parametrize("place", ["5.3.2"], indirect=True)
def test_half_message_is_checked_by_accounts_that_may_send_to_its_topic(place: Place) -> None:
    mq, beat = place.mq, {"clientID": "C", "producerDataSet": [{"groupName": "P"}]}
    heartbeat = RemotingCommand(RequestCode.HEART_BEAT, body=json.dumps(beat).encode())
    texts = {"TRAN_MSG": "true", "PGROUP": "P", "UNIQ_KEY": "K"}
    half = {
        **dict.fromkeys("cdefghijklm", "0"),
        "a": "P",
        "b": "secret",
        "c": "TBW102",
        "f": "4",
        "i": "\x02".join(f"{name}\x01{value}" for name, value in texts.items()),
    }
    command = RemotingCommand(RequestCode.SEND_MESSAGE_V2, ext_fields=half, body=b"not yours")
    with (
        Client(mq.namesrv_addr, access_key=OWNER, secret_key=SECRET) as stranger,
        Client(mq.namesrv_addr, access_key=ADMIN, secret_key=SECRET) as owner,
    ):
        assert stranger.invoke(place.broker, heartbeat).code == 0
        assert owner.invoke(place.broker, command).code == 0
        mq.clock.advance("2m")
        checked = mq.journal.find(TransactionChecked)
        assert checked
        assert {one.peer for one in checked} == {None}
        assert owner.invoke(place.broker, heartbeat).code == 0
        mq.clock.advance("2m")
        assert mq.journal.find(TransactionChecked)[-1].peer is not None
