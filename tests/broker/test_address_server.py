"""Brokers that ask an address server for their name servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.config.v5.model import BrokerConfig5
from fakemq.events.core import Warned
from fakemq.net.http_get import ANSWER_MAX_BYTES
from fakemq.net.link import CLOSED_BY_PEER, Link
from fakemq.protocol.codes import RequestCode
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab
from tests.support.namesrv_double import NameServerDouble

NAMESRV = "10.0.0.1:9876"
SERVER = "10.0.0.9:8000"
Respond = Callable[["HttpDouble"], None]


class HttpDouble:
    """The server's end of a connection: ``respond`` is called with it for each question."""

    language, node, unfinished_bytes = "http", "address-server", 0

    def __init__(self, link: Link, questions: list[str], respond: Respond) -> None:
        self.link = link
        self._questions = questions
        self._respond = respond

    def data_received(self, data: bytes) -> None:
        self._questions.append(data.decode())
        self._respond(self)

    def connection_lost(self, why: str = CLOSED_BY_PEER) -> None: ...

    def resume_processing(self) -> None: ...

    def close_for_violation(self, why: str, kind: str) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


def answering(text: bytes) -> Respond:
    """Answer with these bytes, and close the connection."""

    def respond(end: HttpDouble) -> None:
        end.link.write(text)
        end.link.close()

    return respond


def named(addrs: str) -> Respond:
    return answering(f"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n{addrs}".encode())


class Lab(BrokerLab):
    """A broker without name servers, a name server, and an address server that ``responds``."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[str] = []
        self.respond: Respond = named(f"{NAMESRV}\n")
        self.namesrv: NameServerDouble = self.name_server(NAMESRV)
        self.network.listen(
            SERVER, lambda link: HttpDouble(link, self.questions, lambda end: self.respond(end))
        )

    def asking(self, **config: str) -> Broker:
        keys = {"rmq_address_server_domain": SERVER, **config}
        return self.broker(BrokerConfig(fetch_namesrv_addr_by_address_server=True, **keys))

    def warned(self) -> str:
        (found,) = self.journal.find(Warned)
        return found.text


def registers_at(broker: Broker) -> list[str]:
    return list(broker.registration.namesrv_addrs)


@pytest.fixture
def address_lab() -> Lab:
    return Lab()


def test_broker_asks_after_10_s_and_every_2_minutes(address_lab: Lab) -> None:
    lab = address_lab
    broker = lab.asking()
    lab.clock.advance("9.999s")
    assert lab.questions == []
    lab.clock.advance("1ms")
    assert lab.questions == [
        f"GET /rocketmq/nsaddr HTTP/1.0\r\nHost: {SERVER}\r\nConnection: close\r\n\r\n"
    ]
    assert registers_at(broker) == [NAMESRV]
    assert RequestCode.REGISTER_BROKER in lab.namesrv.codes()
    lab.respond = named("10.0.0.1:9876;10.0.0.2:9876")
    lab.clock.advance("2m")
    assert len(lab.questions) == 2
    assert registers_at(broker) == [NAMESRV, "10.0.0.2:9876"]
    assert lab.journal.find(Warned) == []


def test_broker_of_5_5_0_asks_as_often_as_its_config_says(address_lab: Lab) -> None:
    lab = address_lab
    for interval_ms, times in ((10_000, 6), (25_000, 3)):
        lab.questions.clear()
        config = BrokerConfig5(
            fetch_namesrv_addr_by_address_server=True,
            rmq_address_server_domain=SERVER,
            fetch_namesrv_addr_interval=interval_ms,
        )
        broker = lab.broker(config, reference=REFERENCE)
        lab.clock.advance("69s")
        assert len(lab.questions) == times
        broker.stop()


def test_broker_with_a_name_server_asks_nothing(address_lab: Lab) -> None:
    lab = address_lab
    config = BrokerConfig(fetch_namesrv_addr_by_address_server=True)
    lab.broker(config, namesrv_addrs=(NAMESRV,))
    lab.clock.advance("5m")
    assert lab.questions == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 404 Not Found\r\n\r\nnone", "status 404"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n", "status 302"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "bytes that are no HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>", "no addresses of name servers: '<html>'"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "no addresses of name servers: ''"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"10.0.0.1:1;" * 65, "no addresses of name servers"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n10.0.0.1:9", "the answer is not whole"),
        (b"HTTP/1.1 200 OK\r\n", "the answer is not whole"),
        (b"x" * (ANSWER_MAX_BYTES + 1), f"more than {ANSWER_MAX_BYTES} bytes"),
    ],
)
def test_bad_answer_is_a_warning_and_changes_nothing(
    address_lab: Lab, answer: bytes, why: str
) -> None:
    lab = address_lab
    broker = lab.asking()
    lab.clock.advance("10s")
    lab.respond = answering(answer)
    lab.clock.advance("2m")
    assert f"the address server http://{SERVER}/rocketmq/nsaddr names" in lab.warned()
    assert why in lab.warned()
    assert registers_at(broker) == [NAMESRV]


def test_answer_of_a_known_length_needs_no_end(address_lab: Lab) -> None:
    lab = address_lab
    text = f"HTTP/1.1 200 OK\r\ncontent-length: {len(NAMESRV)}\r\n\r\n{NAMESRV}and more"
    lab.respond = lambda end: end.link.write(text.encode())
    broker = lab.asking(rmq_address_server_sub_group="mine")
    lab.clock.advance("10s")
    assert registers_at(broker) == [NAMESRV]
    assert lab.questions[0].startswith("GET /rocketmq/mine HTTP/1.0\r\n")


def test_server_that_does_not_answer_is_given_up(address_lab: Lab) -> None:
    lab = address_lab
    lab.respond = lambda end: end.link.write(b"HTTP/1.1 200 OK\r\n")
    lab.asking()
    lab.clock.advance("10s")
    lab.outside_time_passes(2_999)
    assert lab.journal.find(Warned) == []
    lab.outside_time_passes(1)
    assert "no answer within 3000 ms" in lab.warned()


def test_absent_server_is_a_warning(address_lab: Lab) -> None:
    address_lab.asking(rmq_address_server_domain="nowhere")
    address_lab.clock.advance("10s")
    assert "http://nowhere:8080/rocketmq/nsaddr names no name servers: nothing listens" in (
        address_lab.warned()
    )


@pytest.mark.parametrize("domain", ["a b", "x/y", "h:1\r\nX: y", "", "user@host:1"])
def test_domain_that_is_no_address_is_asked_nothing(address_lab: Lab, domain: str) -> None:
    address_lab.asking(rmq_address_server_domain=domain)
    address_lab.clock.advance("10s")
    assert "this is no address" in address_lab.warned()


def test_stopped_broker_forgets_its_question(address_lab: Lab) -> None:
    lab = address_lab
    ends: list[HttpDouble] = []
    lab.respond = ends.append
    broker = lab.asking()
    lab.clock.advance("10s")
    broker.stop()
    ends[0].link.write(b"HTTP/1.1 200 OK\r\n\r\n10.0.0.2:9876")
    ends[0].link.close()
    lab.network.settle()
    assert registers_at(broker) == []
    lab.clock.advance("5m")
    assert len(lab.questions) == 1


def test_paused_broker_takes_the_answer_when_it_resumes(address_lab: Lab) -> None:
    lab = address_lab
    ends: list[HttpDouble] = []
    lab.respond = ends.append
    broker = lab.asking()
    lab.clock.advance("10s")
    broker.pause()
    named(NAMESRV)(ends[0])
    lab.network.settle()
    assert registers_at(broker) == []
    broker.resume()
    lab.clock.advance("1ms")
    assert registers_at(broker) == [NAMESRV]


def test_reset_broker_still_asks(address_lab: Lab) -> None:
    lab = address_lab
    lab.asking().reset()
    lab.clock.advance("10s")
    assert len(lab.questions) == 1
