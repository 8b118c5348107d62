"""``python -m conformance.drivers.keyed_clients``: RocketMQ 5's clients with right and wrong keys.

One short program for each client does the same with the keys of some user: it sends, receives and
acknowledges, and says how what it may not is refused. What they say behind a real proxy, whose
brokers have users, is kept (``--record``); at the fake they must say the same.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from conformance.drivers.beside import record, recorded
from conformance.drivers.builds import run_to_end
from conformance.drivers.grpc_python_program import environment
from conformance.drivers.official_clients import CLIENT_ID, GO, NODE
from conformance.drivers.v5_clients import Where
from conformance.targets.accounts import ADMIN, AUTH, PROXY_AUTH, SECRET
from conformance.targets.java_cluster import JavaCluster, wait_until
from conformance.targets.java_jars import NEWEST, class_path, missing_java
from conformance.targets.java_proxy import java_proxy
from conformance.targets.processes import FakemqProcess, routed
from conformance.wire.signing import signed
from fakemq.client import Client, Message
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.v5.codes import RequestCode5

RECORDED = f"{NEWEST}-keys"
RUN_TIMEOUT_S = 120.0
_FOLDER = Path(__file__).parents[1]
_REQUEST_ID = re.compile(r"\[request-id=[^\]]*\] ?")


class KeyedClient(NamedTuple):
    """A client, and its program."""

    name: str
    missing: Callable[[], str | None]
    command: Callable[[], Sequence[str]]
    environment: Callable[[Path], Mapping[str, str]] = lambda home: {"HOME": str(home)}


def _java() -> Sequence[str]:
    return ["java", "-Xmx128m", "-cp", class_path(NEWEST, "grpc"), "conformance.GrpcKeys"]


CLIENTS = (
    KeyedClient(
        "python",
        lambda: None,
        lambda: [sys.executable, str(_FOLDER / "grpc_python" / "keys.py")],
        environment,
    ),
    KeyedClient("go", GO.missing, lambda: GO.command("keys")),
    KeyedClient("node", NODE.missing, lambda: NODE.command("keys.cjs")),
    KeyedClient("java", missing_java, _java),
)


class Keys(NamedTuple):
    """The keys of a client."""

    user: str
    secret: str = SECRET


CASES: Mapping[str, Keys] = {
    "right": Keys("KAll"),
    "wrong secret": Keys("KAll", "87654321"),
    "unknown user": Keys("KNever"),
    "no key": Keys("", ""),
    "disabled": Keys("KDisabled"),
    "may send": Keys("KSends"),
    "may receive": Keys("KReceives"),
    "may not join the group": Keys("KReads"),
}
_RIGHTS: Mapping[str, Mapping[str, str]] = {
    "KAll": {"*": "All"},
    "KDisabled": {"*": "All"},
    "KSends": {"Topic:*": "Pub"},
    "KReceives": {"Topic:*": "Sub", "Group:*": "Sub"},
    "KReads": {"Topic:*": "Sub"},
}
"""User → resource → action."""


@contextmanager
def front(*, fake: bool) -> Iterator[Where]:
    """One master with users, and a front before it, real ones or fake ones."""
    if fake:
        words = ("--reference", NEWEST, "--grpc-port", "0", "--namesrv-port", "0")
        lines = [f"{key}={value}" for key, value in AUTH.items()]
        with FakemqProcess(*words, "--broker-port", "0", config=lines) as process:
            _make_users(process.namesrv_addr)
            yield Where(process.namesrv_addr, process.grpc_addr)
        return
    with JavaCluster(config=AUTH, version=NEWEST) as real:
        _make_users(real.namesrv_addr)
        with java_proxy(real.namesrv_addr, PROXY_AUTH) as proxy:
            yield Where(real.namesrv_addr, proxy.addr)


def _make_users(namesrv_addr: str) -> None:
    for name, rights in _RIGHTS.items():
        user = {"password": SECRET, "userStatus": "disable" if name == "KDisabled" else "enable"}
        _ask(namesrv_addr, RequestCode5.AUTH_CREATE_USER, {"username": name}, user)
        entries = [
            {"resource": resource, "actions": [action], "decision": "Allow"}
            for resource, action in rights.items()
        ]
        acl = {"policies": [{"policyType": "Custom", "entries": entries}]}
        _ask(namesrv_addr, RequestCode5.AUTH_CREATE_ACL, {"subject": f"User:{name}"}, acl)


def _ask(
    namesrv_addr: str, code: int, fields: Mapping[str, object], body: Mapping[str, object]
) -> None:
    """Ask the broker as its super user. Raise AssertionError if it refuses."""
    data = json.dumps(body).encode()
    with Client(namesrv_addr) as client:
        addr = client.cluster_info().broker_addr_table["broker-a"].broker_addrs[0]
        command = client.instance.command(code, body=data)
        keyed = signed(fields, data, account=ADMIN)
        command.ext_fields.update({name: str(value) for name, value in keyed.items()})
        answer = client.invoke(addr, command)
    assert answer.code == ResponseCode.SUCCESS, answer.remark


def observe(client: KeyedClient, where: Where, case: str) -> list[str]:
    """Return what a client says with some keys, in a topic of its own with one message."""
    name = f"{client.name}-{case}".replace(" ", "-")
    with Client(where.namesrv_addr, access_key=ADMIN, secret_key=SECRET) as admin:
        admin.create_topic(name, 1)
        wait_until(lambda: routed(where.namesrv_addr, name) == {"broker-a"}, 30)
        admin.send(Message(name, b"first"))
    with tempfile.TemporaryDirectory(prefix="keyed-client-") as home:
        words = (where.grpc_addr, *CASES[case], name, f"G{name}")
        folder = Path(home)
        done = run_to_end(
            [*client.command(), *words], folder, client.environment(folder), RUN_TIMEOUT_S
        )
    text = _REQUEST_ID.sub("", CLIENT_ID.sub("CLIENT", done.stdout))
    lines = text.splitlines()
    return lines if done.returncode == 0 else [*lines, done.stderr[-2_000:]]


def scenario(client: KeyedClient, case: str) -> str:
    """Return under which name it is recorded what a client says in a case."""
    return f"{client.name}: {case}"


def difference(client: KeyedClient, case: str, seen: Sequence[str]) -> str:
    """Return how a client says something else than what is recorded; "" if it does not."""
    wanted = recorded(RECORDED).get(scenario(client, case), [])
    return "\n".join(unified_diff(wanted, seen, "recorded", scenario(client, case), lineterm=""))


def main(arguments: list[str] | None = None) -> int:
    """Run the clients; the exit code is the number that differ from what is recorded."""
    parser = argparse.ArgumentParser(prog="python -m conformance.drivers.keyed_clients")
    parser.add_argument("--record", action="store_true", help="keep what a real cluster shows")
    parser.add_argument("--fake", action="store_true", help="run them on the fake")
    parser.add_argument("clients", nargs="*", help="python, go, node, java; all if none is named")
    options = parser.parse_args(arguments)
    if options.record and options.fake:
        parser.error("--record keeps what is seen on a real cluster")
    differ = 0
    with front(fake=options.fake) as where:
        for client in CLIENTS:
            if options.clients and client.name not in options.clients:
                continue
            for case in CASES:
                seen = observe(client, where, case)
                if options.record:
                    record(RECORDED, {scenario(client, case): seen})
                    print(f"recorded  {scenario(client, case)}", *seen, sep="\n  ", flush=True)
                    continue
                text = difference(client, case, seen)
                print(text or f"same      {scenario(client, case)}", flush=True)
                differ += bool(text)
    return differ


if __name__ == "__main__":
    sys.exit(main())
