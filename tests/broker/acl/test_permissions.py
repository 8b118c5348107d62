"""What requests need, and which permissions allow it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.acl.errors import AclError
from fakemq.broker.acl.permissions import (
    Perm,
    allows,
    check_entries,
    perm_of,
    perms_of,
    shown,
)

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
        *((PUB, PUB | SUB, False), (PUB, PUB | Perm.ANY, True), (SUB, PUB | Perm.ANY, False)),
        *((PUB | SUB, DENY, False), (DENY, DENY, False), (PUB | SUB, PUB | DENY, False)),
    ],
)
def test_owned_permission_allows_what_is_needed(owned: Perm, needs: Perm, expected: bool) -> None:
    assert allows(owned, needs) is expected


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
