"""Sending in transactions: what goes out, and both faces against the cluster."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest

import fakemq
from fakemq.client import AsyncClient, Client, LocalTransactionState, Message, SendStatus
from fakemq.client.errors import RemotingConnectError
from fakemq.client.instance import ClientInstance
from fakemq.client.transaction_operations import TransactionOperations
from fakemq.events import (
    HalfStored,
    Scheduled,
    TransactionChecked,
    TransactionDiscarded,
    TransactionEnded,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from fakemq.protocol.headers.send import SendMessageRequestHeaderV2
from fakemq.protocol.headers.transaction import (
    CheckTransactionStateRequestHeader,
    EndTransactionRequestHeader,
)
from fakemq.protocol.message import MessageExt, encode_record
from fakemq.protocol.properties import decode_properties
from tests.support.scripted_operation import (
    A,
    ScriptedOperation,
    answer,
    client,
    performing,
    queue,
)

COMMIT = LocalTransactionState.COMMIT_MESSAGE
ROLLBACK = LocalTransactionState.ROLLBACK_MESSAGE
UNKNOW = LocalTransactionState.UNKNOW
GROUP = "accounts"
NO_ROUTE = answer(17)


def half_sent(code: int = 0) -> RemotingCommand:
    """A broker's answer to a half message: the fifth, 4096 bytes into the log."""
    msg_id = "7F00000100002A9F0000000000001000"
    return answer(code, msgId=msg_id, queueId=1, queueOffset=5)


# -- what goes out --------------------------------------------------------------------------------


@pytest.mark.parametrize("state", LocalTransactionState)
def test_half_message_is_sent_and_ended(state: LocalTransactionState) -> None:
    producer = TransactionOperations(client("a"), GROUP)
    message = Message("orders", "body", properties={"DELAY": "3"})
    executed: list[Message] = []

    def execute(one: Message) -> LocalTransactionState:
        executed.append(one)
        return state

    play = ScriptedOperation(
        performing(producer.send_in_transaction(message, execute, queue=queue()))
    )
    assert executed == []
    play.answer(half_sent())
    assert executed == [message]
    half, end = (call.command for call in play.calls)
    header = SendMessageRequestHeaderV2.decode(half.ext_fields)
    assert (header.producer_group, header.sys_flag) == (GROUP, 4)
    properties = decode_properties(header.properties or "")
    assert (properties["TRAN_MSG"], properties["PGROUP"]) == ("true", GROUP)
    assert "DELAY" not in properties
    assert (end.code, end.is_oneway, play.addrs[1]) == (RequestCode.END_TRANSACTION, True, A)
    assert EndTransactionRequestHeader.decode(end.ext_fields) == EndTransactionRequestHeader(
        producer_group=GROUP,
        tran_state_table_offset=5,
        commit_log_offset=4096,
        commit_or_rollback=state.value,
        from_transaction_check=False,
        msg_id=message.unique_id,
        bname="a",
    )
    play.answer(None)
    assert (play.result.state, play.result.sent.queue_offset) == (state, 5)


@pytest.mark.parametrize("code", [10, 11, 12])
def test_uncertain_half_message_is_rolled_back_without_local_work(code: int) -> None:
    def execute(message: Message) -> LocalTransactionState:
        raise AssertionError("this is never called")

    producer = TransactionOperations(client("a"), GROUP)
    play = ScriptedOperation(
        performing(producer.send_in_transaction(Message("orders", "x"), execute, queue=queue()))
    )
    play.answer(half_sent(code))
    play.answer(None)
    assert play.result.state is ROLLBACK
    assert play.result.sent.status is not SendStatus.SEND_OK


def test_failed_work_leaves_the_decision_to_the_checks() -> None:
    def execute(message: Message) -> LocalTransactionState:
        raise OSError("no disk")

    producer = TransactionOperations(client("a"), GROUP)
    play = ScriptedOperation(
        performing(producer.send_in_transaction(Message("orders", "x"), execute, queue=queue()))
    )
    play.answer(half_sent())
    end = play.calls[1].command
    assert end.ext_fields["commitOrRollback"] == "0"
    assert end.remark == "executeLocalTransactionBranch exception: OSError('no disk')"
    with pytest.raises(OSError, match="no disk"):
        play.answer(None)


def test_work_without_a_result_leaves_the_decision_to_the_checks() -> None:
    producer = TransactionOperations(client("a"), GROUP)
    send = producer.send_in_transaction(Message("orders", "x"), lambda message: None)
    play = ScriptedOperation(performing(send), half_sent(), None)
    assert play.calls[1].command.ext_fields["commitOrRollback"] == "0"
    assert play.result.state is UNKNOW


def test_invalid_result_is_raised_to_the_caller() -> None:
    producer = TransactionOperations(client("a"), GROUP)
    send = producer.send_in_transaction(Message("orders", "x"), lambda message: True)  # type: ignore[arg-type, return-value]
    play = ScriptedOperation(performing(send), half_sent())
    assert play.calls[1].command.ext_fields["commitOrRollback"] == "0"
    with pytest.raises(TypeError, match="returned True: expected a LocalTransactionState"):
        play.answer(None)


def test_unreachable_broker_will_check_later() -> None:
    producer = TransactionOperations(client("a"), GROUP)
    send = producer.send_in_transaction(Message("orders", "x"), lambda message: COMMIT)
    play = ScriptedOperation(performing(send), half_sent(), RemotingConnectError(A))
    assert play.result.state is COMMIT


# -- what is asked --------------------------------------------------------------------------------


def check_request(
    group: str = GROUP, *, body: bytes = b"body", sys_flag: int = 0
) -> RemotingCommand:
    """What a broker asks about a half message at offset 9, 77 bytes into the log."""
    header = CheckTransactionStateRequestHeader(
        tran_state_table_offset=9, commit_log_offset=77, msg_id="U", transaction_id="U"
    )
    record = encode_record(
        "orders",
        body,
        f"UNIQ_KEY\x01U\x02PGROUP\x01{group}",
        queue_id=1,
        born_host=("127.0.0.1", 1),
        store_host=("127.0.0.1", 2),
        sys_flag=sys_flag,
    )
    return RemotingCommand(
        RequestCode.CHECK_TRANSACTION_STATE,
        ext_fields=header.encode(),
        body=record,
        flag=FLAG_ONEWAY,
    )


def answered(instance: ClientInstance, request: RemotingCommand) -> RemotingCommand | None:
    """What the client sends for a request of broker a, its functions called at once."""
    handler = instance.task_handlers[RequestCode.CHECK_TRANSACTION_STATE]
    return ScriptedOperation(performing(handler(A, request))).result


def test_check_is_answered_by_a_request() -> None:
    instance = client("a")
    seen: list[MessageExt] = []

    def check(message: MessageExt) -> LocalTransactionState:
        seen.append(message)
        return ROLLBACK

    play = ScriptedOperation(
        TransactionOperations(instance, GROUP).listen_for_checks(check), NO_ROUTE, answer()
    )
    assert play.codes == [RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.HEART_BEAT]
    assert play.over
    assert list(instance.producer_groups) == [GROUP]
    command = answered(instance, check_request())
    assert command is not None
    assert (seen[0].topic, seen[0].queue_id, seen[0].body) == ("orders", 1, b"body")
    assert (command.code, command.is_oneway) == (RequestCode.END_TRANSACTION, True)
    assert command.ext_fields == {
        "producerGroup": GROUP,
        "tranStateTableOffset": "9",
        "commitLogOffset": "77",
        "commitOrRollback": "12",
        "fromTransactionCheck": "true",
        "msgId": "U",
        "transactionId": "U",
    }


def test_unanswerable_checks_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    instance = client("a")

    def check(message: MessageExt) -> LocalTransactionState:
        raise KeyError("account")

    ScriptedOperation(
        TransactionOperations(instance, GROUP).listen_for_checks(check), NO_ROUTE, answer()
    )
    assert answered(instance, check_request("others")) is None
    assert answered(instance, check_request(body=b"no zlib", sys_flag=1)) is None
    command = answered(instance, check_request())
    assert command is not None
    assert command.ext_fields["commitOrRollback"] == "0"
    assert command.remark == "checkLocalTransactionState Exception: KeyError('account')"
    assert "the check of <message orders:1" in caplog.text


@pytest.mark.parametrize(
    ("said", "remark"),
    [
        (None, None),
        (
            "commit",
            "TypeError(\"the function returned 'commit': expected a LocalTransactionState\")",
        ),
    ],
)
def test_check_with_an_invalid_result_is_unknown(said: object, remark: str | None) -> None:
    instance = client("a")
    listen = TransactionOperations(instance, GROUP).listen_for_checks(lambda message: said)  # type: ignore[arg-type, return-value]
    ScriptedOperation(listen, NO_ROUTE, answer())
    command = answered(instance, check_request())
    assert command is not None
    assert command.ext_fields["commitOrRollback"] == "0"
    assert command.remark == (remark and f"checkLocalTransactionState Exception: {remark}")


def test_check_without_its_fields_is_not_answered() -> None:
    instance = client("a")
    ScriptedOperation(
        TransactionOperations(instance, GROUP).listen_for_checks(lambda message: COMMIT),
        NO_ROUTE,
        answer(),
    )
    request = check_request()
    request.ext_fields["commitLogOffset"] = "far"
    assert answered(instance, request) is None


# -- both faces -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(topics={"orders": 1}, clock="frozen") as mq:
        yield mq


@pytest.fixture
def mq(running: fakemq.Cluster) -> fakemq.Cluster:
    running.reset()
    return running


def test_blocking_program_commits_and_is_checked(mq: fakemq.Cluster) -> None:
    with Client(mq.namesrv_addr, producer_group=GROUP) as one:
        one.send_in_transaction(Message("orders", "committed"), lambda message: COMMIT)
        one.send_in_transaction(Message("orders", "gone"), lambda message: ROLLBACK)
        mq.wait_for(lambda: len(mq.journal.find(TransactionEnded)) == 2)
        assert [message.body for message in mq.messages("orders")] == [b"committed"]
        one.send_in_transaction(Message("orders", "asked for"), lambda message: UNKNOW)
        one.listen_for_checks(lambda message: COMMIT)
        mq.clock.advance_to_next("txn_check")
        one.poll(timeout_ms=5_000)
        mq.wait_for(lambda: len(mq.messages("orders")) == 2)
    (ended,) = mq.journal.find(TransactionEnded, from_check=True)
    assert ended.how == "commit"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_asynchronous_program_is_checked_meanwhile(mq: fakemq.Cluster) -> None:
    async with AsyncClient(mq.namesrv_addr, producer_group=GROUP) as one:
        sent = await one.send_half(Message("orders", "asked for"))
        await one.end_transaction(sent, UNKNOW)
        await one.listen_for_checks(lambda message: COMMIT)
        with anyio.fail_after(5):
            await anyio.to_thread.run_sync(lambda: mq.clock.advance_to_next("txn_check"))
            await anyio.to_thread.run_sync(
                lambda: mq.wait_for(lambda: len(mq.messages("orders")) == 1)
            )


def test_blocking_program_without_a_result_is_checked_again(mq: fakemq.Cluster) -> None:
    answers = [None, COMMIT]
    with Client(mq.namesrv_addr, producer_group=GROUP) as one:
        result = one.send_in_transaction(Message("orders", "x"), lambda message: None)
        assert result.state is UNKNOW
        one.listen_for_checks(lambda message: answers.pop(0))
        for times in (1, 2):
            mq.clock.advance_to_next("txn_check")
            mq.wait_for(lambda n=times: mq.journal.find(TransactionChecked, times=n))  # type: ignore[misc]
            one.poll(timeout_ms=5_000)
        mq.wait_for(lambda: mq.messages("orders"))


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_asynchronous_program_with_an_invalid_result_is_checked_again(
    mq: fakemq.Cluster,
) -> None:
    answers = [None, "commit", COMMIT]
    async with AsyncClient(mq.namesrv_addr, producer_group=GROUP) as one:
        with pytest.raises(TypeError, match="returned 7: expected"):
            await one.send_in_transaction(Message("orders", "x"), lambda message: 7)  # type: ignore[arg-type, return-value]
        await one.listen_for_checks(lambda message: answers.pop(0))  # type: ignore[arg-type, return-value]
        with anyio.fail_after(5):
            for left in (2, 1, 0):
                await anyio.to_thread.run_sync(lambda: mq.clock.advance_to_next("txn_check"))
                while len(answers) > left:
                    await anyio.sleep(0.001)
            await anyio.to_thread.run_sync(lambda: mq.wait_for(lambda: mq.messages("orders")))


def test_reset_leaves_no_half_message(mq: fakemq.Cluster) -> None:
    kinds = [timer.kind for timer in mq.clock.timers()]
    with Client(mq.namesrv_addr, producer_group=GROUP) as one:
        for _ in range(2):
            one.send_in_transaction(Message("orders", "asked for"), lambda message: UNKNOW)
            one.listen_for_checks(lambda message: COMMIT)
            one.send(Message("orders", "late", properties={"DELAY": "18"}))
            assert len(mq.delayed()) == 1
            mq.clock.advance_to_next("txn_check")
            one.poll(timeout_ms=5_000)
            mq.wait_for(lambda: mq.messages("orders"))
            assert [message.body for message in mq.messages("orders")] == [b"asked for"]
            mq.reset()
            assert (mq.delayed(), mq.messages("orders")) == ([], [])
            for kind in (TransactionChecked, Scheduled, HalfStored):
                assert mq.journal.find(kind) == []
            names = [timer.kind for timer in mq.clock.timers() if not timer.outside]
            assert sorted(names) == sorted(kinds)
            (check,) = (timer for timer in mq.clock.timers() if timer.kind == "txn_check")
            assert check.due_in_ms == 60_000


def test_outside_producer_answers_check_by_check(mq: fakemq.Cluster) -> None:
    answers = [UNKNOW, UNKNOW, COMMIT]
    with Client(mq.namesrv_addr, producer_group=GROUP) as one:
        one.send_in_transaction(Message("orders", "x"), lambda message: UNKNOW)
        one.listen_for_checks(lambda message: answers.pop(0))
        for number in range(1, 4):
            mq.clock.advance_to_next("txn_check")
            mq.wait_for(lambda n=number: mq.journal.find(TransactionChecked, times=n))  # type: ignore[misc]
            one.poll(timeout_ms=5_000)
        mq.wait_for(lambda: mq.journal.find(TransactionEnded))
        assert mq.clock.advance_to_next("txn_check")
    assert len(mq.journal.find(TransactionChecked)) == 3
    assert len(mq.messages("orders")) == 1


def test_plain_advance_can_use_up_all_checks(mq: fakemq.Cluster) -> None:
    with Client(mq.namesrv_addr, producer_group=GROUP) as one:
        one.send_in_transaction(Message("orders", "x"), lambda message: UNKNOW)
        one.listen_for_checks(lambda message: COMMIT)
        mq.clock.advance("16m")
        assert len(mq.journal.find(TransactionChecked)) == 15
        assert len(mq.journal.find(TransactionDiscarded)) == 1
        while len(mq.messages("orders")) < 15:  # one way: no answer says that it arrived
            one.poll(timeout_ms=50)


def test_producer_that_never_sent_is_asked_too(running: fakemq.Cluster) -> None:
    mq = running
    mq.reset()
    with (
        Client(mq.namesrv_addr, producer_group=GROUP, client_id="sends") as one,
        Client(mq.namesrv_addr, producer_group=GROUP, client_id="listens") as other,
    ):
        one.send_in_transaction(Message("orders", "left open"), lambda message: UNKNOW)
        one.close()
        other.listen_for_checks(lambda message: COMMIT)
        mq.clock.advance_to_next("txn_check")
        other.poll(timeout_ms=5_000)
        mq.wait_for(lambda: [message.body for message in mq.messages("orders")] == [b"left open"])
