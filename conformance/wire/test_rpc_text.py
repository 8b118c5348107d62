"""Messages of gRPC in transcripts say what counts, and nothing that differs from run to run."""

from __future__ import annotations

from conformance.normalise import Normaliser
from conformance.wire.rpc_messages import request, rpcs
from conformance.wire.rpc_text import lines_of, receipt_handle, status_text

NOW_MS = 1_800_000_000_000


def normaliser() -> Normaliser:
    return Normaliser({"127.0.0.1:8081": "proxy", "127.0.0.1:10911": "broker-a"}, NOW_MS)


def test_fields_are_named_by_their_paths() -> None:
    fields = {
        "topic": {"name": "orders", "resource_namespace": "space"},
        "endpoints": {"scheme": "IPv4", "addresses": [{"host": "10.0.0.1", "port": 8081}]},
    }
    assert lines_of(request(rpcs()["QueryRoute"], fields), normaliser()) == [
        "topic: space / orders",
        "endpoints: IPv4 10.0.0.1:<port of proxy>",
    ]


def test_values_that_are_set_are_shown_and_empty_ones_are_quoted() -> None:
    system = {"tag": "", "keys": ["a", "b"], "message_type": "FIFO", "queue_offset": 0}
    one = {"user_properties": {"b": "2", "a": " "}, "system_properties": system, "body": b"\0"}
    assert lines_of(request(rpcs()["SendMessage"], {"messages": [one]}), normaliser()) == [
        "messages[0].user_properties[a]: ' '",
        "messages[0].user_properties[b]: 2",
        "messages[0].system_properties.tag: ''",
        "messages[0].system_properties.keys: a, b",
        "messages[0].system_properties.message_type: FIFO (2)",
        "messages[0].system_properties.queue_offset: 0",
        "messages[0].body: b'\\x00'",
    ]


def test_receipt_handle_has_no_times_and_names_the_place_of_its_message() -> None:
    one = f"0 {NOW_MS} 30000 5 0 broker-a 2 7 4242"
    assert receipt_handle(one, normaliser()) == (
        "0 <now> 30000 <revive queue> 0 broker-a 2 7 <place 1 at broker-a>"
    )
    ordered = f"0 {NOW_MS} 31234 999 0 broker-a 2 7 4242"
    assert receipt_handle(ordered, normaliser()) == (
        "0 <now> <since its pop> 999 0 broker-a 2 7 <place 1 at broker-a>"
    )
    assert receipt_handle("1 2 3", normaliser()) == "1 2 3"
    assert receipt_handle("1 1 1 1 1 1 1 1 1", normaliser()) == "1 1 1 1 1 1 1 1 1"


def test_status_has_no_line_of_code() -> None:
    text = "no. NullPointerException. org.apache.rocketmq.proxy.Any.any(Any.java:12)"
    assert status_text(text, normaliser()) == "no. NullPointerException. <where>"
