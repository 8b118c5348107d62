"""POP in order: a queue waits for what was popped from it."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.popping import FIVE, ack, committed, hide, pop, popped
from conformance.wire.pops import batch_ack, pop_fields
from fakemq.protocol.v5.codes import RequestCode5


@scenario("pop in order: a queue is blocked until all of a pop is acknowledged", releases=FIVE)
def pop_order(run: Run) -> None:
    topic = run.topic("SOrder")
    run.store(topic, "a", "b", "c")
    first, second = popped(run, topic, 0, order=True, maxMsgNums=2)
    committed(run, topic)
    run.note("blocked, for another attempt, too")
    pop(run, topic, 0, order=True)
    pop(run, topic, -1, order=True, attemptId="another")
    run.note("the second acknowledged first")
    ack(run, topic, second)
    committed(run, topic)
    pop(run, topic, 0, order=True)
    ack(run, topic, first)
    committed(run, topic)
    (third,) = popped(run, topic, 0, order=True)
    run.note("acknowledged twice, and with a pop time that is another one's")
    ack(run, topic, first)
    ack(run, topic, third._replace(pop_time_ms=1_100_000_000_000))
    committed(run, topic)
    ack(run, topic, third)
    committed(run, topic)


@scenario("pop in order: the same attempt gets the same messages", releases=FIVE)
def pop_order_attempt(run: Run) -> None:
    topic = run.topic("SOrderAttempt")
    run.store(topic, "a", "b", "c")
    popped(run, topic, 0, order=True, maxMsgNums=2, attemptId="one")
    again = popped(run, topic, 0, order=True, maxMsgNums=2, attemptId="one")
    pop(run, topic, 0, order=True, maxMsgNums=2, attemptId="two")
    for handle in again:
        ack(run, topic, handle)
    committed(run, topic)
    pop(run, topic, 0, order=True, attemptId="two")


@scenario("pop in order: after its time a message comes again, counted", real_s=9, releases=FIVE)
def pop_order_again(run: Run) -> None:
    topic = run.topic("SOrderAgain")
    run.store(topic, "a", "b", "c")
    first, _ = popped(run, topic, 0, order=True, maxMsgNums=2, invisibleTime=2_000)
    ack(run, topic, first)
    committed(run, topic)
    pop(run, topic, 0, order=True)
    run.pass_time(2_500)
    run.note("the second and the third; the second for the second time")
    second, third = popped(run, topic, 0, order=True, invisibleTime=2_000)
    run.pass_time(2_500)
    run.note("both again")
    second, third = popped(run, topic, 0, order=True, invisibleTime=60_000)
    code = RequestCode5.BATCH_ACK_MESSAGE
    run.ask("broker-a", code, {}, batch_ack(topic, [second, third]), peer="consumer")
    committed(run, topic)
    pop(run, topic, 0, order=True)


@scenario("pop in order: hidden for less, or for longer", real_s=6, releases=FIVE)
def pop_order_hidden(run: Run) -> None:
    topic = run.topic("SOrderHidden")
    run.store(topic, "a", "b")
    first, second = popped(run, topic, 0, order=True)
    hide(run, topic, first, 1_000)
    run.pass_time(1_500)
    run.note("the second is hidden still: blocked")
    pop(run, topic, 0, order=True)
    hide(run, topic, second, 500)
    run.pass_time(1_000)
    first, second = popped(run, topic, 0, order=True)
    ack(run, topic, first)
    ack(run, topic, second)
    run.note("what is acknowledged is hidden no more")
    hide(run, topic, first, 1_000)
    committed(run, topic)


@scenario("pop in order: two queues do not wait for each other", releases=FIVE)
def pop_order_queues(run: Run) -> None:
    topic = run.topic("SOrderQueues", 2)
    run.store(topic, "a")
    run.store(topic, "b", queue_id=1)
    pop(run, topic, 0, order=True)
    (other,) = popped(run, topic, 1, order=True)
    pop(run, topic, -1, order=True)
    ack(run, topic, other)


@scenario("pop in order: a pop that waits is woken by the last ack", real_s=1, releases=FIVE)
def pop_order_woken(run: Run) -> None:
    topic = run.topic("SOrderWoken")
    run.store(topic, "a", "b")
    (first,) = popped(run, topic, 0, order=True, maxMsgNums=1)
    fields = pop_fields(topic, 0, order=True, pollTime=5_000)
    held = run.send("broker-a", RequestCode5.POP_MESSAGE, fields, peer="held")
    run.pass_time(300)
    run.nothing_comes("held")
    ack(run, topic, first)
    held.answer()
