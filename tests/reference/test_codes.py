"""Every request code that 5.5.0 names: answered, out of scope, or a code that no node answers.

The judge is a recording of a real name server and broker: ``v5_codes`` in `conformance/`.
"""

from __future__ import annotations

import re
from pathlib import Path

from fakemq.broker.broker import broker_class
from fakemq.namesrv.namesrv import name_server_class
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.coverage_page import ASKED_OF_CLIENTS

RECORDING = Path(__file__).parents[2] / "conformance/recordings/5.5.0/v5_codes.txt"
NAMED = {int(code) for code in (*RequestCode, *RequestCode5)}
NEVER_WRITTEN = {
    *(RequestCode.QUERY_BROKER_OFFSET, RequestCode.GET_TOPIC_CONFIG_LIST),
    *(RequestCode.GET_TOPIC_NAME_LIST, RequestCode.TRIGGER_DELETE_FILES),
    *(RequestCode.SUSPEND_CONSUMER, RequestCode.RESUME_CONSUMER),
    *(RequestCode.RESET_CONSUMER_OFFSET_IN_CONSUMER, RequestCode.RESET_CONSUMER_OFFSET_IN_BROKER),
    *(RequestCode.ADJUST_CONSUMER_THREAD_POOL, RequestCode.WHO_CONSUME_THE_MESSAGE),
    *(RequestCode.REGISTER_FILTER_SERVER, RequestCode.REGISTER_MESSAGE_FILTER_CLASS),
    *(RequestCode5.GET_CLIENT_CONFIG, RequestCode5.ACK_LITE_MESSAGE),
}
"""Codes with a name in Java, which no processor answers."""


def known(place: str) -> set[int]:
    """Return the named codes that a real node of 5.5.0 does not call unsupported."""
    text = RECORDING.read_text(encoding="utf-8")
    refused = re.findall(rf"^{place}  \w+ \((\d+)\): not supported$", text, re.MULTILINE)
    return NAMED - {int(code) for code in refused}


def test_nodes_answer_the_codes_that_real_nodes_answer() -> None:
    left_out = set(REFERENCE.out_of_scope)
    known_by = {
        "broker-a": broker_class(REFERENCE).handlers,
        "namesrv": name_server_class(REFERENCE).handlers,
    }
    for place, handlers in known_by.items():
        answered = set(handlers.load()) & NAMED - REFERENCE.gone_codes
        assert answered == known(place) - left_out, place


def test_codes_that_no_real_node_answers_have_a_reason() -> None:
    unanswered = NAMED - known("broker-a") - known("namesrv") - set(REFERENCE.out_of_scope)
    assert unanswered == ASKED_OF_CLIENTS | NEVER_WRITTEN | REFERENCE.gone_codes


def test_codes_out_of_scope_are_named_with_their_feature() -> None:
    assert set(REFERENCE.out_of_scope) <= NAMED
    assert all(REFERENCE.out_of_scope.values())
