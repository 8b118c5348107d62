"""Transactions: half messages, their ends, and brokers that ask for them."""

# Over 400 lines: one family of scenarios, with the helpers that they share.

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import ENDS_ON_FOUR, scenario
from conformance.wire.peer import Answer, Frame, Pending
from conformance.wire.requests import (
    COMMIT,
    PREPARED,
    REFUSING,
    ROLLBACK,
    UNIQUE_ID,
    end_fields,
    place_of,
    producer_heartbeat,
    properties,
    send_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import (
    SCHEDULE_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    retry_topic,
)

GROUP = "PTransactions"
QUICK_CHECKS = {"transactionCheckInterval": "1000", "transactionTimeOut": "1000"}
"""A broker that asks after a second, every second."""
CHECKED_MS = 4_000
"""When a quick broker has asked."""
LONG_CHECKED_MS = 135_000
"""When any broker has asked: the second run comes 120 s after it started."""


def send_half(run: Run, topic: str, number: int, *, group: str = GROUP, **more: str) -> Answer:
    """Have a half message, born now."""
    pairs = {"KEYS": "k", "TRAN_MSG": "true", "UNIQ_KEY": UNIQUE_ID.format(number)}
    text = properties(**pairs, WAIT="true", TAGS="t", PGROUP=group, **more)
    fields = send_v2_fields(topic, a=group, i=text, f=PREPARED, g=run.now_ms())
    return run.ask(
        "broker-a",
        RequestCode.SEND_MESSAGE_V2,
        fields,
        f"half {number}",
        peer="sending",
        offsets={"queueOffset": TRANS_HALF_TOPIC},
    )


def end(
    run: Run,
    half: Answer,
    number: int,
    how: int,
    *,
    hidden: tuple[str, ...] = (),
    **more: object,
) -> None:
    fields = end_fields(GROUP, half.fields, number, how, **more)
    run.ask("broker-a", RequestCode.END_TRANSACTION, fields, peer="sending", hidden=hidden)


def end_one_way(run: Run, fields: dict[str, object]) -> Pending:
    """As clients do it."""
    return run.send("broker-a", RequestCode.END_TRANSACTION, fields, peer="sending", oneway=True)


def beat(run: Run, name: str, group: str = GROUP) -> None:
    body = producer_heartbeat(f"{name}@1", group)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer=name)


def answer_check(run: Run, check: Frame, how: int, peer: str, group: str = GROUP) -> None:
    """End a transaction as the producer does that was asked for it."""
    assert check.fields is not None
    fields = {
        "producerGroup": group,
        "tranStateTableOffset": check.fields["tranStateTableOffset"],
        "commitLogOffset": check.fields["commitLogOffset"],
        "commitOrRollback": how,
        "fromTransactionCheck": True,
        "msgId": check.fields["msgId"],
        "transactionId": check.fields["transactionId"],
    }
    run.send("broker-a", RequestCode.END_TRANSACTION, fields, peer=peer, oneway=True)


@scenario("transaction: committed")
def transaction_commit(run: Run) -> None:
    topic = run.topic("SCommit", 2)
    run.shared(TRANS_HALF_TOPIC)
    half = send_half(run, topic, 1)
    run.note("no consumer sees it")
    run.pull(topic)
    run.note("but by its place")
    place = place_of(half.fields)
    run.ask("broker-a", RequestCode.VIEW_MESSAGE_BY_ID, {"offset": place})
    end(run, half, 1, COMMIT)
    run.until_stored("broker-a", topic, 1)
    run.pull(topic)
    run.note("again, as clients do: one-way; the message comes twice")
    end_one_way(run, end_fields(GROUP, half.fields, 1, COMMIT))
    run.until_stored("broker-a", topic, 2)
    run.pull(topic, 1)


@scenario("transaction: rolled back, and left open")
def transaction_rollback(run: Run) -> None:
    topic = run.topic("SRollback")
    run.shared(TRANS_HALF_TOPIC)
    half = send_half(run, topic, 1)
    end(run, half, 1, ROLLBACK)
    run.note("again")
    end(run, half, 1, ROLLBACK)
    run.pass_time(100)
    run.pull(topic)
    run.note("rolled back, it can be committed nevertheless")
    end(run, half, 1, COMMIT)
    run.until_stored("broker-a", topic, 1)
    run.pull(topic)
    run.note("the producer does not know: no answer, whatever it means by it")
    half = send_half(run, topic, 2)
    for is_check in (False, True):
        fields = end_fields(GROUP, half.fields, 2, 0, fromTransactionCheck=is_check)
        run.send("broker-a", RequestCode.END_TRANSACTION, fields, peer="sending").no_answer()
    run.note("neither of the three")
    end(run, half, 2, 3)
    end(run, half, 2, ROLLBACK)


@scenario("transaction: ends that are refused")
def transaction_end_refused(run: Run) -> None:
    topic = run.topic("SEndRefused")
    run.shared(TRANS_HALF_TOPIC)
    half = send_half(run, topic, 1)
    run.note("another group, another offset, another place")
    for how in (COMMIT, ROLLBACK):
        end(run, half, 1, how, producerGroup="PAnother")
        end(run, half, 1, how, tranStateTableOffset=run.offset(TRANS_HALF_TOPIC, 7))
        end(run, half, 1, how, commitLogOffset=10**15)
    run.note("a message that is no half")
    fields = send_v2_fields(topic)
    plain = run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, "plain", peer="sending")
    hidden = ("tranStateTableOffset",)
    end(run, plain, 2, COMMIT, hidden=hidden)
    run.note("one that only says whose it would be")
    fields = send_v2_fields(topic, i=properties(PGROUP=GROUP))
    plain = run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, "plain", peer="sending")
    end(run, plain, 3, ROLLBACK, tranStateTableOffset=run.offset(TRANS_HALF_TOPIC, 7))
    end(run, plain, 3, COMMIT, hidden=hidden)
    run.note("nothing is said")
    run.ask("broker-a", RequestCode.END_TRANSACTION, {}, peer="sending")
    fields = {"commitOrRollback": COMMIT, "fromTransactionCheck": False}
    run.ask("broker-a", RequestCode.END_TRANSACTION, fields, peer="sending")
    end(run, half, 1, ROLLBACK)


@scenario("transaction: half messages that ask for more", real_s=2)
def transaction_odd_halves(run: Run) -> None:
    topic = run.topic("SOddHalves")
    run.shared(TRANS_HALF_TOPIC)
    run.note("one that says so without the flag, and one with the flag that does not say so")
    text = properties(TRAN_MSG="true", PGROUP=GROUP, UNIQ_KEY=UNIQUE_ID.format(1))
    fields = send_fields(topic, properties=text, bornTimestamp=run.now_ms())
    code = RequestCode.SEND_MESSAGE
    offsets = {"queueOffset": TRANS_HALF_TOPIC}
    half = run.ask("broker-a", code, fields, "half 1", peer="sending", offsets=offsets)
    end(run, half, 1, COMMIT)
    run.until_stored("broker-a", topic, 1)
    fields = send_fields(topic, sysFlag=PREPARED, bornTimestamp=run.now_ms())
    run.ask("broker-a", code, fields, "no half", peer="sending")
    run.pass_time(100)
    run.pull(topic)
    run.note("to a queue by number, in a topic that is made on the way")
    half = send_half(run, "SOddHalvesMade", 2)
    end(run, half, 2, COMMIT)
    run.until_stored("broker-a", "SOddHalvesMade", 1)
    run.pull("SOddHalvesMade")


@scenario(
    "transaction: a half message with a level of delay is none",
    config={"transactionCheckInterval": "3600000"},
    real_s=4,
)
def transaction_delayed(run: Run) -> None:
    topic = run.topic("SHalfDelayed")
    half = send_half(run, topic, 1, DELAY="1")
    place = place_of(half.fields)
    run.ask("broker-a", RequestCode.VIEW_MESSAGE_BY_ID, {"offset": place})
    run.note("the end of it, as far as the producer knows")
    end(run, half, 1, COMMIT)
    run.pass_time(3_000)
    run.pull(topic)
    for name in (SCHEDULE_TOPIC, TRANS_HALF_TOPIC):
        run.ask("broker-a", RequestCode.GET_MAX_OFFSET, {"topic": name, "queueId": 0})


@scenario("transaction: a broker that wants none", config=REFUSING)
def transaction_rejected(run: Run) -> None:
    topic = run.topic("SRejected")
    send_half(run, topic, 1)
    run.note("with the flag alone it is taken for any other")
    fields = send_v2_fields(topic, f=PREPARED)
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, "no half", peer="sending")


@scenario(
    "transaction: a producer is asked, and commits",
    config=QUICK_CHECKS,
    real_s=4,
    releases=ENDS_ON_FOUR,
)
def transaction_check(run: Run) -> None:
    topic = run.topic("SChecked", 2)
    run.shared(TRANS_HALF_TOPIC)
    beat(run, "producer")
    send_half(run, topic, 1)
    check = run.take_request("producer", "broker-a", CHECKED_MS)
    answer_check(run, check, COMMIT, "producer")
    run.wait_stored(topic, 1, 1_000)
    run.pull(topic)
    run.note("asked no more; the half topic has it twice")
    run.pass_time(2_500)
    run.nothing_comes("producer")
    run.pull(TRANS_HALF_TOPIC)


@scenario(
    "transaction: a producer is asked, knows nothing, and rolls back then",
    config=QUICK_CHECKS,
    real_s=6,
    releases=ENDS_ON_FOUR,
)
def transaction_check_again(run: Run) -> None:
    topic = run.topic("SCheckedAgain")
    run.shared(TRANS_HALF_TOPIC)
    beat(run, "producer")
    send_half(run, topic, 1)
    for _ in range(2):
        check = run.take_request("producer", "broker-a", CHECKED_MS)
        answer_check(run, check, 0, "producer")
    check = run.take_request("producer", "broker-a", CHECKED_MS)
    answer_check(run, check, ROLLBACK, "producer")
    run.pass_time(2_500)
    run.nothing_comes("producer")
    run.pull(topic)


@scenario("transaction: asked fifteen times, and put away then", config=QUICK_CHECKS, real_s=20)
def transaction_put_away(run: Run) -> None:
    topic = run.topic("SPutAway")
    group = "PPutAway"
    run.shared(TRANS_HALF_TOPIC)
    run.shared(TRANS_CHECK_MAX_TIME_TOPIC)
    beat(run, "producer", group)
    send_half(run, topic, 1, group=group)
    for _ in range(15):
        check = run.take_request("producer", "broker-a", CHECKED_MS)
    run.wait_stored(TRANS_CHECK_MAX_TIME_TOPIC, 1, CHECKED_MS)
    run.pull(TRANS_CHECK_MAX_TIME_TOPIC)
    run.nothing_comes("producer")
    run.note("late, it can be committed nevertheless")
    answer_check(run, check, COMMIT, "producer", group)
    run.wait_stored(topic, 1, 1_000)
    run.pull(topic)


@scenario(
    "transaction: another producer of the group is asked when the first is gone",
    config=QUICK_CHECKS,
    real_s=6,
)
def transaction_taken_over(run: Run) -> None:
    topic = run.topic("STakenOver")
    group = "PTakenOver"
    run.shared(TRANS_HALF_TOPIC)
    run.note("no client of the group is there")
    send_half(run, topic, 1, group=group)
    run.wait_stored(TRANS_HALF_TOPIC, 2, CHECKED_MS)
    run.note("the first comes")
    beat(run, "first", group)
    run.take_request("first", "broker-a", CHECKED_MS)
    run.hang_up("first", "broker-a")
    run.note("the second comes, of a group that is asked for others too")
    beat(run, "second", group)
    beat(run, "stranger", "PStranger")
    check = run.take_request("second", "broker-a", CHECKED_MS)
    answer_check(run, check, COMMIT, "second", group)
    run.wait_stored(topic, 1, 1_000)
    run.nothing_comes("stranger")
    run.pull(topic)


@scenario("transaction: half messages with a time of their own", config=QUICK_CHECKS, real_s=9)
def transaction_immunity(run: Run) -> None:
    topic = run.topic("SImmune")
    group = "PImmune"
    run.shared(TRANS_HALF_TOPIC)
    beat(run, "producer", group)
    run.note("an ordinary one, by which we know when the broker asks")
    send_half(run, topic, 1, group=group)
    check = run.take_request("producer", "broker-a", CHECKED_MS, 20)
    answer_check(run, check, ROLLBACK, "producer", group)
    run.pass_time(500)
    send_half(run, topic, 2, group=group, CHECK_IMMUNITY_TIME_IN_SECONDS="3")
    began_ms = run.now_ms()
    check = run.take_request("producer", "broker-a", 9_000, 100)
    run.note(f"asked after {(run.now_ms() - began_ms) // 1000} s")
    answer_check(run, check, COMMIT, "producer", group)
    run.wait_stored(topic, 1, 1_000)
    run.pull(topic)
    run.note("until then it was put back at each run")
    run.pull(TRANS_HALF_TOPIC, 2)


@scenario("transaction: half messages too old to ask for", config=QUICK_CHECKS, real_s=4)
def transaction_too_old(run: Run) -> None:
    topic = run.topic("STooOld")
    run.shared(TRANS_HALF_TOPIC)
    before = run.max_offset("broker-a", TRANS_CHECK_MAX_TIME_TOPIC)
    text = properties(TRAN_MSG="true", PGROUP=GROUP, UNIQ_KEY=UNIQUE_ID.format(1))
    fields = send_v2_fields(topic, i=text, f=PREPARED)
    code = RequestCode.SEND_MESSAGE_V2
    offsets = {"queueOffset": TRANS_HALF_TOPIC}
    run.ask("broker-a", code, fields, "half 1", peer="sending", offsets=offsets)
    run.pass_time(CHECKED_MS)
    run.note(f"put away: {run.max_offset('broker-a', TRANS_CHECK_MAX_TIME_TOPIC) > before}")


@scenario(
    "transaction: a half message is asked for anew",
    config=QUICK_CHECKS,
    real_s=6,
    releases=ENDS_ON_FOUR,
)
def transaction_resumed(run: Run) -> None:
    topic = run.topic("SResumed")
    group = "PResumed"
    run.shared(TRANS_HALF_TOPIC)
    beat(run, "producer", group)
    half = send_half(run, topic, 1, group=group)
    check = run.take_request("producer", "broker-a", CHECKED_MS)
    answer_check(run, check, ROLLBACK, "producer", group)
    run.note("it is stored again, and its times are counted anew")
    fields = {"msgId": half.fields["msgId"]}
    run.ask("broker-a", RequestCode.RESUME_CHECK_HALF_MESSAGE, fields)
    check = run.take_request("producer", "broker-a", CHECKED_MS)
    answer_check(run, check, ROLLBACK, "producer", group)
    run.pass_time(2_500)
    run.nothing_comes("producer")
    run.note("ids that are none, of no message")
    away = half.fields["msgId"][:16] + f"{10**15:016X}"
    for fields in ({"msgId": "nonsense"}, {"msgId": ""}, {}, {"msgId": away}):
        hidden = ("msgId",) if fields.get("msgId") == away else ()
        run.ask("broker-a", RequestCode.RESUME_CHECK_HALF_MESSAGE, fields, hidden=hidden)


@scenario(
    "transaction: a producer is asked, as late as it is by default",
    real_s=125,
    family="transaction",
)
def transaction_check_by_default(run: Run) -> None:
    topic = run.topic("SCheckedLate")
    group = "PCheckedLate"
    run.shared(TRANS_HALF_TOPIC)
    beat(run, "producer", group)
    send_half(run, topic, 1, group=group)
    began_ms = run.now_ms()
    run.take_request("producer", "broker-a", LONG_CHECKED_MS)
    run.note(f"asked after 6 to 66 s: {6_000 <= run.now_ms() - began_ms < 67_500}")
    began_ms = run.now_ms()
    beat(run, "producer", group)
    check = run.take_request("producer", "broker-a", LONG_CHECKED_MS)
    run.note(f"and again after 60 s: {59_000 <= run.now_ms() - began_ms < 62_000}")
    answer_check(run, check, COMMIT, "producer", group)
    run.wait_stored(topic, 1, 1_000)
    run.pull(topic)


@scenario("transaction: sent to a retry topic", real_s=1)
def transaction_to_retry_topic(run: Run) -> None:
    run.shared(TRANS_HALF_TOPIC)
    name = retry_topic("GHalfRetry")
    half = send_half(run, name, 1)
    end(run, half, 1, COMMIT)
    run.until_stored("broker-a", name, 1)
    run.pull(name)
