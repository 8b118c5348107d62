"""Transactions at a broker of 5.5.0: ends that it collects, and ends that come too late."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.popping import FIVE
from conformance.scenarios.transactions import end, send_half
from conformance.targets.java_jars import NEWEST
from conformance.wire.requests import COMMIT, ROLLBACK
from fakemq.protocol.topics import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC

NO_CHECKS = {"transactionCheckInterval": "600000", "transactionTimeOut": "1000"}
COLLECTED = NO_CHECKS | {"transactionOpMsgMaxSize": "6", "transactionOpBatchInterval": "2000"}
LOST = NO_CHECKS | {"transactionOpBatchInterval": "15000"}
"""Longer than a real broker needs to stop."""


@scenario("transaction: ends are collected", config=COLLECTED, real_s=8, releases=(NEWEST,))
def transaction_ops(run: Run) -> None:
    topic = run.topic("SOps")
    run.shared(TRANS_HALF_TOPIC)
    run.shared(TRANS_OP_HALF_TOPIC)
    halves = [send_half(run, topic, number) for number in range(6)]

    def finish(*numbers: int) -> None:
        for number in numbers:
            end(run, halves[number], number, ROLLBACK)

    def until_ops(count: int, since_ms: int, most_ms: int) -> None:
        run.wait_stored(TRANS_OP_HALF_TOPIC, count, most_ms)
        least_s = 2 if most_ms > 2_000 else 0
        run.note_late(f"op {count} was stored", since_ms, least_s, most_ms / 1000)

    run.note("the first one waits")
    began_ms = run.now_ms()
    finish(0)
    until_ops(1, began_ms, 4_000)
    run.note("one long after it does not")
    run.pass_time(2_500)
    began_ms = run.now_ms()
    finish(1)
    until_ops(2, began_ms, 1_000)
    run.note("four are too long for one op; the rest waits")
    began_ms = run.now_ms()
    finish(2, 3, 4, 5)
    until_ops(3, began_ms, 1_000)
    until_ops(4, began_ms, 4_000)
    run.pull(TRANS_OP_HALF_TOPIC)


@scenario(
    "transaction: what is collected ends with the broker", config=LOST, real_s=25, releases=FIVE
)
def transaction_ops_lost(run: Run) -> None:
    topic = run.topic("SOpsLost")
    run.shared(TRANS_HALF_TOPIC)
    run.shared(TRANS_OP_HALF_TOPIC)
    half = send_half(run, topic, 1)
    end(run, half, 1, COMMIT)
    run.until_stored("broker-a", topic, 1)
    run.stop("broker-a")
    run.start("broker-a")
    run.pass_time(3_000)
    stored = run.max_offset("broker-a", TRANS_OP_HALF_TOPIC) - run.offset(TRANS_OP_HALF_TOPIC, 0)
    run.note(f"ops: {stored}; messages: {run.max_offset('broker-a', topic)}")


@scenario("transaction: an end after the immunity time", config=NO_CHECKS, real_s=3, releases=FIVE)
def transaction_end_late(run: Run) -> None:
    topic = run.topic("SEndLate")
    run.shared(TRANS_HALF_TOPIC)
    first = send_half(run, topic, 1, CHECK_IMMUNITY_TIME_IN_SECONDS="2")
    second = send_half(run, topic, 2, CHECK_IMMUNITY_TIME_IN_SECONDS="nonsense")
    third = send_half(run, topic, 3)
    run.pass_time(1_300)
    end(run, first, 1, COMMIT)
    end(run, second, 2, COMMIT)
    end(run, third, 3, COMMIT)
    run.pass_time(1_000)
    run.note("another group, which is too late as well")
    end(run, first, 1, COMMIT, producerGroup="PStranger")
    end(run, first, 1, COMMIT)
    end(run, first, 1, ROLLBACK)
    run.note("unless the broker asked")
    end(run, first, 1, COMMIT, fromTransactionCheck=True)
    run.until_stored("broker-a", topic, 3)
    run.note(f"messages: {run.max_offset('broker-a', topic)}")
