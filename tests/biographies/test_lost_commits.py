"""Commits that a broker lost: biography, diagnosis and a failed assertion name them."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

import fakemq
from fakemq.biographies import steps
from fakemq.events import OffsetWentBack
from fakemq.protocol.headers.pop import AckMessageRequestHeader
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.consumer import GROUP, Consumer, consuming
from tests.support.popper import Popper
from tests.support.pops import Popped, ack_header


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


def test_kill_that_lost_an_offset_of_0_is_not_named() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq:
        mq.seed("orders", ["one"])
        with consuming(mq) as client:
            (queue,) = client.subscribe_queues("orders")
            client.update_offset(queue, 0, oneway=False)
        mq.broker("broker-a").kill()
        mq.broker("broker-a").restart()
        (event,) = mq.journal.find(OffsetWentBack)
        assert (event.offset, event.before) == (-1, 0)
        assert not any("went back" in line for line in mq.diagnosis("orders", GROUP))


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("store", ["memory", "directory"])
def test_kill_that_lost_the_commits_of_pops_is_named(
    tmp_path: Path, store: str, order: bool
) -> None:
    with fakemq.Cluster(
        reference="5.5.0",
        clock="frozen",
        topics={"orders": 1},
        store=store if store == "memory" else str(tmp_path),
    ) as mq:
        mq.seed("orders", ["one"])
        with Popper(mq.namesrv_addr, consumer_group=GROUP) as client:
            client.addr = mq.broker("broker-a").addr
            pop = partial(client.pop, consumer_group=GROUP, order=order, queue_id=0)
            first = pop()
            client.ask(RequestCode5.ACK_MESSAGE, _ack(first, order=order))
            mq.assert_consumed("orders", GROUP)
            mq.broker("broker-a").kill()
            mq.broker("broker-a").restart()
            with pytest.raises(AssertionError, match="not acked since a set-back"):
                mq.assert_consumed("orders", GROUP)
            (back,) = mq.messages("orders")[0].biography.of(steps.SetBack)
            assert "the kill of broker-a-0 lost the commits" in back.text()
            mq.clock.advance("1s")
            again = pop()
            with pytest.raises(AssertionError, match="popped twice by"):
                mq.assert_consumed("orders", GROUP)
            client.ask(RequestCode5.ACK_MESSAGE, _ack(again, order=order))
        mq.assert_consumed("orders", GROUP)
        kinds = (steps.Popped, steps.PopAcknowledged, steps.SetBack)
        shown = [type(step) for step in mq.messages("orders")[0].biography]
        popped, acked, set_back = kinds
        assert [one for one in shown if one in kinds] == [popped, acked, set_back, popped, acked]


def _ack(popped: Popped, *, order: bool) -> AckMessageRequestHeader:
    header = ack_header(popped, popped.messages[0])
    assert not order or "999" in str(header.extra_info)
    header.consumer_group = GROUP
    return header


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
