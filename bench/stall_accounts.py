"""Attacks on a cluster with accounts: requests that name very many topics."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from bench.stall_front import Peer, peer, resource, say
from bench.stall_lab import DENIED, OPEN, SECRET, TIMEOUT_MS, Attack, Lab, nothing, until_idle
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.signature import Credentials
from fakemq.proxy.status import Code


def heartbeat(said: str, account: str = "", secret: str = SECRET) -> Attack:
    """Send a heartbeat of as many topics as a body may have; the answer's remark has ``said``."""

    def attack(lab: Lab) -> None:
        topics = [{"topic": f"topic-{one}"} for one in range(lab.many(49_900))]
        data = {"groupName": "attackers", "subscriptionDataSet": topics}
        body = json.dumps({"clientID": "a", "consumerDataSet": [data]}).encode()
        command = RemotingCommand(RequestCode.HEART_BEAT, body=body)
        if account:
            Credentials(account, secret).sign(command)
        answer = lab.broker.receive(lab.broker.send(command, timeout_ms=TIMEOUT_MS), TIMEOUT_MS)
        assert (answer.code == ResponseCode.SUCCESS) == (not said), answer.remark
        assert said in (answer.remark or ""), answer.remark
        until_idle(lab)

    return attack


def corrections(lab: Lab) -> None:
    """Ask for the offsets of as many groups as a header may have."""
    groups = ",".join("g" for _ in range(lab.many(900_000)))
    fields = {"filterGroups": groups, "compareGroup": "g", "topic": "t"}
    command = RemotingCommand(RequestCode.QUERY_CORRECTION_OFFSET, ext_fields=fields)
    Credentials(OPEN, SECRET).sign(command)
    lab.broker.receive(lab.broker.send(command, timeout_ms=TIMEOUT_MS), TIMEOUT_MS)
    until_idle(lab)


def send(lab: Lab, one: Peer) -> None:
    messages = [m.Message(topic=resource(f"t{one}")) for one in range(lab.many(200_000))]
    refused(one, "SendMessage", m.SendMessageRequest(messages=messages))


def tell_allowed(lab: Lab, one: Peer) -> None:
    topics = [resource(f"t{one}") for one in range(lab.many(9_900))]
    say(one, m.Settings(publishing=m.Publishing(topics=topics)))


def tell(lab: Lab, one: Peer) -> None:
    topics = [resource(f"t{one}") for one in range(lab.many(200_000))]
    settings = m.Settings(publishing=m.Publishing(topics=topics))
    refused(one, "Telemetry", m.TelemetryCommand(settings=settings))


def refused(one: Peer, rpc: str, request: Any) -> None:
    (answer,) = one.answers(one.call(rpc, request), rpc, 1)
    assert answer.status.code == Code.UNAUTHORIZED, answer.status


def at_front(call: Callable[[Lab, Peer], None], account: str = "") -> Attack:
    def attack(lab: Lab) -> None:
        with peer(lab, credentials=Credentials(account, SECRET) if account else None) as one:
            call(lab, one)

    return attack


ACCOUNTS: dict[str, tuple[Attack, Attack]] = {
    "heartbeat of 49,900 topics without a key, with accounts": (
        nothing,
        heartbeat("No accessKey is configured"),
    ),
    "heartbeat of 49,900 topics of an unknown key, with accounts": (
        nothing,
        heartbeat("No acl config for unknown", "unknown"),
    ),
    "heartbeat of 49,900 topics of a wrong signature, with accounts": (
        nothing,
        heartbeat("Check signature failed", OPEN, "wrong-secret"),
    ),
    "heartbeat of 49,900 topics of no right, with accounts": (
        nothing,
        heartbeat("No default permission", DENIED),
    ),
    "heartbeat of 49,900 topics, signed and allowed, with accounts": (nothing, heartbeat("", OPEN)),
    "heartbeat of 49,900 topics, signed and allowed, with accounts of 5.5.0": (
        nothing,
        heartbeat("", OPEN),
    ),
    "heartbeat of 49,900 topics of an unknown key, with accounts of 5.5.0": (
        nothing,
        heartbeat("User:unknown is not found.", "unknown"),
    ),
    "heartbeat of 49,900 topics of no right, with accounts of 5.5.0": (
        nothing,
        heartbeat("no matched policies", DENIED),
    ),
    "900,000 groups in a header, with accounts of 5.5.0": (nothing, corrections),
    "9,900 topics, signed and allowed, with accounts at the front": (
        nothing,
        at_front(tell_allowed, OPEN),
    ),
    "200,000 messages without a key, with accounts at the front": (nothing, at_front(send)),
    "200,000 topics without a key, with accounts at the front": (nothing, at_front(tell)),
    "200,000 messages of no right, with accounts at the front": (nothing, at_front(send, DENIED)),
    "200,000 topics of no right, with accounts at the front": (nothing, at_front(tell, DENIED)),
}
"""As `bench.stall.ATTACKS`, at a cluster with accounts."""
