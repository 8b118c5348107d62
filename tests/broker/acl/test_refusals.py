"""A refusal costs little, as its caller may have no right to anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.acl import needs as needs_of_requests
from fakemq.broker.acl.access import LOOKS_AT_MOST, NAMED_AT_MOST, note_refusal
from fakemq.broker.acl.accounts import REFUSED_AT_MOST, Account, PlainAccessConfig
from fakemq.broker.acl.errors import AclError
from fakemq.broker.acl.homes import MemoryHome
from fakemq.broker.acl.needs import Need
from fakemq.broker.acl.permission_manager import PlainPermissionManager
from fakemq.broker.acl.permissions import Perm
from fakemq.broker.acl.rights import Rights
from fakemq.clock.clock import Clock
from fakemq.events import AccessRefused
from fakemq.journal.journal import Journal
from fakemq.protocol.bodies.heartbeat import HeartbeatData
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.signature import Credentials

KEYS = Credentials("useruser", "12345678")
RULES = {"accounts": [{"accessKey": KEYS.access_key, "secretKey": KEYS.secret_key}]}
ACCOUNT = Account.of(PlainAccessConfig.of(RULES["accounts"][0]))
TOPICS = [f"topic-{number}" for number in range(5_000)]


def noted(needs: Iterable[tuple[str | None, object]]) -> AccessRefused:
    journal = Journal(Clock())
    error = AclError("")
    error.needs = needs
    note_refusal(journal, node="b", peer="p:1", host="p", error=error, user="")
    (event,) = (one.event for one in journal if isinstance(one.event, AccessRefused))
    return event


def counted(needs: Iterator[Need], read: list[Need]) -> Iterator[Need]:
    for one in needs:
        read.append(one)
        yield one


def test_refusal_reads_no_more_names_than_it_has() -> None:
    read: list[Need] = []
    mixed = [(f"{kind}{name}", Perm.SUB) for name in TOPICS for kind in ("%RETRY%", "")]
    event = noted(counted(iter(mixed), read))
    assert event.groups == event.topics == tuple(TOPICS[:NAMED_AT_MOST])
    assert len(read) == 2 * NAMED_AT_MOST


def test_refusal_looks_for_groups_among_a_limited_number_of_names() -> None:
    read: list[Need] = []
    event = noted(counted(iter([(name, Perm.PUB) for name in TOPICS]), read))
    assert event.topics == tuple(TOPICS[:NAMED_AT_MOST])
    assert len(read) == LOOKS_AT_MOST


def heartbeat(fields: dict[str, str], number: int) -> RemotingCommand:
    data = {"groupName": "g", "subscriptionDataSet": [{"topic": one} for one in TOPICS[:number]]}
    body = json.dumps({"clientID": "c", "consumerDataSet": [data]}).encode()
    return RemotingCommand(RequestCode.HEART_BEAT, ext_fields=fields, body=body)


def refused(command: RemotingCommand, *, v5: bool) -> AclError:
    manager = PlainPermissionManager(
        MemoryHome(RULES), now_ms=lambda: 0, warn=lambda _: None, rights=Rights(v5=v5)
    )
    manager.load()
    with pytest.raises(AclError) as caught:
        manager.validate("10.9.9.9", command)
    return caught.value


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[type]:
    found: list[type] = []
    decode = needs_of_requests._decoded

    def noting(kind: type[HeartbeatData], command: RemotingCommand) -> object:
        found.append(kind)
        return decode(kind, command)

    monkeypatch.setattr(needs_of_requests, "_decoded", noting)
    return found


@pytest.mark.parametrize(
    ("fields", "v5", "times"),
    [({}, False, 0), ({}, True, 0), ({"AccessKey": "x"}, True, 0), ({"AccessKey": "x"}, False, 1)],
    ids=["4.9.7 without fields", "5.5.0 without fields", "5.5.0 unknown", "4.9.7 unknown"],
)
def test_large_body_of_an_unknown_caller_is_read_only_where_java_reads_it(
    decoded: list[type], fields: dict[str, str], v5: bool, times: int
) -> None:
    error = refused(heartbeat(fields, 5_000), v5=v5)
    noted(error.needs)
    assert len(decoded) == times


@pytest.mark.parametrize("v5", [False, True], ids=["4.9.7", "5.5.0"])
@pytest.mark.parametrize("keys", [None, KEYS], ids=["unsigned", "signed"])
def test_body_of_a_refused_caller_is_read_once(
    decoded: list[type], keys: Credentials | None, v5: bool
) -> None:
    command = heartbeat({}, 3)
    if keys is not None:
        keys.sign(command)
    event = noted(refused(command, v5=v5).needs)
    assert (event.groups, set(event.topics)) == (("g",), set(TOPICS[:3]))
    assert len(decoded) == 1


@given(st.lists(st.text("abcdef%", min_size=1), min_size=1, max_size=80, unique=True), st.data())
def test_error_names_what_java_finds_first(names: list[str], data: st.DataObject) -> None:
    allowed = data.draw(st.sets(st.sampled_from(names), max_size=len(names) - 1))
    account = Account.of(
        PlainAccessConfig.of(
            {**RULES["accounts"][0], "topicPerms": [f"{name}=SUB" for name in sorted(allowed)]}
        )
    )
    first = next(name for name in java_hash_map_order(names) if name not in allowed)
    with pytest.raises(AclError, match=rf"No default permission for topic:{first}$"):
        account.require(dict.fromkeys(names, Perm.SUB))


def test_error_is_found_among_a_limited_number_of_names() -> None:
    with pytest.raises(AclError) as caught:
        ACCOUNT.require(dict.fromkeys(TOPICS, Perm.SUB))
    named = str(caught.value).rpartition(":")[2]
    assert named in TOPICS[:REFUSED_AT_MOST]


def test_needs_after_a_refused_one_are_not_read() -> None:
    read: list[Need] = []
    with pytest.raises(AclError):
        ACCOUNT.require_each(counted(iter([(name, Perm.PUB) for name in TOPICS]), read))
    assert len(read) == 1
