"""Resources, policies, and which entry decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.v5.auth.model import (
    ALLOW,
    DENY,
    GET,
    MOST_PARTS,
    PUB,
    SUB,
    Acl,
    Policy,
    PolicyEntry,
    Resource,
    Sources,
    is_ip_or_range,
    user_in,
)
from tests.support.calls import calls_of

ORDERS = Resource("Topic", "orders")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        *(("*", "*"), ("Topic:*", "Topic:*"), ("TOPIC:orders", "Topic:orders")),
        *(("group:b*", "Group:b*"), ("Topic:a*b*", "Topic:a*"), ("Any:x", "*")),
        *(("Topic", "Topic:"), ("Cluster:c", "Cluster:c")),
    ],
)
def test_resource_is_read_and_written(text: str, key: str) -> None:
    resource = Resource.of(text)
    assert resource is not None
    assert resource.key == key


@pytest.mark.parametrize("text", [None, "", " ", "orders", "Topik:orders"])
def test_resource_without_a_kind_is_none(text: str | None) -> None:
    assert Resource.of(text) is None


@pytest.mark.parametrize(
    ("text", "covers"),
    [
        *(("*", True), ("Topic:*", True), ("Topic:orders", True), ("Topic:ord*", True)),
        *(("Topic:Ord*", False), ("Topic:order", False), ("Group:*", False), ("Any:x", True)),
    ],
)
def test_resource_covers(text: str, covers: bool) -> None:
    assert bool(list(Policy("Custom", [entry(text, PUB)]).about(ORDERS))) is covers


def test_group_of_a_retry_topic_is_a_group() -> None:
    assert Resource.of_group("%RETRY%billing") == Resource("Group", "billing")
    assert Resource.of_group(None).key == "Group:null"


@pytest.mark.parametrize(
    ("subject", "user"),
    [("User:a", "a"), ("user:a:b", "a:b"), ("Group:a", None), ("a", None), (None, None)],
)
def test_subject_is_a_user(subject: str | None, user: str | None) -> None:
    assert user_in(subject) == user


def entry(
    text: str, *actions: str, decision: str = ALLOW, ips: list[str] | None = None
) -> PolicyEntry:
    resource = Resource.of(text)
    assert resource is not None
    return PolicyEntry(resource, list(actions), None if ips is None else Sources(ips), decision)


def decision(
    *entries: PolicyEntry, default: PolicyEntry | None = None, ip: str = "10.0.0.1"
) -> str:
    """Return what is decided about a send to orders; "" if nothing is."""
    policies = [Policy("Custom", list(entries))]
    policies += [] if default is None else [Policy("Default", [default])]
    found = Acl("User:a", policies).deciding(ORDERS, (PUB,), ip)
    return "" if found is None else found.decision


def test_narrowest_entry_decides() -> None:
    wide, narrow = entry("Topic:*", PUB), entry("Topic:ord*", PUB, decision=DENY)
    assert decision(wide, narrow) == decision(narrow, wide) == DENY
    assert decision(narrow, entry("Topic:orde*", PUB)) == ALLOW
    assert decision(narrow, entry("Topic:orders", PUB)) == ALLOW
    assert decision(entry("*", PUB, decision=DENY), wide) == ALLOW


def test_denial_decides_among_equals() -> None:
    assert decision(entry("Any:a", PUB), entry("Any:b", PUB, decision=DENY)) == DENY


def test_default_counts_where_nothing_else_matches() -> None:
    default = entry("Topic:*", PUB)
    assert decision(entry("Topic:orders", SUB, decision=DENY), default=default) == ALLOW
    assert decision(entry("*", PUB, decision=DENY), default=default) == DENY
    assert decision() == ""


def test_entry_is_about_its_addresses() -> None:
    assert decision(entry("*", PUB, ips=["10.0.0.2", "10.0.0.0/31"])) == ALLOW
    assert decision(entry("*", PUB, ips=["10.0.0.2"])) == ""
    assert decision(entry("*", "All", ips=["::/0"])) == ALLOW, "Java compares numbers"


def test_policies_are_added_and_taken() -> None:
    acl = Acl("User:a", [Policy("Custom", [entry("Topic:a", PUB)])])
    acl.update([Policy("Custom", [entry("Topic:a", GET), entry("Topic:b", PUB)])])
    custom = acl.find("Custom")
    assert custom is not None
    assert [(one.resource.key, one.actions) for one in custom.entries] == [
        ("Topic:a", [GET]),
        ("Topic:b", [PUB]),
    ]
    for key in ("Topic:a", "Topic:c", "Topic:b"):
        resource = Resource.of(key)
        assert resource is not None
        acl.delete("Custom", resource)
    assert acl.policies == []


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        *(("10.0.0.1", True), ("::1", True), ("10.0.0.0/8", True), ("fe80::/10", True)),
        *(("10.0.0", False), ("10.0.0.0/33", False), ("::1/129", False), ("", False)),
        *(("10.0.0.0/", False), ("10.0.0.0/x", False), ("host/8", False)),
    ],
)
def test_address_or_range(text: str, valid: bool) -> None:
    assert is_ip_or_range(text) is valid


@pytest.mark.parametrize(
    ("ip", "text", "is_in"),
    [
        *(("127.0.0.1", "127.0.0.2/8", True), ("127.0.0.1", "127.0.0.2/31", False)),
        *(("127.0.0.1", "127.0.0.1/32", True), ("::ffff:10.0.0.1", "10.0.0.0/8", True)),
        *(("10.0.0.1", "::ffff:10.0.0.0/8", True), ("fe80::1%eth0", "fe80::/10", True)),
        *(("localhost", "10.0.0.0/8", False), ("localhost", "::/0", False)),
    ],
)
def test_range_has_addresses(ip: str, text: str, is_in: bool) -> None:
    assert (ip in Sources([text])) is is_in


KINDS, TEXTS = ("Topic", "Group", "Any"), ("", "*", "o*", "ord*", "orders", "orders*", "other")


@given(
    st.lists(
        st.tuples(st.sampled_from(KINDS), st.sampled_from(TEXTS), st.sampled_from("asd")),
        max_size=12,
    )
)
def test_entries_are_found_added_and_deleted_as_in_a_list(
    steps: list[tuple[str, str, str]],
) -> None:
    """a adds, s sets and d deletes the entry of a resource; a list is what Java has."""
    policy, entries = Policy("Custom"), list[PolicyEntry]()
    for number, (kind, text, step) in enumerate(steps):
        one = entry(f"{kind}:{text}", PUB, *["Sub"] * number)
        at = next((i for i, old in enumerate(entries) if old.resource == one.resource), None)
        if step == "d":
            policy.delete(one.resource)
            if at is not None:
                del entries[at]
        elif step == "a" or at is None:
            (policy.add if step == "a" else lambda new: policy.update([new]))(one)
            entries.append(one)
        else:
            policy.update([one])
            entries[at] = one
        assert list(policy.entries) == entries
        assert policy.parts == sum(one.parts for one in entries)
    found = {(one.resource.key, len(one.actions)) for one in policy.about(ORDERS)}
    assert found == {
        (one.resource.key, len(one.actions))
        for one in entries
        if one.resource.kind == "Any"
        or (
            one.resource.kind == "Topic"
            and (one.resource.pattern != "LITERAL" or one.resource.name == "orders")
            and "orders".startswith(one.resource.name or "")
        )
    }


def test_check_looks_at_few_of_many_entries() -> None:
    entries = (entry(f"Topic:t{number}", PUB) for number in range(MOST_PARTS // 2))
    acl = Acl("User:a", [Policy("Custom", [*entries, entry("Topic:o*", PUB)])])
    assert acl.deciding(ORDERS, (PUB,), "10.0.0.1") is not None
    assert acl.looks < 3
    assert calls_of(lambda: acl.deciding(ORDERS, (PUB,), "10.0.0.1")) < 100
