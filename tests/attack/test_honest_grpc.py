"""The honest gRPC client notices what goes wrong: else an attack beside it proves nothing."""

from __future__ import annotations

import pytest

import fakemq
from tests.attack import honest_grpc
from tests.attack.honest_grpc import TOPIC, Honest


def cluster() -> fakemq.Cluster:
    return fakemq.Cluster(grpc=True, topics={TOPIC: 2})


def test_all_that_is_sent_arrives_once() -> None:
    with cluster() as mq, Honest(mq.grpc_addr) as honest:
        mq.wait_for(lambda: honest.acknowledged > 20, "30s")
    assert honest.findings == []
    assert honest.acknowledged == len(honest.sent) == honest.received.total()


def test_lost_message_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(honest_grpc, "LATE_S", 0.2)
    with cluster() as mq, Honest(mq.grpc_addr) as honest:
        mq.wait_for(lambda: honest.acknowledged > 5, "30s")
        honest.sent.add("lost")
    assert honest.findings == [f"1 of {len(honest.sent)} honest messages did not arrive"]


def test_message_that_comes_twice_is_found() -> None:
    with cluster() as mq:
        mq.faults.duplicate("SEND_MESSAGE_V2")
        with Honest(mq.grpc_addr) as honest:
            mq.wait_for(lambda: honest.acknowledged > 5, "30s")
    assert honest.findings == ["1 honest messages arrived more than once"]
