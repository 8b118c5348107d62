"""Values that no fault can have: all are a ConfigError that says what would be right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fakemq
from fakemq.errors import ConfigError
from fakemq.events.faults import FaultPlaced
from fakemq.handles.faults import Fault

SEND = "SEND_MESSAGE_V2"
LINK = ("clients", "broker-a")
WHOLE = "expected a whole number"
TRUTH = "expected True or False"
NO_REQUEST = (
    'no request code \'orders\': the first argument is a request, such as "send" or "pull";'
    " a topic is given as topic='orders'$"
)
Place = Callable[[Any], Fault]


@pytest.fixture(scope="module")
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        masters=2, slaves=1, namesrvs=2, clock="frozen", topics={"orders": 1}
    ) as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (lambda f: f.drop(SEND, times=1.5), f"times=1.5: {WHOLE}, 1 or more"),
        (lambda f: f.drop(SEND, times="2"), f"times='2': {WHOLE}"),
        (lambda f: f.drop(SEND, on_call="2"), f"on_call='2': {WHOLE}"),
        (lambda f: f.drop(SEND, always="no"), f"always='no': {TRUTH}"),
        (lambda f: f.drop(SEND, must_fire="no"), f"must_fire='no': {TRUTH}"),
        (lambda f: f.drop(SEND, probability="x"), "probability='x': expected more than 0"),
        (lambda f: f.drop(SEND, probability=float("nan")), "probability=nan"),
        (lambda f: f.drop(SEND, queue=1.0), f"queue=1.0: {WHOLE}"),
        (lambda f: f.drop(SEND, node=5), "node=5: expected a name"),
        (lambda f: f.drop(-1), f"request code=-1: {WHOLE} from 0"),
        (lambda f: f.error(SEND, code=-5), "response code=-5: .* from 0 to 32767"),
        (lambda f: f.error(SEND, code=2**40), "from 0 to 32767"),
        (lambda f: f.error(SEND, code=2, remark=5), "remark=5: expected text"),
        (lambda f: f.reply(SEND, remark=5), "remark=5: expected text"),
        (lambda f: f.reply(SEND, body=["str"]), "expected bytes or text"),
        (lambda f: f.reply(SEND, fields=7), "fields=7: expected names and values"),
        (lambda f: f.reply(SEND, fields={"queueOffset": None}), "'queueOffset': None: expected"),
        (lambda f: f.reply(SEND, fields={7: 1}), "fields: 7: 1: expected a name"),
        (lambda f: f.slice(*LINK, bytes=1.5), f"bytes=1.5: {WHOLE}"),
        (lambda f: f.cut(*LINK, after_bytes=1.5), "after_bytes=1.5: expected a size"),
        (lambda f: f.hold(*LINK, one_way="no"), f"one_way='no': {TRUTH}"),
        (lambda f: f.hold(*LINK, must_fire=0), f"must_fire=0: {TRUTH}"),
        (lambda f: f.hold(5, "broker-a"), "end of a link=5: expected text"),
        (lambda f: f.latency(*LINK, "5ms", jitter="6ms"), "jitter='6ms': expected at most"),
        (lambda f: f.hold_slave("broker-a-1", at_offset="x"), f"at_offset='x': {WHOLE}"),
        (lambda f: f.tear_transfer("broker-a-1", at_byte=1.5), f"at_byte=1.5: {WHOLE}"),
        (lambda f: f.truncate_slave("broker-a-1", lose_bytes="1"), f"lose_bytes='1': {WHOLE}"),
        (lambda f: f.tear_last_write("broker-a", kept_bytes=1.5), f"kept_bytes=1.5: {WHOLE}"),
        (lambda f: f.show_queues("orders", "2"), f"queues='2': {WHOLE}"),
        (lambda f: f.show_addr("broker-a", 5), "addr=5: expected text"),
        (lambda f: f.disk_full("broker-a", must_fire="no"), f"must_fire='no': {TRUTH}"),
    ],
)
def test_invalid_value_is_refused(mq: fakemq.Cluster, place: Place, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        place(mq.faults)
    assert not mq.journal.find(FaultPlaced)


@pytest.mark.parametrize("code", ["SUCCESS", "FLUSH_DISK_TIMEOUT", "SLAVE_NOT_AVAILABLE", 12])
def test_error_codes_that_need_a_header_are_refused(mq: fakemq.Cluster, code: Any) -> None:
    with pytest.raises(ConfigError, match=r"no error of a SEND_MESSAGE_V2.*see reply\("):
        mq.faults.error(SEND, code=code)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no error of a PULL_MESSAGE"):
        mq.faults.error("PULL_MESSAGE", code="PULL_NOT_FOUND")
    mq.faults.error(SEND, code="PULL_NOT_FOUND", must_fire=False).remove()  # type: ignore[arg-type]
    mq.faults.error(SEND, code=code, at="before_reply", must_fire=False).remove()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (lambda f: f.error(SEND, code=2, node="namesrv-0"), "is for brokers: .* can never apply"),
        (lambda f: f.drop("REGISTER_BROKER", node="broker-a"), "is for name servers"),
        (lambda f: f.hold("broker-a", "namesrv-0", link="ha"), "no HA link between them"),
        (lambda f: f.hold("broker-a", "broker-a-1", link="grpc"), "no grpc link between them"),
        (
            lambda f: f.partition("broker-a", "broker-b"),
            "broker-a-0 – broker-b-0: there is no link",
        ),
        (lambda f: f.partition("broker-a-1", "broker-b"), "there is no link"),
        (lambda f: f.partition("namesrv-0", "namesrv-1"), "there is no link"),
    ],
)
def test_fault_that_can_never_apply_is_refused(mq: fakemq.Cluster, place: Place, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        place(mq.faults)
    assert not mq.faults.placed()


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (lambda f: f.duplicate("orders"), NO_REQUEST),
        (lambda f: f.error("orders", code="SYSTEM_BUSY"), NO_REQUEST),
        (lambda f: f.drop("PULL_MESAGE"), "'PULL_MESAGE'; did you mean PULL_MESSAGE"),
        (lambda f: f.error("send", code="FULL"), "expected the name of a ResponseCode, such as"),
        (lambda f: f.error("send", code="SYSTEM_BUSSY"), "did you mean SYSTEM_BUSY"),
        (lambda f: f.drop_call("send"), "no request code 'send': brokers send clients CHECK_TRANS"),
        (lambda f: f.drop_call("CHECK_TRANSACTION"), "did you mean CHECK_TRANSACTION_STATE"),
    ],
)
def test_wrong_code_names_another_only_if_it_is_near(
    mq: fakemq.Cluster, place: Place, text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        place(mq.faults)


def test_wrong_point_says_what_each_point_means(mq: fakemq.Cluster) -> None:
    with pytest.raises(ConfigError, match=r"before_reply \(.*not sent yet\).*slave") as raised:
        mq.faults.kill("send", at="after_store")  # type: ignore[arg-type]
    assert "did you mean" not in str(raised.value)
    with pytest.raises(ConfigError, match=r"; did you mean before_reply\?$"):
        mq.faults.kill("send", at="before_replay")  # type: ignore[arg-type]


def test_wrong_limit_of_a_request_names_the_point_too(mq: fakemq.Cluster) -> None:
    with pytest.raises(TypeError, match=r"a fault has no where=; there are: node, .*, at$"):
        mq.faults.kill("send", where="before_reply")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"a fault has no att=; did you mean at\?$"):
        mq.faults.kill("send", att="before_reply")  # type: ignore[call-arg]


def test_fault_that_may_apply_later_is_accepted(mq: fakemq.Cluster) -> None:
    faults = mq.faults
    for placed in (
        faults.error(999_999, code=2),  # an unknown code, which a client may send
        faults.error(999_999, code=2, node="namesrv-0"),
        faults.drop("GET_ROUTEINFO_BY_TOPIC", node="namesrv-0"),
        faults.partition("broker-a", "broker-b", must_fire=False),
        faults.hold("broker-a", "broker-a-1", link="ha"),
        faults.hold("broker-a", "namesrv-1"),
    ):
        assert placed.pending
    mq.reset()  # which has no test fail for what it left unused


def test_unknown_fault_is_refused(mq: fakemq.Cluster) -> None:
    with pytest.raises(AttributeError, match="no fault 'drop_request'; did you mean"):
        mq.faults.drop_request  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean partition"):
        mq.faults.partitions  # type: ignore[attr-defined]  # noqa: B018
