"""The calls of mqadmin 5.5.0 that make, change, show and copy users and their rights."""

from __future__ import annotations

from conformance.mqadmin.script import Part, Step
from conformance.mqadmin.state import CLUSTER, only_accounts
from conformance.targets.accounts import ADMIN, AUTH
from conformance.targets.java_jars import NEWEST

_ONE = {r"\b(get (?:user|acl) from) \S+": r"\1 <one of them>"}
"""It asks the first of two brokers in a hash table of addresses."""
_USERS = (
    Step("listUser -b {broker-a}", account=""),
    Step("createUser -b {broker-a} -u shop -p 12345678"),
    Step(f"createUser -c {CLUSTER} -u shop -p 12345678", account=ADMIN, unordered=True),
    Step("createUser -b {broker-a} -u shop -p 12345678"),
    Step("createUser -b {broker-a} -u boss -p 12345678 -t Super"),
    Step("createUser -b {broker-a} -u odd -p 12345678 -t Nonsense"),
    Step("getUser -b {broker-a} -u boss"),
    Step(f"getUser -c {CLUSTER} -u shop", unordered=True),
    Step("getUser -b {broker-a} -u absent"),
    Step("updateUser -b {broker-a} -u odd -s disable"),
    Step("updateUser -b {broker-a} -u odd -t Super"),
    Step(f"updateUser -c {CLUSTER} -u shop -p 87654321", unordered=True),
    Step("updateUser -b {broker-a} -u absent -p 87654321"),
    Step("listUser -b {broker-a}"),
    Step("listUser -b {broker-a} -f o"),
    Step(f"listUser -c {CLUSTER} -f shop", unordered=True, hides=_ONE),
)
_RIGHTS = (
    Step(f"createAcl -c {CLUSTER} -s User:shop -r Topic:orders* -a Pub -d Allow", unordered=True),
    Step(
        "createAcl -b {broker-a} -s User:shop -r Group:billing,Topic:bills -a Sub,Get"
        " -i 10.0.0.1,10.0.0.0/8 -d Deny"
    ),
    Step("createAcl -b {broker-a} -s User:shop -r Topik:t -a Pub -d Allow"),
    Step("createAcl -b {broker-a} -s User:shop -r Topic:t -a Nonsense -d Allow"),
    Step("createAcl -b {broker-a} -s User:shop -r Topic:t -a Pub -i nowhere -d Allow"),
    Step("createAcl -b {broker-a} -s User:shop -r Topic:t -a Pub -d Perhaps"),
    Step("createAcl -b {broker-a} -s User:absent -r Topic:t -a Pub -d Allow"),
    Step("updateAcl -b {broker-a} -s User:shop -r Topic:bills -a Get -d Allow"),
    Step("getAcl -b {broker-a} -s User:shop"),
    Step(f"getAcl -c {CLUSTER} -s User:shop", unordered=True),
    Step("getAcl -b {broker-a} -s User:boss"),
    Step("listAcl -b {broker-a}"),
    Step("listAcl -b {broker-a} -s shop -r orders"),
    Step(f"listAcl -c {CLUSTER}", unordered=True, hides=_ONE),
    Step("deleteAcl -b {broker-a} -s User:shop -r Topic:bills"),
    Step("deleteAcl -b {broker-a} -s User:boss"),
    Step("getAcl -b {broker-a} -s User:shop"),
)
_COPIES = (
    Step("copyUser -f {broker-a} -t {broker-b} -u boss,shop"),
    Step("copyUser -f {broker-a} -t {broker-b}"),
    Step("copyAcl -f {broker-a} -t {broker-b} -s User:shop"),
    Step("copyAcl -f {broker-a} -t {broker-b}"),
    Step("listUser -b {broker-b}"),
    Step("listAcl -b {broker-b}"),
    Step(f"deleteAcl -c {CLUSTER} -s User:shop", unordered=True),
    Step("deleteUser -b {broker-a} -u boss"),
    Step(f"deleteUser -c {CLUSTER} -u shop", unordered=True),
    Step("listUser -b {broker-a}"),
)
USERS = Part("users", AUTH, only_accounts, (*_USERS, *_RIGHTS, *_COPIES), reference=NEWEST)
