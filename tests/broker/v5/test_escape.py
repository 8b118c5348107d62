"""A slave that acts for its master writes to the other master: two groups with a slave each."""

# Over 400 lines: one lab of two groups serves all.

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

import fakemq
from fakemq.biographies.steps import HandedOver
from fakemq.broker.broker import Broker
from fakemq.broker.sending.puts import Putting
from fakemq.broker.sending.transactions import CID_SYS_RMQ_TRANS
from fakemq.broker.v5.broker import Broker5
from fakemq.broker.v5.escape import bridge as bridges
from fakemq.broker.v5.pop import escaping_log
from fakemq.events import Escaped, HandlerFailed, Revived, Warned
from fakemq.later import Later
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.message import MessageExt
from fakemq.protocol.topics import TRANS_HALF_TOPIC
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.store.inner_message import InnerMessage, inner_message
from fakemq.store.puts import put_ended
from fakemq.store.results import PutMessageStatus
from tests.support.broker_lab import send_header
from tests.support.clients import TOPIC, beat
from tests.support.peer import Peer
from tests.support.pops import GROUP, Popped, ack, change, change_header, pop
from tests.support.replication import Replicated
from tests.support.transactions import PRODUCERS, asked, send_half

ORDER_TOPICS = "ORDER_TOPIC_CONFIG"
RETRY = f"%RETRY%{GROUP}_{TOPIC}"
FOLLOWED_MS = 15_000
"""After this a slave has all that its master had, the tables and the timers' checkpoint, too."""


class Lab(Replicated):
    """Two masters with a slave each; slaves may act for their masters."""

    def __init__(
        self, *, escapes: bool = True, reads: bool = True, queues: int = 1, total: int = 1
    ) -> None:
        super().__init__(
            reference="5.5.0",
            masters=2,
            topics={TOPIC: 2},
            config={
                "enableSlaveActingMaster": True,
                "enableRemoteEscape": escapes,
                "slaveReadEnable": reads,
                "reviveQueueNum": queues,
                "totalReplicas": total,
            },
        )
        self.other = self.core.broker("broker-b")
        self.core.advance(75_000)

    @property
    def acting(self) -> Broker5:
        assert isinstance(self.slave, Broker5)
        return self.slave

    def lose_master(self, *, followed_ms: int = FOLLOWED_MS) -> None:
        """Kill the master once its slave has everything; the slave acts for it."""
        self.core.advance(followed_ms)
        self.kill(self.master)
        self.core.network.settle()
        assert self.acting.role.acts_as_master

    def send(self, body: bytes, properties: str = "", **fields: str | int) -> None:  # type: ignore[override]
        text = f"UNIQ_KEY\x01{body.decode()}\x02{properties}"
        header = send_header(TOPIC, properties=text, **fields)
        assert self.peer(self.master).ask(RequestCode.SEND_MESSAGE_V2, header, body).code == 0

    def create_group(self) -> None:
        """Let the other master know the group: it revives for no other."""
        assert pop(self.peer(self.other)).code != ResponseCode.SYSTEM_ERROR

    def stored(self, broker: Broker, topic: str = TOPIC) -> list[MessageExt]:
        return [
            message
            for queue_id in range(8)
            for message in broker.store.messages_in_queue(topic, queue_id)
        ]

    def bodies(self, broker: Broker, topic: str = TOPIC) -> list[bytes]:
        return [message.body for message in self.stored(broker, topic)]

    def escapes(self) -> list[Escaped]:
        return list(self.core.journal.find(Escaped))


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab()
    yield made
    made.core.stop()


# -- what duties deliver ----------------------------------------------------------------------


def test_delayed_message_of_a_dead_master_arrives_at_the_other(lab: Lab) -> None:
    lab.send(b"late", "DELAY\x014\x02TAGS\x01t\x02")
    lab.lose_master(followed_ms=1_000)
    lab.core.advance(28_000)
    assert not lab.stored(lab.other)
    lab.core.advance(5_000)
    (message,) = lab.stored(lab.other)
    assert message.body == b"late"
    assert message.properties["TAGS"] == "t"
    assert "DELAY" not in message.properties
    assert message.properties["WAIT"] == "false"
    lab.core.advance(60_000)
    assert len(lab.stored(lab.other)) == 1
    assert lab.acting.delay.next_offset(4) == 1


def test_timer_message_of_a_dead_master_arrives_at_the_other(lab: Lab) -> None:
    at_ms = lab.core.clock.now_ms() + 30_000
    lab.send(b"timed", f"TIMER_DELIVER_MS\x01{at_ms}\x02")
    lab.send(b"second", f"TIMER_DELIVER_MS\x01{at_ms + 20_000}\x02")
    lab.lose_master()
    lab.core.advance(60_000)
    assert lab.bodies(lab.other) == [b"timed", b"second"]
    assert "REAL_TOPIC" not in lab.stored(lab.other)[0].properties
    assert not lab.acting.timers._due


def test_half_message_of_a_dead_master_is_checked_by_the_other(lab: Lab) -> None:
    producer = lab.peer(lab.master)
    send_half(producer, "K", born_timestamp=lab.core.clock.now_ms(), queue_id=1)
    # Two checks, with no producer to ask; then the slave takes the master's offsets over.
    lab.core.advance(50_000)
    lab.lose_master(followed_ms=0)
    lab.core.advance(30_000)
    (half,) = lab.stored(lab.other, TRANS_HALF_TOPIC)
    assert half.properties["REAL_TOPIC"] == TOPIC
    assert half.properties["TRANSACTION_CHECK_TIMES"] == "2"
    assert not lab.stored(lab.other)
    peer = lab.peer(lab.other)
    beat(peer, producers=[PRODUCERS])
    lab.core.advance(60_000)
    assert asked(peer)


def test_popped_message_of_a_dead_master_is_revived_at_the_other(lab: Lab) -> None:
    lab.create_group()
    for body in (b"done", b"popped"):
        lab.send(body)
    peer = lab.peer(lab.master)
    popped = Popped(pop(peer))
    assert ack(peer, popped, popped.messages[0]).code == 0
    lab.lose_master(followed_ms=5_000)
    lab.core.advance(10_000)
    (message,) = lab.stored(lab.other, RETRY)
    assert (message.body, message.reconsume_times) == (b"popped", 1)
    lab.core.advance(60_000)
    assert len(lab.stored(lab.other, RETRY)) == 1
    (event,) = lab.core.journal.find(Revived)
    assert (event.node, event.from_phy_offset) == (lab.other.name, -1)


def test_acknowledgement_of_a_dead_master_goes_astray() -> None:
    lab = Lab(queues=8)
    lab.create_group()
    bodies = [b"%d" % number for number in range(16)]
    peer = lab.peer(lab.master)
    for body in bodies:
        lab.send(body)
        popped = Popped(pop(peer))
        assert ack(peer, popped, popped.messages[0]).code == 0
    lab.lose_master(followed_ms=5_000)
    lab.core.advance(60_000)
    again = lab.bodies(lab.other, RETRY)
    assert set(again) < set(bodies)
    assert 8 < len(again) < 16


def test_records_of_an_acting_master_come_into_one_queue() -> None:
    lab = Lab(queues=8)
    for _ in range(8):
        lab.send(b"one")
    lab.lose_master()
    for _ in range(8):
        pop(lab.peer(lab.acting), max_msg_nums=1)
    escapes = lab.escapes()
    assert len(escapes) == 8
    assert len({event.queue_id for event in escapes}) == 1


def test_popped_message_waits_for_a_slave_that_may_be_read() -> None:
    lab = Lab(reads=False)
    lab.create_group()
    lab.send(b"popped")
    pop(lab.peer(lab.master))
    lab.lose_master(followed_ms=5_000)
    lab.core.advance(30_000)
    assert not lab.stored(lab.other, RETRY)
    lab.acting.config.slave_read_enable = True
    lab.core.advance(40_000)
    assert lab.bodies(lab.other, RETRY) == [b"popped"]


@pytest.mark.parametrize("total", [1, 2])
def test_master_that_is_back_delivers_again_unless_it_takes_over(total: int) -> None:
    lab = Lab(total=total)
    lab.create_group()
    lab.send(b"late", "DELAY\x014\x02")
    lab.send(b"timed", f"TIMER_DELIVER_MS\x01{lab.core.clock.now_ms() + 30_000}\x02")
    send_half(lab.peer(lab.master), "K", born_timestamp=lab.core.clock.now_ms())
    lab.send(b"popped")
    pop(lab.peer(lab.master))
    lab.lose_master(followed_ms=5_000)
    lab.core.advance(60_000)
    assert sorted(lab.bodies(lab.other)) == [b"late", b"timed"]
    lab.start(lab.master)
    lab.core.advance(120_000)
    assert not lab.acting.role.acts_as_master
    again = [] if total == 2 else [b"timed", b"late"]
    assert lab.bodies(lab.master) == lab.bodies(lab.acting) == [b"popped", *again]
    assert lab.bodies(lab.master, RETRY) == [b"popped"][: len(again)]
    assert sorted(lab.bodies(lab.other)) == [b"late", b"timed"]
    assert lab.bodies(lab.other, RETRY) == [b"popped"]


# -- failures ---------------------------------------------------------------------------------


def test_delayed_message_waits_for_another_master(lab: Lab) -> None:
    lab.send(b"late", "DELAY\x013\x02")
    lab.core.advance(1_000)
    lab.kill(lab.other)
    lab.lose_master(followed_ms=0)
    lab.core.advance(60_000)
    escapes = lab.escapes()
    assert {event.status for event in escapes} == {
        f"PUT_TO_REMOTE_BROKER_FAIL: no master has the topic {TOPIC!r}"
    }
    lab.start(lab.other)
    lab.core.advance(60_000)
    assert lab.bodies(lab.other) == [b"late"]


DELAYED = "DELAY\x014\x02"
TIMED = "TIMER_DELAY_SEC\x0130\x02"


@pytest.mark.parametrize("properties", [DELAYED, TIMED])
def test_message_waits_for_a_good_order_conf(lab: Lab, properties: str) -> None:
    (name_server,) = lab.core.name_servers
    lab.send(b"late", properties)
    name_server.config.order_message_enable = True
    name_server.kv.put(ORDER_TOPICS, TOPIC, "broker-b")
    lab.lose_master()
    lab.core.advance(60_000)
    assert not lab.stored(lab.other)
    assert lab.escapes()[0].status == (
        f"PUT_TO_REMOTE_BROKER_FAIL: the order conf of topic {TOPIC!r} is no list of"
        " <broker>:<queues>: 'broker-b'"
    )
    assert not lab.core.journal.find(HandlerFailed)
    name_server.kv.put(ORDER_TOPICS, TOPIC, "broker-b:1")
    lab.core.advance(60_000)
    assert lab.bodies(lab.other) == [b"late"]


def test_malformed_order_conf_leaves_the_last_route(lab: Lab) -> None:
    (name_server,) = lab.core.name_servers
    for seconds in (30, 90):
        lab.send(b"%d" % seconds, f"TIMER_DELAY_SEC\x01{seconds}\x02")
    lab.lose_master()
    lab.core.advance(20_000)
    name_server.config.order_message_enable = True
    name_server.kv.put(ORDER_TOPICS, TOPIC, "broker-b:1;broker-b")
    lab.core.advance(60_000)
    assert lab.bodies(lab.other) == [b"30", b"90"]


@pytest.mark.parametrize("properties", [DELAYED, TIMED])
def test_error_of_a_put_is_tried_again(
    lab: Lab, properties: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lab.acting.escape is not None
    lab.send(b"late", properties)
    lab.lose_master()
    with monkeypatch.context() as patch:
        patch.setattr(lab.acting.escape, "_command", lambda *_: 1 / 0)
        lab.core.advance(20_000)
    assert lab.core.journal.find(HandlerFailed)
    assert {event.broker_name for event in lab.escapes()} == {""}
    lab.core.advance(20_000)
    assert lab.bodies(lab.other) == [b"late"]


@pytest.mark.parametrize("properties", [DELAYED, TIMED])
def test_error_instead_of_a_result_is_tried_again(
    lab: Lab, properties: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.send(b"late", properties)
    lab.lose_master()
    put: Later[object] = Later()
    with monkeypatch.context() as patch:
        for duty in (lab.acting.delay, lab.acting.timers):
            patch.setattr(duty, "_put", lambda _: put)
        lab.core.advance(20_000)
    put.resolve(RuntimeError())
    (failed,) = lab.core.journal.find(HandlerFailed)
    assert failed.error == "RuntimeError()"
    lab.core.advance(20_000)
    assert lab.bodies(lab.other) == [b"late"]


def test_delayed_message_waits_without_escape() -> None:
    lab = Lab(escapes=False)
    lab.send(b"late", "DELAY\x013\x02")
    lab.lose_master(followed_ms=1_000)
    put = lab.acting.puts.put_message(inner_message(TOPIC, 0, b"x"))
    assert not isinstance(put, Later)
    assert put.status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    lab.core.advance(60_000)
    assert not lab.stored(lab.other)
    lab.acting.config.enable_remote_escape = True
    lab.core.advance(11_000)
    assert lab.bodies(lab.other) == [b"late"]


def test_message_whose_answer_is_late_comes_twice(lab: Lab) -> None:
    lab.send(b"late", "DELAY\x013\x02")
    lab.core.advance(1_000)
    lab.other.pause()
    lab.lose_master(followed_ms=0)
    lab.core.advance(14_000)  # it was sent at 10 s, and again
    lab.other.resume()
    lab.core.advance(20_000)
    assert len(lab.stored(lab.other)) > 1
    assert lab.acting.delay.next_offset(3) == 1


def test_half_message_that_is_refused_eleven_times_stays(lab: Lab) -> None:
    send_half(lab.peer(lab.master), "K", born_timestamp=lab.core.clock.now_ms())
    lab.core.advance(1_000)
    lab.kill(lab.other)
    lab.lose_master(followed_ms=0)
    lab.core.advance(90_000)
    assert len(lab.escapes()) == 11
    lab.start(lab.other)
    lab.core.advance(120_000)
    assert not lab.stored(lab.other, TRANS_HALF_TOPIC)


def test_half_message_is_passed_over_with_a_warning_without_escape() -> None:
    lab = Lab(escapes=False, total=2)
    send_half(lab.peer(lab.master), "K", born_timestamp=lab.core.clock.now_ms())
    lab.lose_master(followed_ms=1_000)
    lab.core.advance(90_000)
    (warned,) = lab.core.journal.find(Warned, node=lab.acting.name)
    assert warned.text == (
        f"the half message 0 of topic {TOPIC!r} is passed over, as no other master has taken it:"
        " SERVICE_NOT_AVAILABLE: enableRemoteEscape is off, and the store of a slave takes no"
        " messages; nothing checks it while this broker acts as master"
    )
    lab.start(lab.master)
    lab.core.advance(5_000)
    assert lab.master.offsets.query(CID_SYS_RMQ_TRANS, TRANS_HALF_TOPIC, 0) == 1


def test_delayed_message_behind_a_delivered_one_is_tried_again_soon(lab: Lab) -> None:
    """The refusals of the one before do not count."""
    for body in (b"one", b"two"):
        lab.send(body, "DELAY\x011\x02")
    escapes, tried_ms = lab.acting.puts.put_message, list[int]()

    def put(message: InnerMessage) -> Putting:
        tried_ms.append(lab.core.clock.now_ms())
        if len(tried_ms) in {6, 8}:
            return escapes(message)
        return put_ended(PutMessageStatus.PUT_TO_REMOTE_BROKER_FAIL)

    lab.acting.delay._put = put
    lab.lose_master(followed_ms=500)
    lab.core.advance(5_000)
    assert lab.bodies(lab.other) == [b"one", b"two"]
    gaps_ms = [after - before for before, after in pairwise(tried_ms)]
    assert gaps_ms == [100, 200, 300, 400, 500, 0, 100]


def test_puts_without_answer_are_bounded(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridges, "MOST_MESSAGES", 3)
    lab.lose_master()
    lab.other.pause()
    puts = [lab.acting.puts.put_message(inner_message(TOPIC, 0, b"x")) for _ in range(4)]
    assert [isinstance(put, Later) for put in puts] == [True, True, True, False]
    assert lab.acting.escape is not None
    assert (lab.acting.escape.waiting.count, lab.acting.escape.waiting.size_bytes) == (3, 3)
    lab.core.advance(4_000)
    assert (lab.acting.escape.waiting.count, lab.acting.escape.waiting.size_bytes) == (0, 0)
    lab.other.resume()


def test_bytes_of_puts_without_answer_are_bounded(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridges, "MOST_BYTES", 5)
    lab.lose_master()
    lab.other.pause()
    bodies = (b"abc", b"def", b"gh", b"i")
    puts = [lab.acting.puts.put_message(inner_message(TOPIC, 0, body)) for body in bodies]
    assert [isinstance(put, Later) for put in puts] == [True, False, True, False]
    lab.core.advance(4_000)
    assert isinstance(lab.acting.puts.put_message(inner_message(TOPIC, 0, b"abcde")), Later)
    lab.other.resume()


def test_end_of_the_acting_stops_what_waits(lab: Lab) -> None:
    lab.send(b"late", "DELAY\x013\x02")
    lab.send(b"timed", f"TIMER_DELIVER_MS\x01{lab.core.clock.now_ms() + 20_000}\x02")
    send_half(lab.peer(lab.master), "K", born_timestamp=lab.core.clock.now_ms())
    lab.core.advance(9_000)
    lab.lose_master(followed_ms=0)
    lab.other.pause()
    lab.core.advance(20_000)
    lab.acting.role.be_lowest(False)
    lab.other.resume()
    count = len(lab.escapes())
    lab.core.advance(60_000)
    assert len(lab.escapes()) <= count + 3  # those that were under way
    assert lab.acting.delay.next_offset(3) == 0


# -- POP at the slave -------------------------------------------------------------------------


def test_pops_of_an_acting_master_are_kept_at_the_other(lab: Lab) -> None:
    lab.create_group()
    for body in (b"one", b"two"):
        lab.send(body)
    lab.lose_master()
    peer = lab.peer(lab.acting)
    popped = Popped(pop(peer))
    assert [message.body for message in popped.messages] == [b"one", b"two"]
    one, two = popped.messages
    assert ack(peer, popped, one).code == 0
    changed = change(peer, popped, two, 20_000)
    assert changed.code == 0
    lab.core.advance(1_000)
    assert lab.acting.offsets.query(GROUP, TOPIC, 0) == 2
    assert not pop_bodies(peer)
    assert "REVIVE_LOG" in lab.escapes()[-1].topic


def test_change_of_an_invisible_time_fails_without_an_answer(lab: Lab) -> None:
    lab.send(b"one")
    lab.lose_master()
    peer = lab.peer(lab.acting)
    popped = Popped(pop(peer))
    lab.other.pause()
    header = change_header(popped, popped.messages[0], 20_000)
    answer = peer.send(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, header, timeout_ms=10_000)
    lab.core.advance(4_000)
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SYSTEM_ERROR
    lab.other.resume()


def test_checkpoint_is_put_until_another_broker_takes_it(lab: Lab) -> None:
    lab.send(b"one")
    lab.core.advance(FOLLOWED_MS)
    lab.kill(lab.other)
    lab.lose_master(followed_ms=0)
    peer = lab.peer(lab.acting)
    assert pop_bodies(peer) == [b"one"]
    assert not pop_bodies(peer)
    lab.core.advance(5_000)
    assert lab.acting.offsets.query(GROUP, TOPIC, 0) == 0
    lab.start(lab.other)
    lab.core.advance(40_000)
    assert lab.acting.offsets.query(GROUP, TOPIC, 0) == 1


def test_acknowledgement_under_way_is_not_taken_for_a_checkpoint(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create_group()
    for body in (b"one", b"two"):
        lab.send(body)
    lab.lose_master()
    peer = lab.peer(lab.acting)
    popped = Popped(pop(peer, max_msg_nums=1))
    lab.core.network.settle()
    monkeypatch.setattr(bridges, "MOST_MESSAGES", 1)
    lab.other.pause()
    assert ack(peer, popped, popped.messages[0]).code == 0
    pop(peer, max_msg_nums=1)  # the acknowledgement waits, so its checkpoint is refused at once
    lab.other.resume()
    lab.core.network.settle()
    assert lab.acting.offsets.query(GROUP, TOPIC, 0) == 1
    lab.core.advance(60_000)
    assert lab.acting.offsets.query(GROUP, TOPIC, 0) == 2
    assert lab.bodies(lab.other, RETRY) == [b"two"]


def pops_without_another(lab: Lab, count: int) -> list[Popped]:
    """Pop messages one by one at the acting master, without another to keep the checkpoints."""
    for number in range(count):
        lab.send(b"%d" % number)
    lab.core.advance(FOLLOWED_MS)
    lab.kill(lab.other)
    lab.lose_master(followed_ms=0)
    return [Popped(pop(lab.peer(lab.acting), max_msg_nums=1)) for _ in range(count)]


def test_refused_checkpoints_are_tried_by_one_put_a_second(lab: Lab) -> None:
    popped = pops_without_another(lab, 20)
    assert len(lab.acting.pop.log.refused) == len(lab.escapes()) == 20
    ack(lab.peer(lab.acting), popped[0], popped[0].messages[0])
    assert len(lab.escapes()) == 21
    lab.core.advance(30_000)
    assert 40 <= len(lab.escapes()) <= 51
    lab.start(lab.other)
    lab.core.advance(31_000)  # the route is asked for again
    assert lab.acting.pop.log.refused == []
    assert lab.acting.offsets.query(GROUP, TOPIC, 0) == 20


def test_refused_checkpoints_are_bounded(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(escaping_log, "MOST_REFUSED", 3)
    pops_without_another(lab, 5)
    assert len(lab.acting.pop.log.refused) == 3
    lab.start(lab.other)
    lab.core.advance(31_000)
    assert lab.acting.pop.log.refused == []
    assert lab.acting.offsets.query(GROUP, TOPIC, 0) == 0  # two come again


def test_checkpoint_is_not_kept_without_escape() -> None:
    lab = Lab(escapes=False)
    lab.send(b"one")
    lab.lose_master()
    assert pop_bodies(lab.peer(lab.acting)) == [b"one"]
    assert lab.acting.pop.log.refused == []
    assert "disk_retry" not in {timer.kind for timer in lab.core.clock.timers()}
    lab.start(lab.master)
    lab.core.advance(5_000)
    assert pop_bodies(lab.peer(lab.master)) == [b"one"]


def pop_bodies(peer: Peer) -> list[bytes]:
    return [message.body for message in Popped(pop(peer)).messages]


def test_message_popped_at_an_acting_master_is_revived_at_the_other(lab: Lab) -> None:
    lab.create_group()
    for body in (b"one", b"two", b"three"):
        lab.send(body)
    lab.lose_master()
    peer = lab.peer(lab.acting)
    popped = Popped(pop(peer))
    one, two, _ = popped.messages
    assert ack(peer, popped, one).code == 0
    assert change(peer, popped, two, 60_000).code == 0
    lab.core.advance(20_000)
    assert lab.bodies(lab.other, RETRY) == [b"three"]
    lab.core.advance(60_000)
    assert lab.bodies(lab.other, RETRY) == [b"three", b"two"]


def test_acknowledgement_after_the_loss_comes_too_late(lab: Lab) -> None:
    lab.create_group()
    lab.send(b"popped")
    popped = Popped(pop(lab.peer(lab.master)))
    lab.lose_master(followed_ms=5_000)
    assert ack(lab.peer(lab.acting), popped, popped.messages[0]).code == 0
    lab.core.advance(10_000)
    assert lab.bodies(lab.other, RETRY) == [b"popped"]


def test_checkpoint_waits_at_an_acting_master_for_another(lab: Lab) -> None:
    lab.create_group()
    lab.send(b"popped")
    pop(lab.peer(lab.master))
    lab.core.advance(5_000)
    lab.kill(lab.other)
    lab.lose_master(followed_ms=0)
    lab.core.advance(30_000)
    lab.start(lab.other)
    lab.core.advance(40_000)
    assert lab.bodies(lab.other, RETRY) == [b"popped"]


def test_checkpoint_is_handed_over_more_and_more_seldom(lab: Lab) -> None:
    lab.send(b"popped")
    pop(lab.peer(lab.master))
    lab.core.advance(5_000)
    lab.kill(lab.other)
    lab.lose_master(followed_ms=0)
    lab.core.advance(60_000)
    tries = lab.escapes()
    assert 5 < len(tries) < 12
    lab.acting.pop.revive.arrived(0)  # a record changes nothing about that
    lab.core.advance(100)
    assert lab.escapes() == tries


def test_biography_follows_a_message_to_the_other_master() -> None:
    config = {"enableSlaveActingMaster": True, "enableRemoteEscape": True, "slaveReadEnable": True}
    with fakemq.Cluster(
        reference="5.5.0", masters=2, slaves=1, clock="frozen", topics={TOPIC: 1}, config=config
    ) as mq:
        producer = mq.producer()
        for body in (b"tea", b"milk"):  # one to each master
            producer.send(TOPIC, body, delay_level=3)
        mq.clock.advance("1s")
        mq.broker("broker-a").kill()
        mq.clock.advance("10s")
        (event,) = mq.journal.find(Escaped)
        lives = {message.msg_id: message.biography for message in mq.messages(TOPIC)}
    life = lives[event.msg_id]
    assert [type(step).__name__ for step in life[:3]] == ["Stored", "Delayed", "Replicated"]
    (step,) = life.of(HandedOver)
    assert step.text() == (
        f"sent on by broker-a-1 for its master, in {TOPIC} broker-b/0@{event.queue_offset}"
    )
