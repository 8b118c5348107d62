"""Every rule takes out what differs from run to run, and nothing else."""

from __future__ import annotations

import pytest

from conformance.normalise import (
    NEAR_MS,
    NO_INDEX,
    Normaliser,
    Places,
    made_id_bytes,
    recall_handle,
    shortened,
    without_addresses,
    without_disk,
    without_offset_ids,
    without_order,
    without_revive_queue,
    without_stack,
    without_times,
    without_versions,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import encode_record
from fakemq.protocol.message_id import UniqueIdGenerator, create_offset_id

NOW_MS = 1_700_000_000_000
NAMES = {"127.0.0.1:10911": "broker-a", "127.0.0.1:5": "client"}


@pytest.fixture
def normaliser() -> Normaliser:
    return Normaliser(dict(NAMES), NOW_MS)


def test_receipt_handle_loses_its_revive_queue_and_keeps_that_of_an_order() -> None:
    text = f"3 {NOW_MS} 60000 7 0 broker-a 1 3"
    assert without_revive_queue(text) == f"3 {NOW_MS} 60000 <revive queue> 0 broker-a 1 3"
    in_order = f"3 {NOW_MS} 60000 999 0 broker-a 1 3"
    assert without_revive_queue(in_order) == in_order
    assert without_revive_queue("1 2 3 4") == "1 2 3 4"


def test_ids_that_brokers_make_are_numbered_and_chosen_ones_stay(normaliser: Normaliser) -> None:
    chosen, short, long = "AC110001000018B4AAC27E5E1C2D0001", "AB" * 16, "FD" * 28
    assert normaliser.text(f"{chosen} {long} {short},{long}") == f"{chosen} <id 1> <id 2>,<id 1>"
    assert made_id_bytes({"UNIQ_KEY": long}) == 56
    assert made_id_bytes({"UNIQ_KEY": chosen}) == made_id_bytes({}) == 0


def test_pop_answers_lose_their_revive_queue(normaliser: Normaliser) -> None:
    def field(name: str, value: str) -> str:
        return normaliser.field(name, value, 200_050, "broker-a", sent=False)

    assert field("reviveQid", "3") == "<revive queue>"
    assert field("reviveQid", "999") == "999"


def test_recall_handle_is_written_as_what_it_says(normaliser: Normaliser) -> None:
    handle = "djEgdCBicm9rZXItYSAxNzAwMDAwMDAwMDAwIElE"
    assert recall_handle(handle) == "<handle of v1 t broker-a 1700000000000 ID>"
    seen = normaliser.field("recallHandle", handle, 370, "broker-a", sent=True)
    assert seen == "<handle of v1 t broker-a <now> ID>"
    assert recall_handle("nonsense") == "nonsense"
    assert recall_handle("djI=") == "djI="


def test_addresses_become_names_and_chosen_ones_stay() -> None:
    text = "127.0.0.1:10911 127.0.0.1:5 127.0.0.1:77 10.0.0.1:10911"
    assert without_addresses(text, NAMES) == "<broker-a> <client> <address> 10.0.0.1:10911"


def test_offset_id_keeps_its_broker_and_unique_id_is_kept() -> None:
    one, two = (create_offset_id(("127.0.0.1", 10911), place) for place in (12345, 7))
    other = create_offset_id(("10.0.0.1", 10911), 12345)
    places = Places()
    seen = without_offset_ids(f"{one},{other},{two},{one}", NAMES, places)
    assert seen == f"<place 1 at broker-a>,{other},<place 2 at broker-a>,<place 1 at broker-a>"


def test_unique_id_of_a_broker_is_no_place_though_it_has_the_port_of_one() -> None:
    made = UniqueIdGenerator("127.0.0.1", 0, 10911 << 16 | 0x6C91).create(NOW_MS)
    assert without_offset_ids(made, NAMES, Places()) == made


def test_number_is_a_place_in_fields_that_hold_places(normaliser: Normaliser) -> None:
    view = RequestCode.VIEW_MESSAGE_BY_ID

    def offset(code: int, value: str, *, sent: bool) -> str:
        return normaliser.field("offset", value, code, "broker-a", sent=sent)

    assert offset(view, "12345", sent=True) == "12345"
    assert normaliser.text(create_offset_id(("127.0.0.1", 10911), 12345)) == "<place 1 at broker-a>"
    assert offset(view, "12345", sent=True) == "<place 1 at broker-a>"
    assert offset(view, "77", sent=False) == "<place 2 at broker-a>"
    assert normaliser.field(*NO_INDEX, RequestCode.QUERY_MESSAGE, "broker-a", sent=False) == "0"
    assert offset(RequestCode.GET_MAX_OFFSET, "12345", sent=False) == "12345"


def test_offsets_in_a_topic_that_scenarios_share_count_from_where_it_was(
    normaliser: Normaliser,
) -> None:
    normaliser.starts["RMQ_SYS_TRANS_HALF_TOPIC"] = 40
    code = RequestCode.CHECK_TRANSACTION_STATE
    seen = normaliser.field("tranStateTableOffset", "42", code, "broker-a", sent=False)
    assert seen == "2"
    assert normaliser.since_start("another", "42") == "42"
    record = encode_record(
        *("orders", b"", ""),
        queue_id=0,
        queue_offset=42,
        born_host=("127.0.0.1", 5),
        store_host=("127.0.0.1", 10911),
    )
    asked = normaliser.records(record, "RMQ_SYS_TRANS_HALF_TOPIC")
    assert asked[0] == "message orders queue 0 offset 2, <place 1 at broker-a>"


def test_long_values_are_shortened() -> None:
    assert shortened("y" * 300) == "y" * 300
    assert shortened("y" * 301) == "y" * 40 + "… of 301 characters"


def test_times_of_the_run_are_removed_and_chosen_times_stay() -> None:
    assert without_times("at 2025-11-21#10:20:30:400", NOW_MS) == "at <date>"
    text = f"{NOW_MS + NEAR_MS - 1} {NOW_MS + NEAR_MS} 1100000000000 170000000000"
    assert without_times(text, NOW_MS) == f"<now> {NOW_MS + NEAR_MS} 1100000000000 170000000000"


@pytest.mark.parametrize(
    ("remark", "wanted"),
    [
        (
            "java.lang.NullPointerException: Cannot invoke x, org.apache.Y.z(Y.java:7)",
            "<thrown java.lang.NullPointerException>",
        ),
        ("com.alibaba.fastjson.JSONException: a\nb", "<thrown com.alibaba.fastjson.JSONException>"),
        ("no java.lang.NullPointerException", "no java.lang.NullPointerException"),
        ("java.lang.String", "java.lang.String"),
    ],
)
def test_exception_keeps_its_class_only(remark: str, wanted: str) -> None:
    assert without_stack(remark) == wanted


def test_disk_usage_is_removed() -> None:
    remark = "the broker's disk is full [CL:  0.30 CQ: -1.00 INDEX:  0.01], messages are put to"
    wanted = "the broker's disk is full [CL: <full> CQ: <full> INDEX: <full>], messages are put to"
    assert without_disk(remark) == wanted


def test_order_of_maps_and_hash_tables_is_removed() -> None:
    value = {"topicList": ["b", "a"], "a": [2, 1], 1: {"z": 0, "y": 0}}
    seen = without_order(value)
    assert seen == {"1": {"y": 0, "z": 0}, "a": [2, 1], "topicList": ["a", "b"]}
    assert isinstance(seen, dict)
    assert list(seen) == ["1", "a", "topicList"]


def test_counters_of_the_cluster_are_removed() -> None:
    own = {"dataVersion": {"counter": 5, "timestamp": NOW_MS}}
    chosen = [{"counter": 5, "timestamp": 1}]
    assert without_versions(own, NOW_MS) == {
        "dataVersion": {"counter": "<count>", "timestamp": NOW_MS}
    }
    assert without_versions(chosen, NOW_MS) == chosen


def test_json_body_names_its_dialect_and_is_sorted_after_addresses_are_named(
    normaliser: Normaliser,
) -> None:
    normaliser.names["127.0.0.1:9"] = "a"
    quoted = normaliser.body(b'{"topicList":["127.0.0.1:5","127.0.0.1:9"]}')
    assert quoted == [
        "body: JSON, every key quoted",
        "{",
        ' "topicList": [',
        '  "<a>",',
        '  "<client>"',
        " ]",
        "}",
    ]
    rates = normaliser.body(b'{"delayTime":77,"tps":0.15000750037501875}')
    assert rates[1:] == ["{", ' "delayTime": "<elapsed>",', ' "tps": 0.15', "}"]
    assert normaliser.body(b"{0:1}")[:1] == ["body: JSON, fastjson's own dialect"]


def test_bodies_of_other_kinds_are_described(normaliser: Normaliser) -> None:
    assert normaliser.body(b"") == []
    assert normaliser.body(b"a\n127.0.0.1:5") == ["body: a", "body: <client>"]
    assert normaliser.body(b"x" * 401) == ["body: 401 bytes of text"]
    assert normaliser.body(b"a\x00b") == ["body: 3 bytes that are no text"]
    assert normaliser.body(b"\xff\xfe") == ["body: 2 bytes that are no text"]


def test_messages_lose_their_place_in_the_log(normaliser: Normaliser) -> None:
    record = encode_record(
        "orders",
        b"body",
        "TAGS\x01t",
        queue_id=1,
        queue_offset=2,
        physical_offset=12345,
        born_host=("127.0.0.1", 5),
        store_host=("127.0.0.1", 10911),
        born_timestamp_ms=1,
        store_timestamp_ms=NOW_MS,
    )
    assert normaliser.records(record) == [
        "message orders queue 1 offset 2, <place 1 at broker-a>",
        "  body b'body' of 4 bytes, crc 1537739698",
        "  flag 0 sysFlag 0 reconsumed 0",
        "  prepared at 0, 107 bytes",
        "  born 1 at <client>",
        "  stored <now> at <broker-a>",
        "  TAGS: t",
    ]
