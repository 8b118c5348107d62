"""A command that looks at a cluster names each broker that does not answer, and fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import Result

import fakemq
from fakemq.client.blocking import Client
from fakemq.client.carriers.connections import Channel
from fakemq.client.messages import Message as SentMessage
from fakemq.client.messages import PullResult
from fakemq.client.operation import Operation
from fakemq.commands import tail
from fakemq.commands.running_cluster import AT_ONCE, RunningCluster
from fakemq.commands.tail import TailReader, chosen_queues
from fakemq.handles.values import Message
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.message import MessageExt
from fakemq.protocol.topics import TOOLS_GROUP
from tests.support.command_line import run

TIMEOUT = "200ms"


class Silent(NamedTuple):
    """A cluster whose broker-b does not answer, and a message on each of its brokers."""

    mq: fakemq.Cluster
    answering: Message
    silent: Message

    def look(self, *args: str) -> tuple[list[dict[str, Any]], str]:
        """The rows that a command shows, and what it says on stderr; its exit code is 1."""
        found = self.run(*args, "--json")
        return [json.loads(line) for line in found.stdout.splitlines()], found.stderr

    def run(self, *args: str) -> Result:
        return run(*args, "-n", self.mq.namesrv_addr, "--timeout", TIMEOUT, exit_code=1)

    @property
    def line(self) -> str:
        """What each command says of broker-b."""
        addr = self.mq.broker("broker-b").addr
        return f"Error: broker-b: wait response on the channel <{addr}> timeout, 200(ms)\n"


@pytest.fixture(scope="module")
def half() -> Iterator[Silent]:
    config = {"enablePropertyFilter": True}
    with fakemq.Cluster(masters=2, topics={"orders": 1}, config=config) as mq:
        mq.seed("orders", [f"body {number}" for number in range(20)])
        on = {message.broker: message for message in mq.messages("orders")}
        with Client(mq.namesrv_addr, consumer_group="billing") as client:
            client.subscribe("orders", "*")
            client.heartbeat()
            for queue in client.subscribe_queues("orders"):
                client.update_offset(queue, 7, oneway=False)
            mq.broker("broker-b").pause()
            yield Silent(mq, on["broker-a"], on["broker-b"])
            mq.broker("broker-b").resume()


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["topics"], {"topic": "orders", "messages": 10, "brokers": ["broker-a", "broker-b"]}),
        (["topics", "orders"], {"topic": "orders", "queues": 1}),
        (["queues", "orders"], {"broker": "broker-a", "messages": 10}),
        (["groups"], {"group": "billing", "members": 1, "lag": 3}),
        (["groups", "billing"], {"group": "billing", "members": 1, "lag": 3}),
        (["lag", "billing"], {"broker": "broker-a", "lag": 3}),
        (["clients"], {"role": "consumer", "group": "billing"}),
        (["clients", "billing"], {"role": "consumer", "group": "billing"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_answer_of_the_other_broker_is_shown(
    half: Silent, args: list[str], shown: dict[str, Any]
) -> None:
    (row,), error = half.look(*args)
    assert shown.items() <= row.items()
    assert error == half.line


def test_brokers_have_the_error_in_their_row(half: Silent) -> None:
    (up, down), error = half.look("brokers")
    assert "error" not in up
    assert half.line == error == f"Error: broker-b: {down['error']}\n"


def test_message_of_another_broker_is_shown(half: Silent) -> None:
    (message,), error = half.look("browse", half.answering.msg_id)
    assert (message["broker"], error) == ("broker-a", half.line)
    found, error = half.look("trace", half.answering.msg_id)
    assert [row["kind"] for row in found] == ["step", "consumed"]
    assert (found[1]["consumer_offset"], found[1]["members"], error) == (7, 1, half.line)


@pytest.mark.parametrize("command", ["browse", "trace"])
@pytest.mark.parametrize("option", [[], ["--topic", "orders"]], ids=["", "topic"])
def test_message_may_be_at_the_broker_that_does_not_answer(
    half: Silent, command: str, option: list[str]
) -> None:
    broker, message = half.run(command, half.silent.msg_id, *option).stderr.splitlines()
    assert broker + "\n" == half.line
    assert message.startswith(f"Error: there is no message {half.silent.msg_id} in ")
    assert message.endswith(" at the brokers that answered")


def test_command_that_needs_the_broker_shows_its_name(half: Silent) -> None:
    assert half.run("browse", half.silent.offset_msg_id).stderr == half.line


@pytest.mark.parametrize("start", [[], ["--from", "first"], ["--sql", "TAGS IS NULL"]], ids=str)
def test_tail_shows_the_messages_of_the_other_broker(half: Silent, start: list[str]) -> None:
    found, error = half.look("tail", "orders", *start)
    there = [one.body.decode() for one in half.mq.messages("orders") if one.broker == "broker-a"]
    assert [one["body"] for one in found] == there
    assert error == half.line


def test_follower_tries_the_broker_again_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tail, "AGAIN_MS", 10)
    with (
        fakemq.Cluster(masters=2, topics={"orders": 2}) as mq,
        Client(mq.namesrv_addr, consumer_group="billing") as sender,
    ):
        broker = mq.broker("broker-b")

        def send(body: str, broker_name: str, queue_id: int) -> None:
            queue = MessageQueue("orders", broker_name, queue_id)
            sender.send(SentMessage("orders", body), queue=queue)

        asked = RunningCluster(
            mq.namesrv_addr, {"consumer_group": TOOLS_GROUP, "api_timeout_ms": 100}
        )
        broker.pause()
        reader = TailReader(asked, chosen_queues(asked, "orders", None), last=1)
        assert reader.read_to_end() == []
        seen: list[str] = []
        tries: list[int] = []
        pull_now = TailReader._pull_now

        def tried(self: TailReader, queue: MessageQueue) -> Operation[PullResult]:
            tries.append(queue.queue_id)
            if len(tries) == 1:
                send("one", "broker-a", 0)
            if len(tries) == 3:
                broker.resume()
                send("old", "broker-b", 1)
                send("last", "broker-b", 1)
            return pull_now(self, queue)

        def on_message(message: MessageExt, broker: str) -> None:
            seen.append(message.body.decode())
            if seen[-1] == "last":
                send("new", "broker-b", 0)
            if seen[-1] == "new":
                raise KeyboardInterrupt

        monkeypatch.setattr(TailReader, "_pull_now", tried)
        with pytest.raises(KeyboardInterrupt):
            reader.follow(on_message)
        asked.close()
    assert seen == ["one", "last", "new"]
    warning, again = capsys.readouterr().err.splitlines()
    assert warning.startswith("Warning: broker-b: wait response on the channel <")
    assert warning.endswith(" timeout, 100(ms); trying again")
    assert again == "broker-b answers again"


@pytest.mark.parametrize("args", [["topics"], ["groups"]], ids=str)
def test_silent_broker_costs_one_time_out(args: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"many-{number}" for number in range(3 * AT_ONCE)]
    names += [f"%RETRY%{name}" for name in names]
    connected: list[str] = []
    open_channel = Channel.__init__

    def counted(self: Channel, connections: Any, shell: Any, addr: str) -> None:
        connected.append(addr)
        open_channel(self, connections, shell, addr)

    with fakemq.Cluster(masters=2) as mq:
        for name in names:
            mq.create_topic(name, 1)
        broker = mq.broker("broker-b")
        broker.pause()
        monkeypatch.setattr(Channel, "__init__", counted)
        found = run(*args, "-n", mq.namesrv_addr, "--timeout", TIMEOUT, exit_code=1)
        broker.resume()
    assert found.stdout.count("many-") >= 3 * AT_ONCE
    assert found.stderr.startswith("Error: broker-b: wait response on the channel <")
    # A time-out closes its connection; each further request would open another.
    assert connected.count(broker.addr) == 1


def test_unknown_group_may_be_at_the_broker_that_does_not_answer(half: Silent) -> None:
    broker, group = half.run("lag", "billng").stderr.splitlines()
    assert broker + "\n" == half.line
    assert group == (
        "Error: there is no group 'billng' at the brokers that answered; did you mean billing?"
    )


def test_send_succeeds_where_a_broker_answers_the_release(half: Silent) -> None:
    found = run(
        *("send", "orders", "x", "--delay", "10m", "--queue", "broker-a:0"),
        *("-n", half.mq.namesrv_addr, "--timeout", TIMEOUT),
    )
    assert found.stderr == ""


def test_delay_of_unknown_brokers_is_refused() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as mq:
        mq.broker("broker-a").pause()
        given = ("-n", mq.namesrv_addr, "--timeout", TIMEOUT)
        error = run("send", "orders", "x", "--delay", "10m", *given, exit_code=1).stderr
        assert error.startswith("Error: delay=10m: no broker says its release: broker-a: wait resp")
        mq.broker("broker-a").resume()


@pytest.mark.parametrize(
    ("args", "shown"),
    [(["topics", "orders"], 1), (["queues", "orders"], 0), (["groups"], 0), (["brokers"], 1)],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refusal_is_no_empty_answer(tmp_path: Path, args: list[str], shown: int) -> None:
    (tmp_path / "acl.yml").write_text(
        'accounts:\n- accessKey: administrator\n  secretKey: "12345678"\n  admin: true\n'
    )
    with fakemq.Cluster(topics={"orders": 1}, acl=tmp_path / "acl.yml") as mq:
        found = run(*args, "--json", "-n", mq.namesrv_addr, exit_code=1)
        assert len(found.stdout.splitlines()) == shown
        assert found.stderr.startswith("Error: broker-a: SYSTEM_ERROR (1) from ")
        assert found.stderr.count("\n") == 1


def test_watch_names_the_broker_at_each_look(half: Silent, monkeypatch: pytest.MonkeyPatch) -> None:
    polls: list[int] = []

    def poll(self: Client, *, timeout_ms: int) -> None:
        polls.append(timeout_ms)
        if len(polls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Client, "poll", poll)
    args = ("queues", "orders", "-n", half.mq.namesrv_addr, "--timeout", TIMEOUT)
    assert run(*args, "--watch").stderr == half.line * 2
