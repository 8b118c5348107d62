"""Auth 2.0: users, their rights, and what administrators ask about both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conformance.run import Run
from conformance.scenario import scenario
from conformance.targets.accounts import ADMIN, AUTH, LOCAL_USERS, SECRET
from conformance.targets.java_jars import NEWEST
from conformance.wire.signing import HIDDEN, signed
from fakemq.protocol.v5.codes import RequestCode5

AUTH_RELEASES = (NEWEST,)


def auth_ask(
    run: Run,
    code: int,
    fields: Mapping[str, object] | None = None,
    body: bytes = b"",
    *,
    account: str = ADMIN,
    secret: str = SECRET,
    place: str = "broker-a",
    **more: Any,
) -> None:
    """Send a request that a user has signed."""
    keyed = signed(fields or {}, body, account=account, secret=secret)
    run.ask(place, code, keyed, body, hidden=HIDDEN, **more)


def encoded(value: object) -> bytes:
    return json.dumps(value).encode()


def user(run: Run, name: str, **more: object) -> str:
    """Have a user with the usual password."""
    sent = {"username": name, "password": SECRET, **more}
    auth_ask(run, RequestCode5.AUTH_CREATE_USER, {"username": name}, encoded(sent))
    return name


def rights(*entries: Mapping[str, object], kind: str = "Custom") -> dict[str, object]:
    return {"policyType": kind, "entries": list(entries)}


def entry(
    resource: str, *actions: str, decision: str = "Allow", ips: tuple[str, ...] = ()
) -> dict[str, object]:
    more = {"sourceIps": list(ips)} if ips else {}
    return {"resource": resource, "actions": list(actions), "decision": decision, **more}


def grant(run: Run, name: str, *policies: Mapping[str, object]) -> None:
    """Have rights of a user, besides those that it has."""
    body = encoded({"subject": f"User:{name}", "policies": list(policies)})
    auth_ask(run, RequestCode5.AUTH_CREATE_ACL, {"subject": f"User:{name}"}, body)


@scenario("auth 2.0: users are created, changed and deleted", config=AUTH, releases=AUTH_RELEASES)
def auth_users(run: Run) -> None:
    create, update = RequestCode5.AUTH_CREATE_USER, RequestCode5.AUTH_UPDATE_USER
    delete, get = RequestCode5.AUTH_DELETE_USER, RequestCode5.AUTH_GET_USER
    every = RequestCode5.AUTH_LIST_USER
    run.note("nothing that names a user")
    for code in (create, update, delete, get):
        auth_ask(run, code, {}, encoded({"password": SECRET}))
        auth_ask(run, code, {"username": ""}, encoded({"password": SECRET}))
        auth_ask(run, code, {"username": " "}, encoded({"password": SECRET}))
    run.note("no body, no password, what is no JSON")
    for body in (b"", b"{}", b'{"password":" "}', b"null", b"[]", b"{"):
        auth_ask(run, create, {"username": "UBody"}, body)
        auth_ask(run, update, {"username": "UBody"}, body)
    run.note("created; the name of the header counts, not that of the body")
    sent = {"username": "UOther", "password": SECRET}
    auth_ask(run, create, {"username": "UOne"}, encoded(sent))
    auth_ask(run, get, {"username": "UOne"})
    auth_ask(run, get, {"username": "UOther"})
    run.note("created again")
    auth_ask(run, create, {"username": "UOne"}, encoded(sent))
    run.note("kinds and states; words that are none")
    for name, kind, state in (
        *(("USuper", "super", "ENABLE"), ("UNormal", "Normal", "disable")),
        *(("UOdd", "Admin", "off"), ("U 日本", "", "")),
    ):
        sent = {"password": SECRET, "userType": kind, "userStatus": state}
        auth_ask(run, create, {"username": name}, encoded(sent))
        auth_ask(run, get, {"username": name})
    run.note("listed, by what their names contain")
    for found in ("U", "Nor", "nor", " ", "nowhere"):
        if found.strip():
            auth_ask(run, every, {"filter": found})
    run.note("changed, in part")
    for change in (
        {"password": "87654321"},
        {"password": "", "userType": "Super"},
        {"userStatus": "disable"},
        {"userStatus": "none", "userType": "none"},
        {},
    ):
        auth_ask(run, update, {"username": "UOne"}, encoded(change))
        auth_ask(run, get, {"username": "UOne"})
    auth_ask(run, update, {"username": "UNowhere"}, encoded({"password": SECRET}))
    run.note("deleted, twice")
    for _ in range(2):
        auth_ask(run, delete, {"username": "UOne"})
    auth_ask(run, get, {"username": "UOne"})
    run.note("what users without rights may not, in a cluster's name and out of it")
    user(run, "UPlain")
    for code in (create, update, delete, get, every):
        fields = {"username": "UNormal"}
        auth_ask(run, code, fields, encoded({"password": SECRET}), account="UPlain")
    run.note("with rights to the cluster: all but what a super user may")
    grant(run, "UPlain", rights(entry("Cluster:*", "All")))
    sent = {"password": SECRET}
    auth_ask(run, create, {"username": "UMade"}, encoded(sent), account="UPlain")
    boss = sent | {"userType": "Super"}
    auth_ask(run, create, {"username": "UMadeSuper"}, encoded(boss), account="UPlain")
    auth_ask(run, update, {"username": "UMade"}, encoded(boss), account="UPlain")
    auth_ask(run, update, {"username": "USuper"}, encoded(sent), account="UPlain")
    auth_ask(run, delete, {"username": "USuper"}, account="UPlain")
    auth_ask(run, get, {"username": "USuper"}, account="UPlain")
    auth_ask(run, delete, {"username": "UMade"}, account="UPlain")
    run.note("a super user deletes itself")
    auth_ask(run, delete, {"username": "USuper"}, account="USuper")
    auth_ask(run, get, {"username": "USuper"})
    for name in ("UNormal", "UOdd", "U 日本", "UPlain"):
        auth_ask(run, delete, {"username": name})


@scenario("auth 2.0: rights are granted, changed and taken", config=AUTH, releases=AUTH_RELEASES)
def auth_acls(run: Run) -> None:
    # Over 70 lines: one user, whose rights change from step to step.
    create, update = RequestCode5.AUTH_CREATE_ACL, RequestCode5.AUTH_UPDATE_ACL
    delete, get = RequestCode5.AUTH_DELETE_ACL, RequestCode5.AUTH_GET_ACL
    every = RequestCode5.AUTH_LIST_ACL
    name = user(run, "AOne")
    whose = {"subject": f"User:{name}"}
    policies = [rights(entry("Topic:t", "Pub"))]
    run.note("subjects that are none")
    for fields in ({}, {"subject": ""}, {"subject": "AOne"}, {"subject": "Group:AOne"}):
        for code in (create, update):
            auth_ask(run, code, fields, encoded({"policies": policies}))
        for code in (delete, get):
            auth_ask(run, code, fields)
    run.note("a user that is none; the subject of the body comes before that of the header")
    for code in (create, update):
        auth_ask(run, code, {"subject": "User:ANowhere"}, encoded({"policies": policies}))
        sent = {"subject": "User:ANowhere", "policies": policies}
        auth_ask(run, code, whose, encoded(sent))
    for code in (delete, get):
        auth_ask(run, code, {"subject": "User:ANowhere"})
    run.note("a user that has no rights")
    for code in (delete, get):
        auth_ask(run, code, whose)
    run.note("bodies")
    for body in (b"", b"{}", b'{"policies":[]}', b"null", b"{", encoded({"policies": [{}]})):
        auth_ask(run, create, whose, body)
    run.note("policies and entries that are none")
    good = entry("Topic:t", "Pub")
    for wrong in (
        good | {"resource": ""},
        good | {"resource": "Topic"},
        good | {"resource": "Topik:t"},
        good | {"actions": []},
        good | {"actions": ["Read"]},
        good | {"actions": ["Any"]},
        good | {"actions": ["pub", "Read"], "decision": "maybe"},
        good | {"decision": None},
        good | {"sourceIps": [""]},
        good | {"sourceIps": ["10.0.0"]},
        good | {"sourceIps": ["10.0.0.0/33"]},
        good | {"sourceIps": ["::1/129"]},
        good | {"actions": None},
    ):
        auth_ask(run, create, whose, encoded({"policies": [rights(wrong)]}))
    auth_ask(run, create, whose, encoded({"policies": [{"policyType": "Custom", "entries": []}]}))
    run.note("nothing of it was kept")
    auth_ask(run, get, whose)
    run.note("each kind of resource, action and address")
    full = rights(
        entry("*", "all", decision="DENY"),
        entry("Topic:*", "PUB", "sub", "Create", "Update", "Delete", "Get", "List"),
        entry("topic:orders*", "Pub", ips=("10.0.0.1", "10.0.0.0/8", "::1", "fe80::/10")),
        entry("GROUP:billing", "Sub"),
        entry("Cluster:DefaultCluster", "Get"),
        entry("Namespace:n*s*", "Unknown"),
        entry("Any:x", "Pub"),
        entry("Unknown:x", "Pub"),
        entry("Topic:", "Pub"),
    )
    auth_ask(run, create, whose, encoded({"policies": [full]}))
    auth_ask(run, get, whose)
    run.note("created again: added to, and changed where the resource is the same")
    more = rights(entry("Topic:*", "Get", decision="Deny"), entry("Topic:new", "Get"))
    default = rights(entry("Topic:*", "Pub"), kind="default")
    odd = rights(entry("Topic:odd", "Pub"), kind="odd")
    for code in (create, update):
        auth_ask(run, code, whose, encoded({"policies": [more, default, odd]}))
        auth_ask(run, get, whose)
    run.note("updated, where there was nothing")
    other = user(run, "ATwo")
    auth_ask(run, update, {"subject": f"user:{other}"}, encoded({"policies": policies}))
    auth_ask(run, get, {"subject": f"User:{other}"})
    run.note("listed, by what subjects and resources contain")
    for fields in (
        {"subjectFilter": ":A"},
        {"subjectFilter": "ATwo"},
        {"subjectFilter": "ATwo", "resourceFilter": "Topic"},
        {"subjectFilter": ":A", "resourceFilter": "orders"},
        {"subjectFilter": ":A", "resourceFilter": "nowhere"},
        {"subjectFilter": "nowhere"},
    ):
        auth_ask(run, every, fields)
    run.note("taken: one resource, of a kind of policy; what is no resource takes all")
    for fields in (
        {"resource": "Topic:new"},
        {"resource": "Topic:nowhere"},
        {"resource": "Topic:*", "policyType": "Default"},
        {"resource": "Topic:*", "policyType": "odd"},
    ):
        auth_ask(run, delete, whose | fields)
        auth_ask(run, get, whose)
    auth_ask(run, delete, {"subject": f"User:{other}", "resource": "Topic:t"})
    auth_ask(run, get, {"subject": f"User:{other}"})
    auth_ask(run, delete, whose | {"resource": "Topik:t"})
    auth_ask(run, get, whose)
    run.note("rights end with their user")
    auth_ask(run, create, whose, encoded({"policies": policies}))
    auth_ask(run, RequestCode5.AUTH_DELETE_USER, {"username": name})
    user(run, name)
    auth_ask(run, get, whose)
    for name in ("AOne", "ATwo"):
        auth_ask(run, RequestCode5.AUTH_DELETE_USER, {"username": name})


@scenario("auth 2.0: users and rights without a place that keeps them", releases=AUTH_RELEASES)
def auth_without_users(run: Run) -> None:
    sent = encoded({"password": SECRET})
    policies = encoded({"policies": [rights(entry("Topic:t", "Pub"))]})
    for code in (
        *(RequestCode5.AUTH_CREATE_USER, RequestCode5.AUTH_UPDATE_USER),
        *(RequestCode5.AUTH_DELETE_USER, RequestCode5.AUTH_GET_USER),
    ):
        run.ask("broker-a", code, {"username": "U"}, sent)
    run.ask("broker-a", RequestCode5.AUTH_LIST_USER, {})
    for code in (
        *(RequestCode5.AUTH_CREATE_ACL, RequestCode5.AUTH_UPDATE_ACL),
        *(RequestCode5.AUTH_DELETE_ACL, RequestCode5.AUTH_GET_ACL),
    ):
        run.ask("broker-a", code, {"subject": "User:U"}, policies)
    run.ask("broker-a", RequestCode5.AUTH_LIST_ACL, {})
    run.note("what is refused before")
    run.ask("broker-a", RequestCode5.AUTH_CREATE_USER, {}, sent)
    run.ask("broker-a", RequestCode5.AUTH_GET_USER, {})
    run.ask("broker-a", RequestCode5.AUTH_CREATE_ACL, {"subject": "User:U"})
    run.ask("broker-a", RequestCode5.AUTH_CREATE_ACL, {}, policies)
    run.ask("broker-a", RequestCode5.AUTH_GET_ACL, {})
    boss = encoded({"password": SECRET, "userType": "Super"})
    run.ask("broker-a", RequestCode5.AUTH_CREATE_USER, {"username": "U", "AccessKey": "A"}, boss)


@scenario(
    "auth 2.0: users and rights are kept, and nothing is checked",
    config=LOCAL_USERS,
    releases=AUTH_RELEASES,
)
def auth_unchecked(run: Run) -> None:
    run.ask("broker-a", RequestCode5.AUTH_LIST_USER, {})
    run.ask("broker-a", RequestCode5.AUTH_LIST_ACL, {})
    sent = encoded({"password": SECRET})
    boss = encoded({"password": SECRET, "userType": "Super"})
    create, update = RequestCode5.AUTH_CREATE_USER, RequestCode5.AUTH_UPDATE_USER
    for name in ("b", "a", "B", "ü", "😀", "日"):
        run.ask("broker-a", create, {"username": name}, sent)
        body = encoded({"policies": [rights(entry(f"Topic:{name}", "Pub"))]})
        run.ask("broker-a", RequestCode5.AUTH_CREATE_ACL, {"subject": f"User:{name}"}, body)
    run.note("the key is not looked at; for a super user it has to be one's")
    run.ask("broker-a", create, {"username": "boss"}, boss)
    for key in ("nowhere", "a", "boss"):
        run.ask("broker-a", create, {"username": f"by {key}", "AccessKey": key}, boss)
        run.ask("broker-a", update, {"username": "b", "AccessKey": key}, boss)
        run.ask("broker-a", update, {"username": "boss", "AccessKey": key}, sent)
        fields = {"username": "by boss", "AccessKey": key}
        run.ask("broker-a", RequestCode5.AUTH_DELETE_USER, fields)
    run.note("in the order of their bytes")
    run.ask("broker-a", RequestCode5.AUTH_LIST_USER, {})
    run.ask("broker-a", RequestCode5.AUTH_LIST_USER, {"filter": " "})
    run.ask("broker-a", RequestCode5.AUTH_LIST_ACL, {})
    run.ask("broker-a", RequestCode5.AUTH_LIST_ACL, {"subjectFilter": " ", "resourceFilter": " "})
    run.note("each broker has its own")
    run.ask("broker-b", RequestCode5.AUTH_LIST_USER, {})
