"""Offsets at brokers, and in files of BROADCASTING."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakemq.client.consuming.offsets import COMMIT_AGAIN_MS, LocalOffsets, RemoteOffsets
from fakemq.client.errors import MQClientError, RemotingConnectError, RemotingTimeoutError
from fakemq.client.operation import Call
from fakemq.client.pull_operations import PullOperations
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode
from tests.support.played_broker import CLIENT, GROUP, PlayedBroker
from tests.support.push_lab import PushLab

QUEUES = [MessageQueue(topic="orders", broker_name="a", queue_id=one) for one in range(3)]

JAVA_FILE = """{
\t"offsetTable":{{
\t\t\t"brokerName":"a",
\t\t\t"queueId":0,
\t\t\t"topic":"orders"
\t\t}:5,{
\t\t\t"brokerName":"a",
\t\t\t"queueId":1,
\t\t\t"topic":"orders"
\t\t}:7
\t}
}"""


@pytest.fixture
def broker() -> PlayedBroker:
    return PlayedBroker(queues=3)


@pytest.fixture
def remote(broker: PlayedBroker) -> RemoteOffsets:
    return RemoteOffsets(PullOperations(broker.services().instance, GROUP))


def local(directory: Path, group: str = GROUP) -> LocalOffsets:
    return LocalOffsets(CLIENT, group, str(directory))


# -- in memory ---------------------------------------------------------------------------------


def test_offset_only_increases_when_asked_to(remote: RemoteOffsets) -> None:
    remote.update(QUEUES[0], 5, increase_only=True)
    remote.update(QUEUES[0], 3, increase_only=True)
    assert remote.in_memory(QUEUES[0]) == 5
    remote.update(QUEUES[0], 3, increase_only=False)
    assert remote.in_memory(QUEUES[0]) == 3


def test_offsets_of_a_topic_are_copied(remote: RemoteOffsets) -> None:
    other = MessageQueue(topic="others", broker_name="a", queue_id=0)
    remote.update(QUEUES[0], 5, increase_only=True)
    remote.update(other, 6, increase_only=True)
    assert remote.of_topic("orders") == {QUEUES[0]: 5}
    assert remote.of_topic("") == {QUEUES[0]: 5, other: 6}


# -- at brokers --------------------------------------------------------------------------------


def test_stored_offset_is_read_and_remembered(broker: PlayedBroker, remote: RemoteOffsets) -> None:
    broker.offsets[GROUP, QUEUES[0]] = 9
    assert broker.carrier.run(remote.read(QUEUES[0])) == 9
    assert remote.in_memory(QUEUES[0]) == 9


def test_queue_without_an_offset_has_none(broker: PlayedBroker, remote: RemoteOffsets) -> None:
    broker.first[QUEUES[0]] = 1
    assert broker.carrier.run(remote.read(QUEUES[0])) is None
    assert remote.in_memory(QUEUES[0]) is None


def test_offsets_of_other_queues_are_forgotten(broker: PlayedBroker, remote: RemoteOffsets) -> None:
    for one in QUEUES:
        remote.update(one, 4, increase_only=True)
    broker.carrier.run(remote.persist_all({QUEUES[0], QUEUES[2]}))
    assert broker.offsets == {(GROUP, QUEUES[0]): 4, (GROUP, QUEUES[2]): 4}
    assert remote.in_memory(QUEUES[1]) is None


def test_first_commit_to_a_broker_waits_for_its_answer(
    broker: PlayedBroker, remote: RemoteOffsets
) -> None:
    for one in QUEUES:
        remote.update(one, 4, increase_only=True)
    broker.carrier.run(remote.persist_all(QUEUES))
    commands = [call.command for call in broker.carrier.calls]
    commits = [one for one in commands if one.code == RequestCode.UPDATE_CONSUMER_OFFSET]
    assert [one.is_oneway for one in commits] == [False, True, True]


def test_silent_broker_is_waited_for_once_in_a_round(
    broker: PlayedBroker, remote: RemoteOffsets
) -> None:
    def commits() -> list[bool]:
        """Return of each commit since the last call whether it is one-way."""
        calls, broker.carrier.calls[:] = list(broker.carrier.calls), []
        commands = [call.command for call in calls]
        return [one.is_oneway for one in commands if one.code == RequestCode.UPDATE_CONSUMER_OFFSET]

    def silent(call: Call) -> RemotingTimeoutError | None:
        return None if call.command.is_oneway else RemotingTimeoutError(call.addr, 3_000)

    for one in QUEUES:
        remote.update(one, 4, increase_only=True)
    broker.answers[RequestCode.UPDATE_CONSUMER_OFFSET] = silent
    broker.carrier.run(remote.persist_all(QUEUES))
    assert commits() == [False, True, True]
    broker.carrier.run(remote.persist(QUEUES[0]))
    assert commits() == [True], "a queue that is dropped meanwhile does not wait, either"
    broker.carrier.run(remote.persist_all(QUEUES))
    assert commits() == [False, True, True], "nothing was confirmed: all is committed again"
    del broker.answers[RequestCode.UPDATE_CONSUMER_OFFSET]
    broker.carrier.run(remote.persist_all(QUEUES))
    assert commits() == [False, True, True]
    broker.carrier.run(remote.persist_all(QUEUES))
    assert commits() == []


def test_unchanged_offset_is_committed_again_later(
    broker: PlayedBroker, remote: RemoteOffsets
) -> None:
    remote.update(QUEUES[0], 4, increase_only=True)
    broker.carrier.run(remote.persist_all(QUEUES))
    broker.offsets.clear()  # as a broker that has lost it
    broker.carrier.advance(COMMIT_AGAIN_MS - 1)
    broker.carrier.run(remote.persist_all(QUEUES))
    assert broker.offsets == {}
    broker.carrier.advance(1)
    broker.carrier.run(remote.persist_all(QUEUES))
    assert broker.offsets == {(GROUP, QUEUES[0]): 4}
    remote.update(QUEUES[0], 5, increase_only=True)
    broker.carrier.run(remote.persist_all(QUEUES))
    assert broker.offsets == {(GROUP, QUEUES[0]): 5}


def test_offset_that_no_broker_can_store_does_not_end_the_commits(
    broker: PlayedBroker, remote: RemoteOffsets
) -> None:
    for one, offset in zip(QUEUES, (2**63, 4, 5), strict=True):
        remote.update(one, offset, increase_only=True)
    broker.carrier.run(remote.persist_all(QUEUES))
    assert broker.offsets == {(GROUP, QUEUES[1]): 4, (GROUP, QUEUES[2]): 5}


def test_broker_that_is_down_does_not_end_the_commits(
    broker: PlayedBroker, remote: RemoteOffsets
) -> None:
    for one in QUEUES:
        remote.update(one, 4, increase_only=True)
    remote.update(MessageQueue(topic="x", broker_name="gone", queue_id=0), 4, increase_only=True)
    broker.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda call: (
        RemotingConnectError(call.addr) if call.command.ext_fields["topic"] == "x" else None
    )
    broker.carrier.run(remote.persist_all({*remote.of_topic("")}))
    assert len(broker.offsets) == 3


def test_last_offsets_that_cannot_be_stored_end_nothing_else(
    broker: PlayedBroker,
    remote: RemoteOffsets,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(PullOperations, "update_offset", fail)
    remote.update(QUEUES[0], 4, increase_only=True)
    broker.carrier.run(remote.persist_last(QUEUES))
    assert "the last offsets were not stored" in caplog.text


# -- in files ----------------------------------------------------------------------------------


def test_file_is_as_java_writes_it(broker: PlayedBroker, tmp_path: Path) -> None:
    offsets = local(tmp_path)
    offsets.update(QUEUES[0], 5, increase_only=True)
    offsets.update(QUEUES[1], 7, increase_only=True)
    broker.carrier.run(offsets.persist_all(QUEUES))
    path = tmp_path / CLIENT / GROUP / "offsets.json"
    assert path.read_text() == JAVA_FILE
    assert not list(path.parent.glob("*.tmp"))


def test_file_of_java_is_read(broker: PlayedBroker, tmp_path: Path) -> None:
    offsets = local(tmp_path)
    offsets.path.parent.mkdir(parents=True)
    offsets.path.write_text(JAVA_FILE)
    offsets.load()
    assert offsets.of_topic("") == {QUEUES[0]: 5, QUEUES[1]: 7}
    assert broker.carrier.run(local(tmp_path).read(QUEUES[1])) == 7
    assert broker.carrier.run(local(tmp_path).read(QUEUES[2])) is None


def test_previous_file_is_kept_as_a_backup(broker: PlayedBroker, tmp_path: Path) -> None:
    offsets = local(tmp_path)
    for offset in (5, 6):
        offsets.update(QUEUES[0], offset, increase_only=True)
        broker.carrier.run(offsets.persist_all(QUEUES))
    offsets.path.unlink()
    assert broker.carrier.run(local(tmp_path).read(QUEUES[0])) == 5


@pytest.mark.parametrize("damage", ["", "{", '{"offsetTable":[]', "\0"])
def test_backup_is_read_if_the_file_is_damaged(
    broker: PlayedBroker, tmp_path: Path, damage: str
) -> None:
    offsets = local(tmp_path)
    for offset in (5, 6):
        offsets.update(QUEUES[0], offset, increase_only=True)
        broker.carrier.run(offsets.persist_all(QUEUES))
    offsets.path.write_text(damage)
    again = local(tmp_path)
    again.load()
    assert again.in_memory(QUEUES[0]) == 5


def test_damaged_backup_is_refused(tmp_path: Path) -> None:
    offsets = local(tmp_path)
    offsets.path.parent.mkdir(parents=True)
    offsets.path.write_text("{")
    offsets.path.with_name("offsets.json.bak").write_text("{")
    with pytest.raises(MQClientError, match="readLocalOffset Exception, maybe fastjson version"):
        offsets.load()


def test_pipe_in_place_of_the_file_is_not_opened(tmp_path: Path) -> None:
    offsets = local(tmp_path)
    offsets.path.parent.mkdir(parents=True)
    os.mkfifo(offsets.path)
    offsets.load()
    assert offsets.of_topic("") == {}


def test_directory_that_cannot_be_written_is_logged(
    broker: PlayedBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / CLIENT).write_text("a file")
    offsets = local(tmp_path)
    offsets.update(QUEUES[0], 5, increase_only=True)
    broker.carrier.run(offsets.persist_all(QUEUES))
    assert "persistAll consumer offset Exception" in caplog.text


def test_nothing_is_written_without_queues(broker: PlayedBroker, tmp_path: Path) -> None:
    broker.carrier.run(local(tmp_path).persist_all([]))
    assert list(tmp_path.iterdir()) == []


def test_dropped_queue_continues_where_it_was(tmp_path: Path) -> None:
    offsets = local(tmp_path)
    offsets.update(QUEUES[0], 5, increase_only=True)
    offsets.remove(QUEUES[0])
    assert offsets.in_memory(QUEUES[0]) == 5


@pytest.mark.parametrize("client_id", ["", ".", "..", "a/b", "a\0"])
def test_client_id_that_is_no_folder_name_is_refused(client_id: str, tmp_path: Path) -> None:
    with pytest.raises(MQClientError, match="cannot be the name of a folder"):
        LocalOffsets(client_id, GROUP, str(tmp_path))


def test_default_directory_is_java_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = LocalOffsets(CLIENT, GROUP).path
    assert path == tmp_path / ".rocketmq_offsets" / CLIENT / GROUP / "offsets.json"


# -- of a consumer -----------------------------------------------------------------------------


def test_broadcast_consumer_continues_after_a_restart(tmp_path: Path) -> None:
    broker = PlayedBroker(queues=2)
    settings = {"message_model": "BROADCASTING", "offsets_directory": str(tmp_path)}
    first = PushLab(broker, consume_from="first", **settings).start()
    first.put(b"0", b"1")
    broker.carrier.run(first.core.shutdown())
    broker.put(b"2")
    second = PushLab(broker, consume_from="first", **settings).start()
    assert second.consumed == [b"2"]
    assert broker.offsets == {}


def test_name_without_utf8_keeps_no_other_offset_from_its_file(
    broker: PlayedBroker, tmp_path: Path
) -> None:
    odd = MessageQueue(topic="orders", broker_name="\ud800", queue_id=0)
    offsets = local(tmp_path)
    offsets.update(QUEUES[0], 5, increase_only=True)
    offsets.update(odd, 6, increase_only=True)
    broker.carrier.run(offsets.persist_all({QUEUES[0], odd}))
    again = local(tmp_path)
    again.load()
    assert again.in_memory(QUEUES[0]) == 5
