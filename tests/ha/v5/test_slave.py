"""A slave of 5.5.0: when it asks its master for what, in which pages, and what it takes over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakemq.events import Warned
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.faults.points import REORDER_METADATA, SILENCE
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.pop import MessageRequestModeTable, SetMessageRequestModeRequestBody
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.bodies.tables import (
    ConsumerOffsetSerializeWrapper5,
    DelayOffsetSerializeWrapper5,
    SubscriptionGroupWrapper5,
    TopicConfigAndMappingSerializeWrapper,
)
from fakemq.protocol.v5.bodies.timer import TimerMetric, TimerMetricsSerializeWrapper
from fakemq.protocol.v5.bodies.version import DataVersion5
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.store.timer.checkpoint import TimerCheckpoint
from tests.support.broker_lab import broker5
from tests.support.master_tables import DELAYS, FAST, GROUPS, MAIN, OFFSETS, TOPICS
from tests.support.namesrv_double import NameServerDouble
from tests.support.replication import Replicated
from tests.support.slices import take_turns, work_in_turns

MODES = RequestCode5.GET_ALL_MESSAGE_REQUEST_MODE
METRICS, CHECKPOINT = RequestCode5.GET_TIMER_METRICS, RequestCode5.GET_TIMER_CHECK_POINT
ALL = [
    *((FAST, TOPICS), (MAIN, OFFSETS), (MAIN, DELAYS), (MAIN, GROUPS), (MAIN, MODES)),
    *((FAST, METRICS), (FAST, CHECKPOINT)),
]
VERSION = DataVersion5(counter=2, timestamp=1)
NAMES = [f"topic-{number}" for number in range(5)]
GOOD: dict[int, bytes] = {
    OFFSETS: ConsumerOffsetSerializeWrapper5(
        offset_table={"orders@billing": {0: 7}}, data_version=VERSION
    ).encode(),
    DELAYS: DelayOffsetSerializeWrapper5(offset_table={3: 5}, data_version=VERSION).encode(),
    MODES: MessageRequestModeTable(
        message_request_mode_map={
            "orders": {"billing": SetMessageRequestModeRequestBody(topic="orders", mode="POP")}
        }
    ).encode(),
    METRICS: TimerMetricsSerializeWrapper(
        data_version=VERSION, timing_count={"orders": TimerMetric(count=3)}
    ).encode(),
    CHECKPOINT: TimerCheckpoint().encode(),
}


def topics_page(names: list[str], version: DataVersion5 = VERSION) -> bytes:
    return TopicConfigAndMappingSerializeWrapper(
        topic_config_table={
            name: TopicConfig(topic_name=name, attributes={"message.type": "FIFO"})
            for name in names
        },
        data_version=version,
        mapping_data_version=VERSION,
    ).encode()


def groups_page(names: list[str]) -> bytes:
    return SubscriptionGroupWrapper5(
        subscription_group_table={
            name: SubscriptionGroupConfig(group_name=name, retry_max_times=3) for name in names
        },
        data_version=VERSION,
        forbidden_table={"billing": {"orders": 4}},
    ).encode()


class Elsewhere5:
    """A slave of 5.5.0 whose master is the test's, at `MAIN` and `FAST`.

    ``asked`` has what it asked: milliseconds since then, address, code and fields. ``pages`` makes
    the answers with topics and groups.
    """

    def __init__(self) -> None:
        pair = Replicated(reference="5.5.0")
        self.core, self.slave = pair.core, pair.slave
        self.core.faults.place(SILENCE, None, "", Scope(node=self.slave.name), ALWAYS)
        synchronize = self.slave.replication().synchronize
        assert synchronize is not None
        self.asked: list[tuple[int, str, int, dict[str, str]]] = []
        self.bodies = dict(GOOD)
        self.topics: Callable[[dict[str, str]], tuple[bytes, int | None]] = lambda fields: (
            topics_page(NAMES),
            len(NAMES),
        )
        self.groups: Callable[[dict[str, str]], tuple[bytes, int | None]] = lambda fields: (
            groups_page(["billing"]),
            1,
        )
        for addr in (MAIN, FAST):
            self._listen(addr)
        self._began_ms = self.core.clock.now_ms()
        synchronize.set_master_addr(MAIN)

    def _listen(self, addr: str) -> None:
        def answer(request: RemotingCommand) -> RemotingCommand | None:
            at_ms = self.core.clock.now_ms() - self._began_ms
            self.asked.append((at_ms, addr, request.code, dict(request.ext_fields)))
            if request.code in (TOPICS, GROUPS):
                is_topics = request.code == TOPICS
                body, total = (self.topics if is_topics else self.groups)(request.ext_fields)
                name = "totalTopicNum" if is_topics else "totalGroupNum"
                fields = {} if total is None else {name: str(total)}
                return RemotingCommand(ResponseCode.SUCCESS, body=body, ext_fields=fields)
            found = self.bodies.get(request.code)
            return None if found is None else RemotingCommand(ResponseCode.SUCCESS, body=found)

        core = self.core
        NameServerDouble(core.network, core.clock, core.journal, addr).answer = answer

    def sync(self) -> None:
        """Let the slave fetch everything, as after a start."""
        self.slave.replication().sync_now()
        self.core.network.settle()

    def requests(self, code: int) -> list[dict[str, str]]:
        return [fields for _, _, asked, fields in self.asked if asked == code]

    def warnings(self) -> list[str]:
        return [event.text for event in self.core.journal.find(Warned)]


def test_timers_are_asked_for_every_3_s_and_all_tables_every_63_s() -> None:
    lab = Elsewhere5()
    lab.core.advance(60_999)
    assert [(at_ms, addr, code) for at_ms, addr, code, _ in lab.asked] == [
        (10_000 + 3_000 * number, FAST, CHECKPOINT) for number in range(17)
    ]
    lab.asked.clear()
    lab.core.advance(1)
    assert [(at_ms, addr, code) for at_ms, addr, code, _ in lab.asked] == [
        (61_000, addr, code) for addr, code in ALL
    ]
    lab.core.advance(63_000)
    assert [at_ms for at_ms, _, code, _ in lab.asked if code == TOPICS] == [61_000, 124_000]
    assert lab.warnings() == []


def test_tables_that_come_due_during_another_request_are_fetched_after_it() -> None:
    lab = Elsewhere5()
    lab.core.advance(57_999)
    del lab.bodies[CHECKPOINT]
    lab.asked.clear()
    lab.core.advance(3_000)
    lab.bodies.update(GOOD)
    lab.core.advance(1)
    # No node answers at 58 s. The request waits for three seconds, until the tick of all tables.
    assert [(at_ms, addr, code) for at_ms, addr, code, _ in lab.asked] == [
        (58_000, FAST, CHECKPOINT),
        *((61_000, addr, code) for addr, code in ALL),
    ]
    assert lab.slave.offsets.query("billing", "orders", 0) == 7


def test_all_tables_that_are_asked_for_during_another_request_are_fetched_after_it() -> None:
    lab = Elsewhere5()
    lab.core.advance(9_999)
    del lab.bodies[CHECKPOINT]
    lab.core.advance(1)
    lab.bodies.update(GOOD)
    lab.sync()
    assert [(at_ms, code) for at_ms, _, code, _ in lab.asked] == [(10_000, CHECKPOINT)]
    lab.core.advance(3_000)
    assert [(at_ms, code) for at_ms, _, code, _ in lab.asked[1:]] == [
        (13_000, code) for _, code in ALL
    ]


def test_long_advance_keeps_the_grid() -> None:
    lab = Elsewhere5()
    lab.core.advance(2 * 3_600_000)
    at_ms = [at_ms for at_ms, _, code, _ in lab.asked if code == TOPICS][-1]
    assert (at_ms - 61_000) % 63_000 == 0
    assert at_ms > 2 * 3_600_000 - 63_000


def test_slave_without_timers_asks_for_none() -> None:
    pair = Replicated(reference="5.5.0", config=[{}, {"timerWheelEnable": "false"}])
    synchronize = pair.slave.replication().synchronize
    assert synchronize is not None
    assert [fetch.code for fetch in synchronize._tables()] == [
        *(TOPICS, OFFSETS, DELAYS, GROUPS, MODES)
    ]


def test_every_table_is_taken_over() -> None:
    lab = Elsewhere5()
    lab.sync()
    slave, parts = lab.slave, broker5(lab.slave)
    config = slave.topics.select("topic-4")
    assert config is not None
    assert config.attributes == {"message.type": "FIFO"}
    assert slave.topics.select("orders") is None
    assert slave.offsets.query("billing", "orders", 0) == 7
    group = slave.groups.find("billing")
    assert group is not None
    assert group.retry_max_times == 3
    assert not parts.forbidden.is_forbidden("billing", "orders")  # Java leaves them out, too
    assert parts.pop.modes.find("orders", "billing", parts.pop.config).mode == "POP"
    assert parts.timers.metrics.count("orders") == 3
    assert parts.versions.offsets == parts.versions.delays == parts.versions.mappings == VERSION
    assert slave.delay.offsets[3] == 5
    assert lab.warnings() == []


def test_tables_come_in_pages() -> None:
    lab = Elsewhere5()

    def page(fields: dict[str, str]) -> tuple[bytes, int | None]:
        begin = int(fields["topicSeq"])
        return topics_page(NAMES[begin : begin + 2]), len(NAMES)

    lab.topics = page
    lab.sync()
    version = VERSION.encode().decode()
    # Java's slave does not ask for a last page of one topic.
    assert lab.requests(TOPICS) == [
        {"topicSeq": "0", "maxTopicNum": "2000", "dataVersion": ""},
        {"topicSeq": "2", "maxTopicNum": "2000", "dataVersion": version},
    ]
    assert lab.slave.topics.snapshot().keys() == set(NAMES[:4])


def test_table_that_changes_between_pages_is_asked_for_again() -> None:
    lab = Elsewhere5()
    later = DataVersion5(counter=3, timestamp=2)

    def page(fields: dict[str, str]) -> tuple[bytes, int | None]:
        begin = int(fields["topicSeq"])
        version = later if len(lab.requests(TOPICS)) > 1 else VERSION
        return topics_page(NAMES[begin : begin + 3], version), len(NAMES)

    lab.topics = page
    lab.sync()
    assert [fields["topicSeq"] for fields in lab.requests(TOPICS)] == ["0", "3", "0", "3"]
    assert lab.slave.topics.snapshot().keys() == set(NAMES)
    assert lab.slave.topics.data_version.counter == 3


def test_master_without_pages_is_asked_once() -> None:
    lab = Elsewhere5()
    lab.topics = lambda fields: (topics_page(NAMES[:2]), None)
    lab.sync()
    assert len(lab.requests(TOPICS)) == 1
    assert lab.slave.topics.snapshot().keys() == set(NAMES[:2])


@pytest.mark.parametrize(
    ("total", "expected"),
    [(1_000_000, "an empty page of 1000000 entries"), (None, "")],
)
def test_empty_pages_end_the_fetch(total: int | None, expected: str) -> None:
    lab = Elsewhere5()
    pages = [NAMES, []]
    lab.topics = lambda fields: (topics_page(pages[len(lab.requests(TOPICS)) - 1]), total)
    before = lab.slave.topics.snapshot().keys()
    lab.sync()
    if expected:
        (text,) = lab.warnings()
        assert text == f"the master's answer to GET_ALL_TOPIC_CONFIG cannot be read: {expected}"
        assert lab.slave.topics.snapshot().keys() == before
    assert lab.requests(GROUPS)  # and the other tables are asked for


def test_changes_without_end_do_not_keep_a_slave_busy() -> None:
    lab = Elsewhere5()
    lab.topics = lambda fields: (
        topics_page(NAMES[:1], DataVersion5(counter=len(lab.asked))),
        1_000_000,
    )
    lab.sync()
    (text,) = lab.warnings()
    assert "over 1000 pages" in text
    assert len(lab.requests(TOPICS)) == 1_001


@pytest.mark.parametrize("code", [OFFSETS, DELAYS, MODES, METRICS, CHECKPOINT])
@pytest.mark.parametrize("body", [b"{", b'{"dataVersion":"x","offsetTable":1}', b"\xff\xfe"])
def test_unreadable_answer_is_ignored(code: int, body: bytes) -> None:
    lab = Elsewhere5()
    lab.bodies[code] = body
    lab.sync()
    texts = lab.warnings()
    if code in (MODES, METRICS) and body.startswith(b'{"dataVersion"'):
        assert len(texts) <= 1  # Java ignores fields that it does not know
    else:
        (text,) = texts
        assert "cannot be read: " in text
    assert len(lab.asked) == len(ALL)


@pytest.mark.parametrize("answer", ["topics", "groups"])
def test_unreadable_page_is_ignored(answer: str) -> None:
    lab = Elsewhere5()
    setattr(lab, answer, lambda fields: (b"{", 3))
    lab.sync()
    assert len(lab.warnings()) == 1
    assert len(lab.asked) == len(ALL)


def test_late_answer_of_pages_is_taken_whole_with_the_next() -> None:
    lab = Elsewhere5()
    scope = Scope(node=lab.slave.name, code=TOPICS)
    fault = lab.core.faults.place(REORDER_METADATA, None, "", scope, ALWAYS)
    lab.sync()
    assert lab.slave.topics.select("topic-0") is None
    fault.remove()
    lab.topics = lambda fields: (topics_page(["newer"], DataVersion5(counter=9)), 1)
    lab.sync()
    assert lab.slave.topics.snapshot().keys() == set(NAMES)


def test_large_table_of_offsets_is_taken_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Elsewhere5()
    lab.sync()
    table = {f"topic-{number}@billing": {0: number} for number in range(5_000)}
    groups = {"billing": [f"topic-{number}" for number in range(5_000)]}
    lab.bodies[OFFSETS] = ConsumerOffsetSerializeWrapper5(
        offset_table=table, group_topic_map=groups, data_version=VERSION
    ).encode()
    work_in_turns(lab.core.clock, monkeypatch)
    lab.sync()
    assert take_turns(lab.core.clock) > 2
    assert lab.slave.offsets.query("billing", "topic-4999", 0) == 4999


def test_slave_has_the_tables_of_its_master_from_the_start() -> None:
    pair = Replicated(reference="5.5.0", topics={"orders": 2})
    master, slave = pair.master, pair.slave
    for code in (TOPICS, GROUPS, OFFSETS, DELAYS, MODES, METRICS):
        ours, masters = (fastjson.loads(pair.ask(node, code).body) for node in (slave, master))
        assert ours == masters, code
    total = len(master.topics.snapshot())
    assert pair.ask(slave, TOPICS).ext_fields["totalTopicNum"] == str(total)
