"""What requests need, and which permissions allow it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.acl.errors import AclError
from fakemq.broker.acl.permissions import (
    Perm,
    allows,
    check_entries,
    needed,
    perm_of,
    perms_of,
    shown,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand

PUB, SUB, DENY = Perm.PUB, Perm.SUB, Perm.DENY


@pytest.mark.parametrize(
    ("text", "perm"),
    [
        *(("PUB", PUB), ("SUB", SUB), (" SUB ", SUB), ("PUB|SUB", PUB | SUB)),
        *(("SUB|PUB", PUB | SUB), ("DENY", DENY), (None, DENY), ("pub", DENY), ("ANY", DENY)),
    ],
)
def test_permission_of_a_text(text: str | None, perm: Perm) -> None:
    assert perm_of(text) == perm


@pytest.mark.parametrize(
    ("owned", "needs", "expected"),
    [
        *((PUB, PUB, True), (SUB, PUB, False), (PUB | SUB, SUB, True), (DENY, PUB, False)),
        *((DENY | PUB, PUB, False), (SUB, Perm.ANY, True), (DENY, Perm.ANY, False)),
    ],
)
def test_owned_permission_allows_what_is_needed(owned: Perm, needs: Perm, expected: bool) -> None:
    assert allows(owned, needs) is expected


def request(code: int, body: bytes = b"", **fields: str) -> RemotingCommand:
    return RemotingCommand(code, ext_fields=fields, body=body)


HEARTBEAT = json.dumps(
    {
        "clientID": "C",
        "consumerDataSet": [{"groupName": "G", "subscriptionDataSet": [{"topic": "T"}]}],
    }
).encode()


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        (request(RequestCode.SEND_MESSAGE, topic="T", producerGroup="P"), {"T": PUB}),
        (request(RequestCode.SEND_MESSAGE, topic="%RETRY%G", producerGroup="G"), {}),
        (request(RequestCode.SEND_MESSAGE, topic="%RETRY%G", group="G"), {"%RETRY%G": SUB}),
        (request(RequestCode.SEND_MESSAGE_V2, b="T", a="P"), {"T": PUB}),
        (request(RequestCode.SEND_MESSAGE_V2, b="%RETRY%X", a="G"), {"%RETRY%G": SUB}),
        (request(RequestCode.SEND_MESSAGE_V2), {}),
        (request(RequestCode.SEND_BATCH_MESSAGE, b="T", a="P"), {}),
        (request(RequestCode.CONSUMER_SEND_MSG_BACK, group="G"), {"%RETRY%G": SUB}),
        (
            request(RequestCode.PULL_MESSAGE, topic="T", consumerGroup="G"),
            {"T": SUB, "%RETRY%G": SUB},
        ),
        (request(RequestCode.QUERY_MESSAGE, topic="T"), {"T": SUB}),
        (request(RequestCode.HEART_BEAT, HEARTBEAT), {"T": SUB, "%RETRY%G": SUB}),
        (request(RequestCode.UNREGISTER_CLIENT, consumerGroup="G"), {"%RETRY%G": SUB}),
        (request(RequestCode.UNREGISTER_CLIENT, producerGroup="P"), {}),
        (request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, consumerGroup="G"), {"%RETRY%G": SUB}),
        (
            request(RequestCode.UPDATE_CONSUMER_OFFSET, topic="T", consumerGroup="G"),
            {"T": SUB, "%RETRY%G": SUB},
        ),
        (request(RequestCode.QUERY_CONSUMER_OFFSET, topic="T", consumerGroup="G"), {}),
        (request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic="T"), {}),
    ],
)
def test_request_needs_permissions(command: RemotingCommand, needs: dict[str, Perm]) -> None:
    assert needed(command) == needs


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000], ids=["empty", "broken", "deep"])
def test_unreadable_heartbeat_is_refused(body: bytes) -> None:
    with pytest.raises(AclError):
        needed(request(RequestCode.HEART_BEAT, body))


def test_list_of_permissions_names_topics_and_groups() -> None:
    assert perms_of(["a=PUB", " b = SUB ", "c=nothing"], of_topics=True) == {
        "a": PUB,
        "b": SUB,
        "c": DENY,
    }
    assert perms_of(["g=SUB"], of_topics=False) == {"%RETRY%g": SUB}
    assert perms_of(None, of_topics=True) == {}
    with pytest.raises(AclError, match="Parse resource permission failed for group:g"):
        perms_of(["g"], of_topics=False)


names = st.text("abcXYZ-_%", min_size=1)


@given(st.dictionaries(names, st.sampled_from(["PUB", "SUB", "PUB|SUB", "SUB|PUB", "DENY"])))
def test_list_of_permissions_is_read_as_written(perms: dict[str, str]) -> None:
    entries = [f"{name}={perm}" for name, perm in perms.items()]
    check_entries(entries)
    expected = {name: perm_of(perm) for name, perm in perms.items()}
    assert perms_of(entries, of_topics=True) == expected


@given(st.lists(st.text("ab=|PUBS", max_size=12)))
def test_list_that_an_operator_may_set_can_be_read(entries: list[str]) -> None:
    try:
        check_entries(entries)
    except AclError:
        return
    perms_of(entries, of_topics=True)


def test_errors_name_groups_without_their_prefix() -> None:
    assert shown("orders") == "topic:orders"
    assert shown("%RETRY%billing") == "group:billing"
