"""A producer's transactions: the local part is a function of the user, and brokers may ask."""

from __future__ import annotations

import pytest

from fakemq.client.errors import MQBrokerError
from fakemq.client.messages import LocalTransactionState, Message
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from fakemq.protocol.headers.transaction import CheckTransactionStateRequestHeader
from fakemq.protocol.message import MessageExt, encode_record
from tests.support.producer_lab import ProducerLab, order
from tests.support.scripted_operation import A, answer
from tests.support.time import START_MS

COMMIT = LocalTransactionState.COMMIT_MESSAGE
ROLLBACK = LocalTransactionState.ROLLBACK_MESSAGE
UNKNOW = LocalTransactionState.UNKNOW


def half_stored(lab: ProducerLab, code: int = 0, **fields: object) -> None:
    """Let brokers answer as for the half message that is 4096 bytes into the log."""
    fields = {"msgId": "0A00000200002A9F0000000000001000", "queueId": 1, "queueOffset": 5, **fields}
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: answer(code, **fields)  # type: ignore[arg-type]  # ext fields


def ends(lab: ProducerLab) -> list[RemotingCommand]:
    return [
        one.command for one in lab.carrier.calls if one.command.code == RequestCode.END_TRANSACTION
    ]


@pytest.mark.parametrize("state", [COMMIT, ROLLBACK, UNKNOW, None])
def test_local_transaction_decides(state: LocalTransactionState | None) -> None:
    lab = ProducerLab()
    half_stored(lab, transactionId="T")
    producer = lab.started(send_timeout_ms=77)
    executed: list[Message] = []

    def execute(message: Message) -> LocalTransactionState | None:
        executed.append(message)
        return state

    message = order(delay_level=3)
    lab.carrier.performs_at_once = False
    results = lab.carrier.start(producer.send_in_transaction(message, execute))
    ((_, header, _),) = lab.sends()
    properties = lab.last_properties()
    assert header.sys_flag == 4
    assert (properties["TRAN_MSG"], properties["PGROUP"]) == ("true", "billing")
    assert "DELAY" not in properties
    assert (executed, results, ends(lab)) == ([], [], [])
    lab.carrier.perform_next()
    assert executed == [message]
    assert message.properties["__transactionId__"] == "T"
    result = results[0][0]
    assert result is not None
    assert (result.state, result.sent.queue_offset) == (state or UNKNOW, 5)
    (end,) = ends(lab)
    assert end.is_oneway
    assert end.ext_fields == {
        "bname": "a",
        "producerGroup": "billing",
        "tranStateTableOffset": "5",
        "commitLogOffset": "4096",
        "commitOrRollback": str(int((state or UNKNOW).value)),
        "fromTransactionCheck": "false",
        "msgId": message.unique_id,
        "transactionId": "T",
    }
    assert lab.carrier.calls[-1].timeout_ms == 77


def test_error_of_the_local_transaction_is_raised_after_the_broker_got_unknow() -> None:
    lab = ProducerLab()
    half_stored(lab)

    def execute(message: Message) -> LocalTransactionState:
        raise KeyError("account")

    with pytest.raises(KeyError, match="account"):
        lab.carrier.run(lab.started().send_in_transaction(order(), execute))
    (end,) = ends(lab)
    assert end.ext_fields["commitOrRollback"] == "0"
    assert end.remark == "executeLocalTransactionBranch exception: KeyError('account')"


def test_half_message_that_is_not_stored_well_is_rolled_back() -> None:
    lab = ProducerLab()
    half_stored(lab, ResponseCode.FLUSH_SLAVE_TIMEOUT)
    called: list[Message] = []
    result = lab.carrier.run(lab.started().send_in_transaction(order(), called.append))
    assert (result.state, called) == (ROLLBACK, [])
    assert ends(lab)[0].ext_fields["commitOrRollback"] == "12"


def test_refused_half_message_has_no_transaction() -> None:
    lab = ProducerLab()
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: answer(ResponseCode.MESSAGE_ILLEGAL)
    with pytest.raises(MQBrokerError):
        lab.carrier.run(lab.started().send_in_transaction(order(), lambda message: COMMIT))
    assert ends(lab) == []


# -- checks ---------------------------------------------------------------------------------------


def check_request(group: str = "billing", topic: str = "orders") -> RemotingCommand:
    header = CheckTransactionStateRequestHeader(
        tran_state_table_offset=9, commit_log_offset=77, transaction_id="U"
    )
    record = encode_record(
        topic,
        b"body",
        f"UNIQ_KEY\x01U\x02PGROUP\x01{group}\x02MSG_REGION\x01r",
        queue_id=1,
        born_host=("127.0.0.1", 1),
        store_host=("127.0.0.1", 2),
        queue_offset=9,
        physical_offset=77,
    )
    return RemotingCommand(
        RequestCode.CHECK_TRANSACTION_STATE,
        ext_fields=header.encode(),
        body=record,
        flag=FLAG_ONEWAY,
    )


def test_check_is_answered_when_the_function_has_returned() -> None:
    lab = ProducerLab()
    seen: list[MessageExt] = []

    def check(message: MessageExt) -> LocalTransactionState:
        seen.append(message)
        return COMMIT

    lab.started(check=check)
    lab.carrier.performs_at_once = False
    lab.carrier.push(A, check_request())
    assert lab.carrier.received == []
    lab.carrier.perform_next()
    ((addr, end),) = lab.carrier.received
    assert (addr, end.code, end.is_oneway) == (A, RequestCode.END_TRANSACTION, True)
    assert end.ext_fields["commitOrRollback"] == "8"
    assert end.ext_fields["fromTransactionCheck"] == "true"
    assert (seen[0].topic, seen[0].body) == ("orders", b"body")


def test_error_of_a_check_is_unknow_with_its_reason() -> None:
    lab = ProducerLab()

    def check(message: MessageExt) -> LocalTransactionState:
        raise KeyError("account")

    lab.started(check=check)
    lab.carrier.push(A, check_request())
    ((_, end),) = lab.carrier.received
    assert end.ext_fields["commitOrRollback"] == "0"
    assert end.remark == "checkLocalTransactionState Exception: KeyError('account')"


def test_each_group_has_its_own_check() -> None:
    lab = ProducerLab()
    lab.started("one", check=lambda message: COMMIT)
    other = lab.started("two", check=lambda message: ROLLBACK)
    lab.started("three")
    for group in ("one", "two", "three", "four"):
        lab.carrier.push(A, check_request(group))
    states = [end.ext_fields["commitOrRollback"] for _, end in lab.carrier.received]
    assert states == ["8", "12"]
    lab.carrier.run(other.shutdown())
    lab.carrier.push(A, check_request("two"))
    assert len(lab.carrier.received) == 2


def test_check_in_a_namespace_sees_the_plain_topic() -> None:
    lab = ProducerLab()
    seen: list[str] = []
    lab.started(namespace="ns", check=lambda message: seen.append(message.topic))
    lab.carrier.push(A, check_request("ns%billing", "ns%orders"))
    assert seen == ["orders"]
    assert lab.carrier.received[0].answer.ext_fields["producerGroup"] == "ns%billing"


def test_checks_under_way_are_limited(caplog: pytest.LogCaptureFixture) -> None:
    lab = ProducerLab()
    lab.started(check=lambda message: COMMIT, check_request_hold_max=2)
    lab.carrier.performs_at_once = False
    for _ in range(3):
        lab.carrier.push(A, check_request())
    assert len(lab.carrier.performing) == 2
    assert "a check of a:10911 is dropped: 2 are under way" in caplog.text
    lab.carrier.perform_next()
    lab.carrier.push(A, check_request())
    assert len(lab.carrier.performing) == 2


def test_damaged_check_is_not_answered() -> None:
    lab = ProducerLab()
    lab.started(check=lambda message: COMMIT)
    request = check_request()
    request.body = request.body[:20]
    lab.carrier.push(A, request)
    assert lab.carrier.received == []
    assert len(lab.services.tasks) == 4, "only the loops run"


def test_checked_end_is_traced() -> None:
    lab = ProducerLab(topics=("orders", "RMQ_SYS_TRACE_TOPIC"))
    lab.started(check=lambda message: COMMIT, trace=True)
    lab.carrier.push(A, check_request())
    lab.carrier.advance(500)
    ((_, _, body),) = lab.sends()
    assert body.decode() == (
        f"EndTransaction\x01{START_MS}\x01r\x01billing\x01orders\x01U\x01null\x01null\x01{A}"
        "\x012\x01U\x01COMMIT_MESSAGE\x01true\x02"
    )
