"""Commits that a broker lost: biography, diagnosis and a failed assertion name them."""

from __future__ import annotations

import re

import pytest

import fakemq
from fakemq.biographies import steps
from fakemq.events import OffsetWentBack
from tests.support.consumer import GROUP, Consumer, consuming


def test_kill_that_lost_commits_is_named() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq:
        mq.seed("orders", ["one", "two", "three"])
        with consuming(mq) as client:
            (queue,) = client.subscribe_queues("orders")
            client.take("orders", commit=False)
            client.update_offset(queue, 1, oneway=False)
            mq.clock.advance("30s")
            client.update_offset(queue, 3, oneway=False)
            mq.assert_consumed("orders", GROUP)
            mq.broker("broker-a").kill()
            mq.broker("broker-a").restart()
        (event,) = mq.journal.find(OffsetWentBack)
        assert (event.offset, event.before, event.why) == (1, 3, "kill")
        one, two, _ = (message.biography for message in mq.messages("orders"))
        assert not one.of(steps.SetBack)
        (back,) = two.of(steps.SetBack)
        lost = "the kill of broker-a-0 lost the commits since it last wrote consumerOffset.json"
        assert back.text() == f"to be consumed again by {GROUP}: offset back at 1, {lost}"
        assert back.because == "after broker-a-0 killed"
        with consuming(mq) as client:
            client.take("orders", 1, commit=False)
            with pytest.raises(AssertionError) as failed:
                mq.assert_not_redelivered("orders", GROUP)
        at = r"\d\d:\d\d:\d\d.\d\d\d"
        line = f"offsets of group {GROUP} in orders went back by 2 messages at {at}: {lost}; these"
        assert re.search(line, str(failed.value))


def test_kill_of_a_store_on_disk_that_lost_commits_is_named(tmp_path: object) -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}, store=str(tmp_path)) as mq:
        mq.seed("orders", ["one"])
        with consuming(mq) as client:
            client.take("orders")
            mq.broker("broker-a").kill()
            mq.broker("broker-a").restart()
        (event,) = mq.journal.find(OffsetWentBack)
        assert (event.offset, event.before, event.why) == (-1, 1, "kill")
        (back,) = mq.messages("orders")[0].biography.of(steps.SetBack)
        assert "the kill of broker-a-0 lost the commits" in back.text()


def test_stop_loses_no_commits() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq:
        mq.seed("orders", ["one"])
        with consuming(mq) as client:
            client.take("orders")
            mq.broker("broker-a").restart()
        assert not mq.journal.find(OffsetWentBack)
        mq.assert_consumed("orders", GROUP)


def test_master_that_comes_back_with_its_old_offsets_is_named() -> None:
    with fakemq.Cluster(clock="frozen", slaves=1, topics={"orders": 1}) as mq:
        mq.seed("orders", ["one", "two", "three"])
        mq.clock.advance("30s")
        with consuming(mq) as client:
            (queue,) = client.subscribe_queues("orders")
            client.update_offset(queue, 1, oneway=False)
            mq.clock.advance("30s")
            mq.broker("broker-a-0").kill()
            _take_at(client, mq.broker("broker-a-1").addr)
        mq.broker("broker-a-0").restart()
        biography = mq.messages("orders")[1].biography
        back = next(iter(biography.of(steps.SetBack)))
        came = "broker-a-0 came back with old offsets: it does not copy those of its slave"
        assert back.text() == f"to be consumed again by {GROUP}: offset back at 1, {came}"
        (line,) = [line for line in mq.diagnosis("orders", GROUP) if came in line]
        assert line.startswith(f"offsets of group {GROUP} in orders went back by 2 messages at")
        mq.clock.advance("30s")
        (event,) = mq.journal.find(OffsetWentBack)
        assert (event.node, event.offset, event.before) == ("broker-a-1", 1, 3)
        assert event.why == "master"


def _take_at(client: Consumer, slave: str) -> None:
    """Consume all messages at a slave, and commit there, as clients do while a master is down."""
    from fakemq.protocol.codes import RequestCode
    from fakemq.protocol.headers.offset import UpdateConsumerOffsetRequestHeader
    from fakemq.protocol.headers.pull import PullMessageRequestHeader

    pull = PullMessageRequestHeader(
        consumer_group=GROUP,
        topic="orders",
        queue_id=0,
        queue_offset=0,
        max_msg_nums=32,
        sys_flag=4,
        commit_offset=0,
        suspend_timeout_millis=0,
        subscription="*",
        sub_version=0,
    )
    commit = UpdateConsumerOffsetRequestHeader(
        consumer_group=GROUP, topic="orders", queue_id=0, commit_offset=3
    )
    for code, header in (
        (RequestCode.PULL_MESSAGE, pull),
        (RequestCode.UPDATE_CONSUMER_OFFSET, commit),
    ):
        command = client.instance.command(code, header)
        client.run(client.instance.invoke_ok(slave, command))
