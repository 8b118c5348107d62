"""Scenarios reach a cluster over sockets only, and their runner writes down what it says."""

from __future__ import annotations

import contextlib
import json
import socket

import pytest

from conformance.__main__ import main
from conformance.normalise import Normaliser
from conformance.run import Run
from conformance.scenario import Scenario, by_config, scenario, scenarios
from conformance.targets.fake_or_java import fake_target
from conformance.wire.peer import NO_CODE, Peer
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from tests.support.broker_scripts import asks_before_it_answers
from tests.support.scripted_broker import BrokerEnd as Broker
from tests.support.scripted_broker import ScriptedBroker, respond


def test_second_scenario_of_a_name_is_refused() -> None:
    name = scenarios()[0].function
    with pytest.raises(ValueError, match="two scenarios are called"):
        scenario("again")(name)


def test_command_lists_the_known_scenarios(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kv_config"]) == 0
    assert capsys.readouterr().out.startswith("the same  kv_config: ")
    assert main(["--show", "kv_config"]) == 0
    assert capsys.readouterr().out.startswith("# KV config")
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "no scenario ['nonsense']; there are" in capsys.readouterr().err


def test_requests_in_front_of_an_answer_are_recorded_first() -> None:
    lines: list[str] = []

    def script(broker: Broker) -> None:
        with contextlib.suppress(ConnectionError):  # a scenario's peer answers nothing
            asks_before_it_answers(broker)

    with ScriptedBroker(script) as broker:
        peer = Peer("client", "broker-a", broker.addr, Normaliser({}, 0), lines)
        pending = peer.send(34, {"b": True, "a": 1}, {"x": []}, oneway=False)
        answer = pending.answer()
        peer.close()
    assert answer.code == 7
    assert lines == [
        "client -> broker-a  HEART_BEAT (34)",
        "    a: 1",
        "    b: true",
        "    body: JSON, every key quoted",
        *(f"    {line}" for line in json.dumps({"x": []}, indent=1).splitlines()),
        "client <- broker-a  asks NOTIFY_CONSUMER_IDS_CHANGED (40), one-way",
        "client <- broker-a  asks GET_CONSUMER_RUNNING_INFO (307)",
        "client <- broker-a  code 7",
    ]


def test_peer_answers_what_it_is_asked_and_sees_the_end() -> None:
    lines: list[str] = []

    def script(broker: Broker) -> None:
        broker.send(RemotingCommand(RequestCode.GET_CONSUMER_RUNNING_INFO, opaque=77))
        answer = broker.receive()
        assert (answer.is_response, answer.opaque, answer.body) == (True, 77, b"how I run")

    with ScriptedBroker(script) as broker:
        peer = Peer("client", "broker-a", broker.addr, Normaliser({}, 0), lines)
        asked = peer.poll_request(5.0)
        assert asked is not None
        peer.reply(asked, body="how I run")
        while not peer.is_closed():
            pass
        peer.close()
    assert lines == [
        "client <- broker-a  asks GET_CONSUMER_RUNNING_INFO (307)",
        "client -> broker-a  SUCCESS (0)",
        "    body: how I run",
    ]


def test_peers_of_a_run_never_share_a_port() -> None:
    others = {f"127.0.0.1:{port}" for port in range(1 << 16) if port % 4 == 0}
    normaliser = Normaliser(dict.fromkeys(others, "another"), 0)
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        addr = f"127.0.0.1:{server.getsockname()[1]}"
        names = [f"peer {number}" for number in range(20)]
        peers = [Peer(name, "broker-a", addr, normaliser, []) for name in names]
        for peer in peers:
            peer.close()
    named = {addr for addr, name in normaliser.names.items() if name in names}
    assert len(named) == len(names)
    assert not named & others


def test_time_passes_when_every_one_way_request_has_arrived() -> None:
    lines: list[str] = []
    came = []

    def script(broker: Broker) -> None:
        for _ in range(2):
            request = broker.receive()
            came.append(request.code)
            if not request.is_oneway:
                broker.send(respond(request, 3))

    with ScriptedBroker(script) as broker:
        peer = Peer("client", "broker-a", broker.addr, Normaliser({}, 0), lines)
        peer.settle()
        peer.send(RequestCode.END_TRANSACTION, oneway=True)
        peer.settle()
        peer.settle()
        peer.close()
    assert came == [RequestCode.END_TRANSACTION, NO_CODE]
    assert lines == ["client -> broker-a  END_TRANSACTION (37), one-way"]


def test_scenarios_of_equal_config_share_a_cluster() -> None:
    config = {"messageDelayLevel": "1s 2s"}
    needy = Scenario("needy", lambda run: run.note(f"{run.now_ms()}"), config, real_s=16)
    plain = Scenario("plain", lambda run: None)
    assert (needy.is_long, plain.is_long) == (True, False)
    assert by_config([needy, plain, needy]) == [({}, [plain]), (config, [needy, needy])]
    with fake_target(config) as target:
        seen = needy.transcript(target).splitlines()
        assert seen == [
            "# needy",
            "# brokers with messageDelayLevel=1s 2s",
            "# some 16 s in real time",
            f"# {target.now_ms()}",
        ]


def test_scenario_of_hours_is_recorded_with_shorter_times() -> None:
    quick = {"messageDelayLevel": "1s"}
    one = Scenario("slow", lambda run: run.note(f"{dict(run.config)}"), real_s=7_200, quick=quick)
    assert by_config([one]) == [(quick, [one])]
    with fake_target(one.config) as target:
        seen = one.transcript(target).splitlines()
    assert seen == [
        "# slow",
        "# recorded with messageDelayLevel=1s",
        "# some 7200 s in real time",
        "# {}",
    ]


def test_scenario_of_an_unknown_family_is_refused() -> None:
    with pytest.raises(ValueError, match="outage: no family 'outages' among"):

        @scenario("an outage", family="outages")
        def outage(run: Run) -> None:
            pass


def test_slave_is_a_place_whose_broker_is_killed_and_started() -> None:
    def dies(run: Run) -> None:
        run.peer("client", "broker-a-1")
        began_ms = run.now_ms()
        run.kill("broker-a-1")
        with pytest.raises(OSError, match="refused"):
            run.peer("client", "broker-a-1")
        run.start("broker-a-1")
        run.ask("broker-a-1", RequestCode.GET_TOPICS_BY_CLUSTER)
        run.note_late("it is back", began_ms, 0, 5)
        run.pass_time(7_000)
        run.note_late("it is back", began_ms, 0, 5)
        run.pause("broker-a")
        run.resume("broker-a")

    one, other = Scenario("one", dies, slaves=1), Scenario("other", lambda run: None, slaves=1)
    assert by_config([one, other]) == [({}, [one]), ({}, [other])]
    with fake_target(one.config, one.slaves) as target:
        seen = [line for line in one.transcript(target).splitlines() if line.startswith("# ")]
    assert seen == [
        "# one",
        "# broker-a-1 is killed",
        "# broker-a-1 is started",
        "# it is back after 0 to 5 s",
        "# it is back after 0 to 5 s: 7.0 s",
        "# broker-a is paused",
        "# broker-a resumes",
    ]


def test_offsets_count_from_where_a_scenario_found_a_shared_topic() -> None:
    with fake_target() as target, Run("shared", target).running() as run:
        topic = run.topic("orders")
        run.store(topic, "a", "b")
        run.shared(topic)
        run.store(topic, "c", stored=2)
        run.wait_stored(topic, 1, 1_000)
        run.lines.clear()
        answer = run.pull(topic)
        assert answer.fields["nextBeginOffset"] == "3"
        text = "\n".join(run.lines)
        assert "    queueOffset: 0\n" in text
        assert "    nextBeginOffset: 1\n" in text
        assert "message orders queue 0 offset 0," in text
        with pytest.raises(TimeoutError, match="2 messages in orders: not within 300 ms"):
            run.wait_stored(topic, 2, 300)
        with pytest.raises(TimeoutError, match="broker-a asks nothing of consumer within 500 ms"):
            run.take_request("consumer", "broker-a", 500)
