"""Half messages; the clusters ask about them after 1 s, each 3 s, three times at most."""

from __future__ import annotations

import time
from collections import Counter

from conformance.python.lab import Lab
from conformance.python.seen import Seen, by_key, received, shared
from conformance.python.steps import await_, message, queue_at
from fakemq.client import LocalTransactionState, Message, Producer
from fakemq.protocol.message import MessageExt

DECISIONS = (
    *("commit", "rollback", "unknown-commit", "unknown-rollback", "throw-commit"),
    *("unknown-unknown-commit", "unknown-throw-commit", "unknown"),
)
GIVEN_UP = "TRANS_CHECK_MAX_TIME_TOPIC"
STATES = {
    "commit": LocalTransactionState.COMMIT_MESSAGE,
    "rollback": LocalTransactionState.ROLLBACK_MESSAGE,
}
COUNTED_BY_LOOKS = ("TRANSACTION_CHECK_TIMES", "TRAN_PREPARED_QUEUE_OFFSET")
"""Each look at a half message before its time has counted as a check, and has stored it anew."""


class Decider:
    """Decides by the message's tag: what at first, then at each check, the last again and again."""

    def __init__(self) -> None:
        self.checks: Counter[str] = Counter()
        self.asked: list[Seen] = []

    def execute(self, half: Message) -> LocalTransactionState:
        return self._decide(half.tags, 0)

    def check(self, half: MessageExt) -> LocalTransactionState:
        seen = received(half)
        self.asked.append(seen)
        self.checks[seen.keys] += 1
        return self._decide(half.tags or "", self.checks[seen.keys])

    def _decide(self, tags: str, turn: int) -> LocalTransactionState:
        decisions = tags.split("-")
        decision = decisions[min(turn, len(decisions) - 1)]
        if decision == "throw":
            raise RuntimeError("cannot tell")
        return STATES.get(decision, LocalTransactionState.UNKNOW)

    @property
    def counts(self) -> dict[str, int]:
        return dict(sorted(self.checks.items()))


def transaction(lab: Lab) -> None:
    topic = lab.create_topic("Transaction", 1)
    decider = Decider()
    producer = lab.producer("Transaction", check=decider.check)
    ear = lab.ear("Transaction", "after", topic)
    for decision in DECISIONS:
        half = message(topic, decision, decision, colour="red")
        say_half(lab, producer, decider, half)
    late = message(topic, "rollback", "late", DELAY="2")
    lab.say_failure(  # 4.9.7 takes the delay out, 5.x refuses it
        "half with a delay",
        lambda: producer.send_in_transaction(late, decider.execute).sent.status,
    )
    ear.await_messages(5)
    for one in by_key(ear.messages):
        lab.say("committed", lab.describe(one, "MAX_OFFSET"))
    await_("one to be given up", lambda: bool(in_topic(lab, GIVEN_UP, topic)))
    for one in in_topic(lab, GIVEN_UP, topic):
        lab.say("given up", lab.describe(one, "MAX_OFFSET"))
    lab.say("checks", decider.counts)
    for one in by_key(decider.asked):
        lab.say("asked about", lab.describe(one))
    lab.say("received in all", f"{ear.summary()}")
    producer.close()


def say_half(lab: Lab, producer: Producer, decider: Decider, half: Message) -> None:
    """Send a half message and tell its result."""
    try:
        result = producer.send_in_transaction(half, decider.execute)
    except RuntimeError as error:
        lab.say(half.keys, f"raised {error}")
        return
    sent = result.sent
    is_unique = sent.msg_id == sent.transaction_id
    is_halfs = sent.msg_id == half.unique_id
    lab.say(
        half.keys,
        f"{sent.status.name} {result.state.name} queue={sent.queue_id}"
        f" idIsUniqKey={str(is_unique).lower()} halfIdIsUniqKey={str(is_halfs).lower()}",
    )


def in_topic(lab: Lab, system: str, topic: str) -> list[Seen]:
    """Return what a system topic, which others use too, holds of a topic of this scenario."""
    return [
        one
        for broker in lab.masters
        for one in lab.all(queue_at(system, broker))
        if one.properties.get("REAL_TOPIC") == topic
    ]


def takeover(lab: Lab) -> None:
    topic = lab.create_topic("Takeover", 1)
    unsure, heir = Decider(), Decider()
    first = lab.producer("Takeover", instance="first", check=unsure.check)
    ear = lab.ear("Takeover", "after", topic)
    began = time.monotonic()
    sent = {}
    for decision in ("unknown-commit", "unknown-rollback"):
        half = message(topic, decision, decision, CHECK_IMMUNITY_TIME_IN_SECONDS="2")
        sent[decision] = first.send_in_transaction(half, unsure.execute).sent.status
    lab.say("sent", sent)
    first.close()
    second = lab.producer("Takeover", instance="second", check=heir.check)
    # A Java producer that has sent nothing knows no broker to tell of itself.
    second.send(message(topic, "t", "hello"))
    await_("both asked about", lambda: len(heir.checks) == 2)
    lab.say("not before its immunity ended", time.monotonic() - began >= 2)
    ear.await_keys(2)
    lab.say("the first was asked", unsure.counts)
    lab.say("the second was asked", heir.counts)
    lab.say("received", ear.keys())
    for one in by_key(heir.asked):
        lab.say("asked about", shared(one.properties, *COUNTED_BY_LOOKS))
