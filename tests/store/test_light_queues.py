"""Light queues: one record with entries in many queues."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.clock.slices import finished
from fakemq.dump.check import check
from fakemq.events.core import Warned
from fakemq.protocol.message import MessageExt
from fakemq.protocol.properties import INNER_MULTI_DISPATCH, INNER_MULTI_QUEUE_OFFSET
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.store import image as images
from fakemq.store.inner_message import inner_message
from fakemq.store.light_queues import MOST_QUEUES, TOO_MANY
from fakemq.store.replica import Replica
from fakemq.store.results import PutMessageStatus
from fakemq.store.stored_node import StoredNode
from fakemq.store.writing import draft_batch
from tests.support.disk_lab import DiskLab
from tests.support.store_lab import StoreLab

A, B = "%LMQ%a", "%LMQ%b"


def names(*queues: str, **more: str) -> str:
    """Properties of a message that names these queues."""
    found = {INNER_MULTI_DISPATCH: ",".join(queues), **more}
    return "".join(f"{name}\x01{value}\x02" for name, value in found.items())


def light_lab(*, lmq: bool = True, multi_dispatch: bool = True, most: int = 20_000) -> StoreLab:
    return StoreLab(
        log_bytes=1 << 20,
        enable_lmq=lmq,
        enable_multi_dispatch=multi_dispatch,
        max_lmq_consume_queue_num=most,
    )


def messages(lab: StoreLab | DiskLab, topic: str, queue_id: int = 0) -> list[MessageExt]:
    return list(lab.store.messages_in_queue(topic, queue_id))


def offsets_of(lab: StoreLab | DiskLab, topic: str = "orders", queue_id: int = 0) -> list[str]:
    found = messages(lab, topic, queue_id)
    return [one.properties.get(INNER_MULTI_QUEUE_OFFSET, "-") for one in found]


def test_message_is_in_its_queue_and_in_those_that_it_names() -> None:
    lab = light_lab()
    lab.put(b"1", queue_id=3, properties=names(A, B))
    lab.put(b"2", queue_id=3)
    lab.put(b"3", queue_id=2, properties=names(B))
    assert [one.body for one in messages(lab, A)] == [b"1"]
    assert [one.body for one in messages(lab, B)] == [b"1", b"3"]
    assert [one.body for one in messages(lab, "orders", 3)] == [b"1", b"2"]
    assert offsets_of(lab, "orders", 3) == ["0,0", "-"]
    assert offsets_of(lab, "orders", 2) == ["1"]
    assert {(one.topic, one.queue_id) for one in messages(lab, B)} == {("orders", 3), ("orders", 2)}
    assert lab.store.max_offset_in_queue(B, 0) == 2
    result = lab.store.get_message("g", B, 0, 1, 10)
    assert (result.message_count, result.next_begin_offset) == (1, 2)


@pytest.mark.parametrize("blank", ["", " ", "\t "])
def test_blank_property_names_no_queue(blank: str) -> None:
    lab = light_lab()
    lab.put(properties=f"{INNER_MULTI_DISPATCH}\x01{blank}\x02")
    assert offsets_of(lab) == ["-"]


def test_property_is_split_as_java_splits_it() -> None:
    lab = light_lab()
    assert lab.put(properties=names(A, "", B, "", "")).ok
    assert offsets_of(lab) == ["0,0,0"]
    assert (len(messages(lab, A)), len(messages(lab, B))) == (1, 1)
    assert lab.put(properties=f"{INNER_MULTI_DISPATCH}\x01,\x02").ok
    assert len(messages(lab, "orders")) == 2


def test_queue_that_is_named_twice_has_one_entry() -> None:
    lab = light_lab()
    lab.put(properties=names(A, A))
    lab.put(properties=names(A))
    assert offsets_of(lab) == ["0,0", "1"]
    assert len(messages(lab, A)) == 2


def test_usual_topic_can_be_named() -> None:
    lab = light_lab()
    lab.put(b"1", queue_id=2, properties=names("other", "orders", A))
    lab.put(b"2", queue_id=2, topic="other")
    assert [one.body for one in messages(lab, "other", 2)] == [b"1", b"2"]
    assert [one.body for one in messages(lab, "orders", 2)] == [b"1"]


def test_without_lmq_light_queues_are_usual_ones() -> None:
    lab = light_lab(lmq=False)
    lab.put(b"1", queue_id=2, properties=names(A))
    assert (len(messages(lab, A, 2)), len(messages(lab, A, 0))) == (1, 0)


def test_without_multi_dispatch_the_property_means_nothing() -> None:
    lab = light_lab(multi_dispatch=False)
    lab.put(properties=names(A))
    assert (offsets_of(lab), messages(lab, A)) == (["-"], [])


def test_offsets_of_a_producer_are_replaced() -> None:
    lab = light_lab()
    lab.put(properties=names(A, INNER_MULTI_QUEUE_OFFSET="77"))
    assert (offsets_of(lab), lab.store.max_offset_in_queue(A, 0)) == (["0"], 1)


def test_offsets_of_a_producer_in_a_batch_are_refused() -> None:
    lab = light_lab()
    own = names(A, INNER_MULTI_QUEUE_OFFSET="77").encode()
    size = (4 + 4 + 4 + 4 + 4 + 1 + 2 + len(own)).to_bytes(4)
    body = size + bytes(12) + (1).to_bytes(4) + b"x" + len(own).to_bytes(2) + own
    refused = lab.store.put_messages(inner_message("orders", 0, body))
    assert refused.status is PutMessageStatus.MESSAGE_ILLEGAL
    drafts = finished(draft_batch(inner_message("orders", 0, body), 10_000, 1 << 20))
    assert isinstance(drafts, list), "nothing reads the property then"


def test_half_of_a_transaction_has_entries_only_when_it_is_queued() -> None:
    lab = light_lab()
    lab.put(properties=names(A), sys_flag=MessageSysFlag.TRANSACTION_PREPARED_TYPE)
    assert messages(lab, A) == []
    lab.put(properties=names(A))
    assert offsets_of(lab) == ["0"]
    lab.put(properties=names(A), sys_flag=MessageSysFlag.TRANSACTION_COMMIT_TYPE)
    assert len(messages(lab, A)) == 2


def test_send_to_a_light_queue_counts_apart() -> None:
    """Java has one table of offsets for sends, and one for what names a light queue."""
    lab = light_lab()
    lab.put(b"1", topic=A)
    lab.put(b"2", topic=A)
    lab.put(b"3", properties=names(A))
    lab.put(b"4", properties=names(A))
    assert offsets_of(lab, "orders") == ["0", "1"]
    # An entry of offset 0 is never taken for one that is there already.
    assert [one.body for one in messages(lab, A)] == [b"1", b"2", b"3"]


@pytest.mark.parametrize("name", ["..", "a/b", "../../x", "/etc", "x" * 200, "n\0l"])
def test_name_that_no_folder_has_is_passed_over(name: str) -> None:
    lab = light_lab()
    assert lab.put(properties=names(name, A)).ok
    assert lab.store.queues.topics() == {"orders", A}
    assert not lab.store.dispatch._without_queue
    assert lab.put(properties=names(name, A)).ok
    assert offsets_of(lab) == ["0,0", "0,1"]


def test_name_is_that_which_is_stored() -> None:
    lab = light_lab()
    for _ in range(2):
        lab.put(properties=names("%LMQ%\ud800"))
    assert offsets_of(lab) == ["0", "1"]
    assert len(messages(lab, "%LMQ%?")) == 2


def test_message_may_name_some_queues_only() -> None:
    lab = light_lab()
    many = [str(number) for number in range(MOST_QUEUES)]
    assert lab.put(properties=names(*many)).ok
    refused = lab.put(properties=names(*many, "x"))
    assert (refused.status, refused.reason) == (PutMessageStatus.MESSAGE_ILLEGAL, TOO_MANY)


def test_message_that_becomes_too_large_is_an_unknown_error() -> None:
    lab = light_lab()
    filler = {"f": "x" * 32_000}
    assert (
        lab.put(properties=names(*["a"] * 300, **filler)).status is PutMessageStatus.UNKNOWN_ERROR
    )
    assert lab.put(properties=names(*["a"] * 100, **filler)).ok


def test_delayed_message_is_at_once_in_the_queues_that_it_names() -> None:
    lab = light_lab()
    lab.put(properties=names(A, DELAY="1"))
    (found,) = messages(lab, A)
    assert found.topic == "SCHEDULE_TOPIC_XXXX"


def test_deleted_light_queue_begins_at_0() -> None:
    lab = light_lab()
    lab.put(b"1", properties=names(A, B))
    lab.store.delete_consume_queue(A)
    lab.put(b"2", properties=names(A, B))
    assert offsets_of(lab) == ["0,0", "0,1"]
    assert [one.body for one in messages(lab, A)] == [b"2"]


def test_light_queues_need_no_topic() -> None:
    lab = light_lab()
    lab.put(properties=names(A, "other"))
    lab.store.clean_unused_topic({"orders"})
    assert lab.store.queues.topics() == {"orders", A}


def test_light_queues_are_counted_as_java_counts_them() -> None:
    lab = light_lab(most=2)
    store = lab.store
    lab.put(properties=names(A, B))
    assert not store.has_too_many_light_queues(A)
    store.get_message("g", "%LMQ%c", 0, 0, 1)
    store.get_message("g", "%LMQ%c", 0, 0, 1)
    assert store.has_too_many_light_queues(A)
    assert not store.has_too_many_light_queues("orders")
    assert lab.put(properties=names("%LMQ%d")).ok, "Java looks at the wrong status"
    store.delete_consume_queue("%LMQ%d")
    assert store.has_too_many_light_queues(A)
    store.delete_consume_queue("%LMQ%c")
    assert not store.has_too_many_light_queues(A)
    store.delete_consume_queue("%LMQ%nowhere")
    assert store.queues.light_count == 2


# -- on disk ----------------------------------------------------------------------------------


def disk_lab(root: Path, role: str = "ASYNC_MASTER") -> DiskLab:
    return DiskLab(root, enable_lmq=True, enable_multi_dispatch=True, broker_role=role)


PUTS = st.lists(
    st.tuples(
        st.sampled_from(["orders", "other"]),
        st.integers(0, 1),
        st.lists(st.sampled_from([A, B, "orders", "other", "..", ""]), max_size=3),
    ),
    max_size=25,
)


def found_in(root: Path) -> list[str]:
    """Return what a check finds in log and queues."""
    found = check(StoredNode(str(root)), lambda _: None)
    return [one.text for one in found if not one.file.startswith("config/")]


def entries(lab: DiskLab) -> dict[str, tuple[tuple[int, bytes], ...]]:
    """Return the bytes of all queues by path."""
    files = images.take(lab.store).files
    return {path: file.pieces for path, file in files.items() if path.startswith("consumequeue")}


@settings(max_examples=40, deadline=None)
@given(puts=PUTS, how=st.sampled_from(["stop", "kill", "rebuild"]))
def test_start_finds_all_entries(
    tmp_path_factory: pytest.TempPathFactory, puts: list[tuple[str, int, list[str]]], how: str
) -> None:
    root = tmp_path_factory.mktemp("store")
    lab = disk_lab(root)
    lab.start()
    for number, (topic, queue_id, named) in enumerate(puts):
        assert lab.put(b"%d" % number, topic, queue_id, names(*named) if named else "").ok
    before, light = entries(lab), dict(lab.store.log.lmq_topic_queue_table)
    lab.stop() if how == "stop" else lab.kill()
    assert found_in(root) == []
    if how == "rebuild":
        shutil.rmtree(root / "consumequeue", ignore_errors=True)
    lab = disk_lab(root)
    with lab:
        assert [one.text for one in lab.journal.find(Warned)] == []
        assert entries(lab) == before
        assert lab.store.log.lmq_topic_queue_table == light
        assert lab.store.queues.light_count == len(light)


@pytest.mark.parametrize("piece_bytes", [7, 200, 5_000])
def test_slave_has_the_same_entries(tmp_path: Path, piece_bytes: int) -> None:
    master = disk_lab(tmp_path / "master")
    slave = disk_lab(tmp_path / "slave", "SLAVE")
    with master, slave:
        replica = Replica(slave.store, slave.node_clock, slave.journal, "slave")
        for number in range(30):
            named = [A, B, "other"][: number % 4]
            master.put(b"%d" % number, properties=names(*named) if named else "")
        end = master.store.max_phy_offset
        at = 0
        while at < end:
            part = master.store.log.read_from(at)
            assert part is not None
            replica.append(at, bytes(part[:piece_bytes]))
            at += min(piece_bytes, len(part))
            replica.dispatch()
        assert entries(slave) == entries(master)
        assert slave.store.log.lmq_topic_queue_table == master.store.log.lmq_topic_queue_table
        assert slave.store.stats.runtime_info()["putMessageTimesTotal"] == "30"


def test_entries_of_deleted_records_go_with_them(tmp_path: Path) -> None:
    with disk_lab(tmp_path / "store") as lab:
        for _ in range(8):
            lab.put(bytes(3000), properties=names(A))
        lab.store.delete_expired_files(5 * 4096)
        assert (lab.store.min_offset_in_queue(A, 0), lab.store.max_offset_in_queue(A, 0)) == (5, 8)
        lab.store.retention.clean_expired_consume_queues()
        assert lab.store.max_offset_in_queue(A, 0) == 8


def test_check_knows_light_queues(tmp_path: Path) -> None:
    with disk_lab(tmp_path / "store") as lab:
        lab.put(properties=names(A, B, TAGS="t"), queue_id=3)
        lab.put(properties=names(A, DELAY="2"))
    assert found_in(tmp_path / "store") == []
    row = tmp_path / "store" / "consumequeue" / B / "0" / f"{0:020}"
    data = row.read_bytes()
    later = tmp_path / "store" / "consumequeue" / A / "0" / f"{0:020}"
    later.write_bytes(later.read_bytes()[20:40] + later.read_bytes()[:20] + data[40:])
    texts = found_in(tmp_path / "store")
    assert len(texts) == 2
    assert "where there is" in texts[0]
