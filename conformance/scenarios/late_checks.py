"""Transactions as late as brokers are by default: asked about from 6 s on, every 60 s."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.transactions import (
    LONG_CHECKED_MS,
    QUICK_CHECKS,
    answer_check,
    beat,
    end,
    send_half,
)
from conformance.wire.peer import NO_CODE, Frame
from conformance.wire.requests import COMMIT, ROLLBACK
from fakemq.protocol.topics import TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC

GRID_MS = 20_000
"""How often a producer speaks that is to be alive."""
STEP_MS = 1_000
CHECKS = 15


def asked(run: Run, name: str, since_ms: int, least_s: float = 6, most_s: float = 68) -> Frame:
    """Wait for a check of a producer that beat just now, and write down how late it is."""
    check = run.take_request(name, "broker-a", LONG_CHECKED_MS, STEP_MS)
    run.note_late("asked", since_ms, least_s, most_s)
    return check


@scenario(
    "transaction: asked about when a producer is there at last, and rolled back",
    real_s=185,
    family="transaction",
)
def check_waits_for_producer(run: Run) -> None:
    topic, group = run.topic("SNobody"), "PNobody"
    run.shared(TRANS_HALF_TOPIC)
    send_half(run, topic, 1, group=group)
    run.note("no producer is there: the broker counts it nevertheless")
    run.wait_stored(TRANS_HALF_TOPIC, 2, LONG_CHECKED_MS, step_ms=STEP_MS)
    beat(run, "producer", group)
    check = asked(run, "producer", run.now_ms(), 55, 62)
    answer_check(run, check, ROLLBACK, "producer", group)
    run.note("asked no more, and seen by no consumer")
    run.pass_time(65_000)
    run.nothing_comes("producer")
    run.pull(topic)


@scenario(
    "transaction: a producer dies of the question, another is asked a minute later",
    real_s=120,
    family="transaction",
)
def check_taken_over(run: Run) -> None:
    topic, group = run.topic("STakenOverLate"), "PTakenOverLate"
    run.shared(TRANS_HALF_TOPIC)
    beat(run, "first", group)
    send_half(run, topic, 1, group=group)
    asked(run, "first", run.now_ms())
    began_ms = run.now_ms()
    run.hang_up("first", "broker-a")
    run.pass_time(GRID_MS)
    beat(run, "second", group)
    check = asked(run, "second", began_ms, 58, 62)
    run.note("no consumer sees it before its end")
    run.pull(topic, peer="before")
    answer_check(run, check, COMMIT, "second", group)
    run.wait_stored(topic, 1, 1_000)
    run.pull(topic, peer="after")


@scenario(
    "transaction: asked fifteen times in a quarter of an hour, and put away then",
    quick=QUICK_CHECKS,
    real_s=960,
    family="transaction",
)
def check_in_vain(run: Run) -> None:
    topic, group = run.topic("SInVainLate"), "PInVainLate"
    run.shared(TRANS_HALF_TOPIC)
    run.shared(TRANS_CHECK_MAX_TIME_TOPIC)
    interval_ms = int(run.config.get("transactionCheckInterval", "60000"))
    send_half(run, topic, 1, group=group)
    step_ms = interval_ms // 10
    for _ in range(CHECKS):
        beat(run, "producer", group)
        check = run.take_request("producer", "broker-a", LONG_CHECKED_MS, step_ms)
    run.wait_stored(TRANS_CHECK_MAX_TIME_TOPIC, 1, LONG_CHECKED_MS, step_ms=step_ms)
    run.pull(TRANS_CHECK_MAX_TIME_TOPIC)
    run.nothing_comes("producer")
    run.note("late, it can be committed nevertheless")
    answer_check(run, check, COMMIT, "producer", group)
    run.wait_stored(topic, 1, 1_000)
    run.pull(topic)


@scenario(
    "transaction: a half message that wants 90 s before anybody asks",
    real_s=120,
    family="transaction",
)
def check_with_immunity(run: Run) -> None:
    topic, group = run.topic("SImmuneLate"), "PImmuneLate"
    run.shared(TRANS_HALF_TOPIC)
    beat(run, "producer", group)
    began_ms = run.now_ms()
    send_half(run, topic, 1, group=group, CHECK_IMMUNITY_TIME_IN_SECONDS="90")
    run.pass_time(80_000)
    run.note("until then it is put back at each run")
    run.nothing_comes("producer")
    beat(run, "producer", group)
    check = asked(run, "producer", began_ms, 90, 152)
    answer_check(run, check, COMMIT, "producer", group)
    run.wait_stored(topic, 1, 1_000)
    run.pull(topic)


@scenario(
    "transaction: the broker is killed between a half message and its end",
    real_s=65,
    family="transaction",
)
def check_over_kill(run: Run) -> None:
    topic, group = run.topic("SKilledHalf"), "PKilledHalf"
    run.shared(TRANS_HALF_TOPIC)
    ended = send_half(run, topic, 1, group=group)
    send_half(run, topic, 2, group=group)
    end(run, ended, 1, COMMIT, producerGroup=group)
    run.until_stored("broker-a", topic, 1)
    run.kill("broker-a")
    run.start("broker-a")
    run.note("it asks about the open one only, 60 s after its start")
    beat(run, "producer", group)
    check = asked(run, "producer", run.now_ms(), 50, 62)
    run.pass_time(2_000)
    run.nothing_comes("producer")
    answer_check(run, check, COMMIT, "producer", group)
    run.wait_stored(topic, 2, 1_000)
    run.pull(topic, peer="after")


@scenario(
    "transaction: a producer that forgets its heartbeats is asked nothing",
    real_s=180,
    family="transaction",
)
def check_of_the_forgetful(run: Run) -> None:
    topic, group = run.topic("SForgetful"), "PForgetful"
    run.shared(TRANS_HALF_TOPIC)
    beat(run, "forgetful", group)
    for _ in range(5):
        run.pass_time(GRID_MS)
        run.peer("forgetful", "broker-a").quietly(NO_CODE)
    run.pass_time(35_000)
    run.note("after 135 s without a heartbeat")
    run.note(f"the forgetful one is closed: {run.peer('forgetful', 'broker-a').is_closed()}")
    beat(run, "mindful", group)
    began_ms = run.now_ms()
    send_half(run, topic, 1, group=group)
    check = asked(run, "mindful", began_ms)
    answer_check(run, check, COMMIT, "mindful", group)
    run.wait_stored(topic, 1, 1_000)
    run.pull(topic)
