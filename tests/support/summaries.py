"""Summaries that reports are drawn from: of nothing, and of everything there can be."""

from __future__ import annotations

from fakemq.spark.audit.summary import (
    Count,
    FaultSummary,
    LagPoint,
    MessageBiography,
    MessageSummary,
    Store,
    Summary,
    Verdict,
)

NOON_MS = 1_780_315_200_000
EMPTY = Summary("Audit of nothing", 0, 0, [], [], 0, [], [], [], [], [], [], [])


def message(
    number: int = 0, verdict: Verdict = Verdict.LOST, keys: str = "", cause: str = ""
) -> MessageSummary:
    msg_id = f"7F0000010A2018B4AAC2{number:012X}"
    at_ms = NOON_MS + number * 7
    return MessageSummary(
        "orders", "billing", verdict, msg_id, keys, "broker-a", 3, number, at_ms, 0, cause
    )


def full(messages: int = 60, topics: int = 3, faults: int = 3) -> Summary:
    """Something in every part; this number of bad messages, of all verdicts in turn."""
    bad = [Verdict.LOST, Verdict.STUCK, Verdict.DUPLICATED, Verdict.OUT_OF_ORDER]
    names = [("orders", "billing"), *((f"topic-{number}", "audit") for number in range(1, topics))]
    found = [
        message(number, bad[number % 4], f"key-{number}", "kill of broker-a" * (number % 3 > 0))
        for number in range(messages)
    ]
    counts = [Count(topic, group, Verdict.DELIVERED, 330_000) for topic, group in names]
    counts += [Count("orders", "billing", one.verdict, 1) for one in found]
    return Summary(
        title="Audit of DefaultCluster",
        begin_ms=NOON_MS,
        end_ms=NOON_MS + 600_000,
        counts=[*counts, Count("orders", "billing", Verdict.PENDING, 12)],
        messages=found,
        messages_left_out=0,
        stores=[
            Store("broker-a", {"message": 990_000, "half": 20, "op": 20, "delayed": 40}, 0, []),
            Store("broker-a/1", {"message": 989_990, "snapshot": 1}, 10, [
                "00000000001073741824 at 17 408: bad magic code 0x00000000, 4 KiB",
            ]),
        ],
        lag=[
            LagPoint(topic, group, NOON_MS + second * 1000, lag_of(number, second))
            for number, (topic, group) in enumerate(names)
            for second in range(0, 600, 5)
        ],
        faults=[
            FaultSummary(NOON_MS + 60_000 * (number + 1), "broker-a", "killed, ASYNC_FLUSH", number)
            for number in range(faults)
        ],
        delivered_per_second=[
            (NOON_MS // 1000 + second, 1_650 + second % 7 * 30)
            for second in range(600)
            if not 120 < second < 140
        ],
        latency_ms=[(f"{topic} / {group}", 3, 40 + len(topic), 12_000) for topic, group in names],
        inputs=["store of broker-a: /stores/a, 12 files", "deliveries: 989,940 lines"],
        notes=["broker-b: no store was given, so what it holds is not judged"],
        biographies=[
            MessageBiography(one.msg_id, f"{one.msg_id} of orders", ["stored in orders", "gone"])
            for one in found[:20]
        ],
    )  # fmt: skip


def lag_of(number: int, second: int) -> int:
    """A group that falls behind at the second minute and catches up."""
    behind = max(0, 40_000 - abs(second - 150) * 400)
    return behind // (number + 1) + second % 3
