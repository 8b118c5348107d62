"""Whatever brokers send a producer, nothing is raised and its own requests still end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.client.messages import LocalTransactionState, Message
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.send import ReplyMessageRequestHeader
from fakemq.protocol.headers.transaction import CheckTransactionStateRequestHeader
from fakemq.protocol.message import encode_record
from tests.support.producer_lab import ProducerLab
from tests.support.scripted_operation import A

NUMBERS = st.sampled_from(["", "0", "1", "-1", "9" * 30, "x", "2147483648"])
TEXTS = st.sampled_from(["", "a:b", "a:1", "[::1]:5", ":", "CORRELATION_ID\x01\x02", "\udce4"])
NAMES = sorted(
    {
        wire
        for header in (ReplyMessageRequestHeader, CheckTransactionStateRequestHeader)
        for wire, _, _ in header.field_specs()
    }
)
FIELDS = st.dictionaries(st.sampled_from(NAMES), NUMBERS | TEXTS)
RECORD = encode_record(
    "orders",
    b"body",
    "PGROUP\x01billing",
    queue_id=1,
    born_host=("127.0.0.1", 1),
    store_host=("127.0.0.1", 2),
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    data = bytearray(RECORD)
    for _ in range(draw(st.integers(0, 4))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))])


@given(
    code=st.sampled_from(
        [RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, RequestCode.CHECK_TRANSACTION_STATE]
    ),
    fields=FIELDS,
    body=bodies() | st.binary(max_size=50),
    flag=st.sampled_from([0, 2]),
)
def test_request_of_any_shape_is_survived(
    code: RequestCode, fields: dict[str, str], body: bytes, flag: int
) -> None:
    lab = ProducerLab()
    producer = lab.started(check=lambda message: LocalTransactionState.COMMIT_MESSAGE)
    results = lab.carrier.start(producer.request(Message("orders", "ping"), 100))
    lab.carrier.push(A, RemotingCommand(code, ext_fields=fields, body=body, flag=flag))
    for _, response in lab.carrier.received:
        assert response.is_response or response.is_oneway
    lab.carrier.advance(100)
    assert len(results) == 1
    assert len(lab.services.tasks) == 4, "only the loops run"
