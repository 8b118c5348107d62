"""What a master under a controller answers sends with, by the keys that say what is waited for."""

from __future__ import annotations

from conformance.replica_group import ReplicaGroup
from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.replicas import FIRST, SECOND, send, until_in_sync, until_stored
from fakemq.protocol.codes import RequestCode

DEFAULTS = {
    "allAckInSyncStateSet": "false",
    "inSyncReplicas": "1",
    "minInSyncReplicas": "1",
    "enableAutoInSyncReplicas": "false",
}
SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {"inSyncReplicas": "2"},
    {"inSyncReplicas": "2", "enableAutoInSyncReplicas": "true"},
    {"inSyncReplicas": "3"},
    {"minInSyncReplicas": "2"},
    {"minInSyncReplicas": "3"},
    {"inSyncReplicas": "2", "minInSyncReplicas": "2"},
    {"inSyncReplicas": "2", "minInSyncReplicas": "2", "enableAutoInSyncReplicas": "true"},
    {"allAckInSyncStateSet": "true"},
    {"allAckInSyncStateSet": "true", "minInSyncReplicas": "2"},
    {"allAckInSyncStateSet": "true", "inSyncReplicas": "3"},
)


def send_by_each(run: Run, topic: str, when: str) -> int:
    """Send a message under each of the settings; return how many were stored."""
    stored = 0
    for number, setting in enumerate(SETTINGS):
        text = "\n".join(f"{key}={value}" for key, value in {**DEFAULTS, **setting}.items())
        answer = run.peer("silent", FIRST).quietly(RequestCode.UPDATE_BROKER_CONFIG, {}, text)
        assert answer.code == 0, answer
        pairs = (f"{key}={value}" for key, value in setting.items())
        run.note(f"{when}: {', '.join(pairs) or 'the defaults'}")
        stored += send(run, FIRST, topic, f"{when} {number}").code != 1
    return stored


@scenario(
    "replicas: which sends are waited for, and refused, by each of the keys",
    controllers=1,
    replicas=2,
    config={"slaveTimeout": "1000"},
    real_s=60,
)
def replica_send_settings(run: Run) -> None:
    group = ReplicaGroup(run, "broker-a")
    topic = "SSettings"
    stored = send_by_each(run, topic, "both are there")
    run.kill(SECOND)
    until_in_sync(group, 1)
    stored += send_by_each(run, topic, "one is dead")
    run.start(SECOND)
    until_in_sync(group, 1, 2)
    until_stored(run, topic, stored, FIRST, SECOND)
