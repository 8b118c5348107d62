"""Groups whose slaves act as masters, at a name server of 5.5.0."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest

from fakemq.clock.slices import SLICE_MS
from fakemq.config.v5.model import NamesrvConfig5
from fakemq.events import BrokerGone, Warned
from fakemq.namesrv.v5 import namesrv
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab, register, route, topic
from tests.support.peer import Peer
from tests.support.slices import take_turns, work_in_turns

ACTING = {"enableActingMaster": "true"}
MANY = 20 * SLICE_MS
CODE = RequestCode5.NOTIFY_MIN_BROKER_ID_CHANGE


class Group:
    """A name server, and brokers that register there by connections of their own."""

    def __init__(self, *, supports: bool = True, notifies: bool = False) -> None:
        self.lab = NamesrvLab()
        config = NamesrvConfig5(
            support_acting_master=supports, notify_min_broker_id_changed=notifies
        )
        self.server = self.lab.name_server(config, reference=REFERENCE)
        self._admin = self.lab.peer(self.server)

    def enter(self, broker_id: int, **further: str) -> Peer:
        peer = self.lab.peer(self.server)
        register(
            *(peer, topic("T"), topic("U")),
            broker_id=broker_id,
            addr=f"10.0.0.{broker_id}:1",
            further=ACTING | further,
        )
        return peer

    @property
    def route(self) -> tuple[list[str], int]:
        """The ids in the route of a topic, and the perm of its queues."""
        found = route(self._admin, "T")
        assert found is not None
        return sorted(found["brokerDatas"][0]["brokerAddrs"]), found["queueDatas"][0]["perm"]


def test_write_bit_goes_with_the_master_and_comes_back_with_it() -> None:
    group = Group()
    master = group.enter(0)
    group.enter(3)
    assert group.route == (["0", "3"], 6)
    master.close()
    assert group.route == (["0"], 4)
    group.enter(0)
    assert group.route == (["0", "3"], 6)


def test_write_bit_stays_if_a_slave_leaves() -> None:
    group = Group()
    group.enter(0)
    group.enter(1).close()
    assert group.route == (["0"], 6)


def test_route_is_not_rewritten_without_support() -> None:
    group = Group(supports=False)
    group.enter(3)
    assert group.route == (["3"], 4)


def test_group_whose_slaves_do_not_act_keeps_the_write_bit() -> None:
    group = Group()
    group.enter(0, enableActingMaster="false").close()
    group.enter(3, enableActingMaster="false")
    assert group.route == (["3"], 6)


@pytest.mark.parametrize(
    ("timeout_ms", "gone_s"), [("10000", 15), ("1", 5), ("-1", 5), (str(LONG_MAX), 5)]
)
def test_broker_expires_after_the_silence_that_it_says(timeout_ms: str, gone_s: int) -> None:
    group = Group()
    group.enter(0, heartbeatTimeoutMillis=timeout_ms)
    group.lab.clock.advance(gone_s - 0.001)
    assert not group.lab.journal.find(BrokerGone)
    group.lab.clock.advance("1ms")
    assert [gone.why for gone in group.lab.journal.find(BrokerGone)] == ["expired"]


@pytest.mark.parametrize("timeout_ms", ["1000", "-60000", str(LONG_MAX)])
def test_shorter_silence_counts_from_the_registration_that_says_it(timeout_ms: str) -> None:
    group = Group()
    peer = group.enter(0, heartbeatTimeoutMillis="100000")
    group.lab.clock.advance("7s")
    further = ACTING | {"heartbeatTimeoutMillis": timeout_ms}
    register(peer, topic("T"), topic("U"), addr="10.0.0.0:1", further=further)
    group.lab.clock.advance("2999ms")
    assert not group.lab.journal.find(BrokerGone)
    group.lab.clock.advance("1ms")
    assert [gone.why for gone in group.lab.journal.find(BrokerGone)] == ["expired"]


def test_wide_route_is_completed_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = []
    for supports in (False, True):
        group = Group(supports=supports)
        peer = group.lab.peer(group.server)
        for number in range(MANY):
            addr, name = f"10.0.0.1:{number}", f"broker-{number}"
            topics = (topic("T"), topic("U"))
            register(peer, *topics, name=name, broker_id=3, addr=addr, further=ACTING)
        work_in_turns(group.lab.clock, monkeypatch)
        outside = group.lab.peer(group.server, outside=True)
        answer = outside.send(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields={"topic": "T"})
        turns.append(take_turns(group.lab.clock))
        group.lab.network.settle()
        assert answer.response is not None
        first = b'"0":' if supports else b'"3":'
        assert answer.response.body.count(b'"brokerAddrs":{' + first) == MANY
    assert turns[1] - turns[0] >= 2 * MANY // SLICE_MS, "a step for each queue and each name"


# -- notifications ------------------------------------------------------------------------------


def test_group_with_too_many_brokers_is_not_notified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namesrv, "MOST_REPLICAS", 2)
    group, outbound = Group(notifies=True), MagicMock()
    group.server.make_outbound = lambda: outbound
    group.enter(3)
    group.enter(2)
    group.enter(1).close()
    notified = [(call.args[0], call.args[1].code) for call in outbound.invoke_oneway.mock_calls]
    of_two, of_those_left = [("10.0.0.3:1", CODE)], [("10.0.0.3:1", CODE), ("10.0.0.2:1", CODE)]
    assert notified == of_two + of_those_left
    assert [warned.text for warned in group.lab.journal.find(Warned)] == [
        "not notified that 10.0.0.1:1 is their lowest: 3 brokers of one name; expected 2 at most"
    ]
