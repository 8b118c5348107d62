"""TRIGGER_LITE_DISPATCH: clients look again into what their group has not consumed."""

from __future__ import annotations

from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.lite import TriggerLiteDispatchRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.lites import INVISIBLE_MS, bodies, lite_broker, pop_lite, send_lite, subscribe


def test_trigger_brings_what_is_visible_again(lab: BrokerLab) -> None:
    broker = lite_broker(lab)
    broker.config.enable_notify_after_pop_order_lock_release = False  # type: ignore[attr-defined]
    peer = lab.peer(broker.addr)
    subscribe(peer, "a")
    send_lite(peer, "a", b"1")
    pop_lite(peer)
    lab.pass_time(INVISIBLE_MS)
    assert pop_lite(peer) == []
    header = TriggerLiteDispatchRequestHeader(group="agents", client_id="c1")
    answer = peer.ask(RequestCode5.TRIGGER_LITE_DISPATCH, header)
    assert (answer.code, answer.remark) == (0, "not set any response code")
    assert bodies(pop_lite(peer)) == [b"1"]


def test_group_that_is_not_bound_is_refused(lab: BrokerLab) -> None:
    header = TriggerLiteDispatchRequestHeader(group="usual")
    answer = lab.peer(lite_broker(lab).addr).ask(RequestCode5.TRIGGER_LITE_DISPATCH, header)
    assert (answer.code, answer.remark) == (29, "Group [usual] is not a LITE group.")
