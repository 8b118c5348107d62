"""What a slave writes to another master while its own is away."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.acting_masters import ACTING, COPIED_MS, FIRST, MASTER, kill_master
from conformance.scenarios.popping import pop_retry_topic
from conformance.scenarios.timers import send_timed
from conformance.scenarios.transactions import send_half
from conformance.targets.java_group import OTHER
from conformance.targets.java_jars import NEWEST
from conformance.wire.pops import handles, pop_fields
from fakemq.protocol.topics import TRANS_HALF_TOPIC
from fakemq.protocol.v5.codes import RequestCode5 as Code

WITHIN_MS = 60_000


def copied(run: Run, topic: str) -> None:
    """Wait until the slave knows a topic."""
    peer = run.quiet_peer(FIRST)
    run.wait(
        lambda: not peer.quietly(Code.GET_TOPIC_CONFIG, {"topic": topic}).code,
        COPIED_MS,
        f"{topic} at the slave",
    )
    peer.close()


def arrived(run: Run, topic: str, count: int) -> None:
    """Wait until the other master has this number of messages of a topic, and pull them."""
    run.wait(lambda: run.max_offset(OTHER, topic) >= count, WITHIN_MS, f"{count} of {topic}")
    run.pull(topic, place=OTHER)


@scenario(
    "escape: what a slave writes to another master while its own is away",
    config={
        **ACTING,
        "enableRemoteEscape": "true",
        "slaveReadEnable": "true",
        "transactionCheckInterval": "5000",
        "transactionTimeOut": "60000",
        "reviveQueueNum": "1",
    },
    slaves=1,
    real_s=130,
    releases=(NEWEST,),
)
def escape(run: Run) -> None:
    topic, pops = run.topic("SEscape"), run.topic("SEscapePop")
    run.topic("SEscapeHalf")
    later = run.topic("SEscapeLater")
    copied(run, later)
    run.note("the other master gets to know the group")
    run.ask(OTHER, Code.POP_MESSAGE, pop_fields(pops), peer="consumer")
    run.store(pops, "a")
    run.store(later, "b", "c")
    fields = pop_fields(pops, invisibleTime=20_000)
    run.ask(MASTER, Code.POP_MESSAGE, fields, peer="consumer")
    send_timed(run, topic, 1, TIMER_DELAY_SEC=20)
    send_timed(run, topic, 2, DELAY=3)
    send_half(run, "SEscapeHalf", 3)
    # The slave has all that was stored before it.
    run.until(lambda: run.max_offset(FIRST, TRANS_HALF_TOPIC) >= 1, "the half message at the slave")
    kill_master(run, pops)
    run.note("a pop at the slave, and its acknowledgement")
    fields = pop_fields(later, invisibleTime=20_000)
    popped = run.ask(FIRST, Code.POP_MESSAGE, fields, peer="consumer")
    first, _ = handles(popped.fields, popped.body)
    run.ask(FIRST, Code.ACK_MESSAGE, first.fields(later), peer="consumer")
    run.note("all comes to the other master")
    arrived(run, TRANS_HALF_TOPIC, 1)
    arrived(run, topic, 2)
    arrived(run, pop_retry_topic(pops), 1)
    arrived(run, pop_retry_topic(later), 1)
