"""Receipt handles are made of the answer to a pop as a client makes them."""

from __future__ import annotations

from conformance.wire.pops import Handle, batch_ack, bit_set, handles, pop_fields
from conformance.wire.releases import RELEASES
from fakemq.protocol.message import encode_record

FIELDS = {
    "popTime": "1700000000000",
    "invisibleTime": "60000",
    "reviveQid": "3",
    "startOffsetInfo": "0 1 5",
}


def record(offset: int, properties: str = "") -> bytes:
    host = ("127.0.0.1", 10911)
    return encode_record(
        *("orders", b"x", properties),
        queue_id=1,
        queue_offset=offset,
        born_host=host,
        store_host=host,
    )


def test_handle_is_made_of_the_answer() -> None:
    first, second = handles(FIELDS, record(5) + record(6))
    assert first.text == "5 1700000000000 60000 3 0 broker-a 1 5"
    assert second.text == "5 1700000000000 60000 3 0 broker-a 1 6"
    assert second.fields("orders", consumerGroup="G", offset=9) == {
        "consumerGroup": "G",
        "topic": "orders",
        "queueId": 1,
        "extraInfo": second.text,
        "offset": 9,
    }


def test_handle_of_a_retry_is_a_property_of_the_message() -> None:
    own = "0 1700000000001 30000 2 1 broker-a 0 4"
    (found,) = handles({**FIELDS, "startOffsetInfo": "1 0 0"}, record(4, f"POP_CK\x01{own}\x02"))
    assert found == Handle(0, 1_700_000_000_001, 30_000, 2, "1", "broker-a", 0, 4)


def test_handle_after_a_change_begins_at_its_own_message() -> None:
    first = Handle(5, 1, 2, 3, "0", "broker-a", 1, 6)
    changed = first.changed({"popTime": "9", "invisibleTime": "8", "reviveQid": "3"})
    assert changed.text == "6 9 8 3 0 broker-a 1 6"


def test_acks_of_one_pop_are_bits_from_its_first_offset() -> None:
    some = [Handle(5, 1, 2, 3, "0", "broker-a", 1, offset) for offset in (5, 8)]
    body = batch_ack("orders", some, "G")
    assert body["brokerName"] == "broker-a"
    acks = body["acks"]
    assert isinstance(acks, list)
    (ack,) = acks
    assert (ack["b"], ack["so"]) == (bit_set(0b1001), 5)
    assert bit_set(0b1001) == "CQ=="
    assert pop_fields("orders", order=True)["order"] is True


def test_codes_are_called_by_the_names_of_a_release() -> None:
    old, new = RELEASES["4.9.7"], RELEASES["5.5.0"]
    assert (old.response_text(210), new.response_text(210)) == (
        "DELETE_ACL_CONFIG_FAILED (210)",
        "POLLING_TIMEOUT (210)",
    )
    assert new.response_text(17) == "TOPIC_NOT_EXIST (17)"
    assert new.response_text(4_711) == "code 4711"
    assert old.request_name(200_050) == new.request_name(200_050) == "POP_MESSAGE"
    assert new.request_name(11) == "PULL_MESSAGE"
    assert new.request_name(4_711) == "code 4711"
