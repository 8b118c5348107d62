"""Which request codes brokers and name servers of 5.5.0 know, of all that have a name."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.hostility import ANSWER_TIMEOUT_S, Conversation, probe_of
from conformance.scenarios.popping import FIVE
from conformance.targets.java_jars import NEWEST
from conformance.wire.pops import pop_fields
from conformance.wire.raw import frame
from conformance.wire.requests import pull_fields
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE

UNKNOWN = 3
LONG_CHECKS = {"transactionCheckInterval": "600000"}
"""No check, and a cluster for this scenario alone: its requests leave a node in no good state."""


def refused(run: Run, place: str, codes: dict[int, str]) -> None:
    """Send a request of each code without fields, and write down which the node does not know."""
    known = 0
    for code, name in codes.items():
        with Conversation(run.addrs[place]) as conversation:
            conversation.send(frame(code, {}, opaque=code))
            conversation.probe(probe_of(place))
            if len(conversation.came) == 1 and not conversation.closed:
                conversation.receive(1, ANSWER_TIMEOUT_S)
            answers = [one.code for one in conversation.came if one.opaque == code]
        if answers == [UNKNOWN]:
            run.lines.append(f"{place}  {name} ({code}): not supported")
        else:
            known += 1
    run.note(f"{place}: {known} more are known")


@scenario("every code of 5.5.0: known or not", config=LONG_CHECKS, real_s=10, releases=FIVE)
def v5_codes(run: Run) -> None:
    named = {int(code): code.name for code in (*RequestCode, *RequestCode5)}
    left_out = {code: name for code, name in named.items() if code in REFERENCE.out_of_scope}
    served = {code: name for code, name in sorted(named.items()) if code not in left_out}
    for place in ("broker-a", "namesrv"):
        refused(run, place, served)
    run.note("of what fakemq leaves out")
    for place in ("broker-a", "namesrv"):
        refused(run, place, left_out)


@scenario("what the VIP port of 5.5.0 does not answer", releases=(NEWEST,))
def v5_vip_port(run: Run) -> None:
    topic = run.topic("SVipPort")
    for code, fields in (
        (RequestCode.PULL_MESSAGE, pull_fields(topic)),
        (RequestCode.LITE_PULL_MESSAGE, pull_fields(topic)),
        (RequestCode5.POP_MESSAGE, pop_fields(topic, 0)),
        (RequestCode5.POP_LITE_MESSAGE, pop_fields(topic, 0)),
        (RequestCode5.PEEK_MESSAGE, pop_fields(topic, 0)),
        (RequestCode5.NOTIFICATION, pop_fields(topic, 0)),
        (RequestCode5.POLLING_INFO, pop_fields(topic, 0)),
    ):
        run.ask("broker-a vip", code, fields)
