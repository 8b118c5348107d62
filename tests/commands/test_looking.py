"""The commands that look at a running cluster print what the cluster has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

import fakemq
from fakemq.cli import main
from fakemq.client.blocking import Client
from fakemq.client.messages import Message
from fakemq.commands.tail import print_message
from fakemq.protocol.message import MessageExt
from tests.support.command_line import rows, run

pytestmark = pytest.mark.usefixtures("billing")


def test_topics_have_their_messages(cluster: fakemq.Cluster) -> None:
    found = {row["topic"]: row for row in rows("topics", "-n", cluster.namesrv_addr)}
    assert set(found) == {"orders", "empty"}
    newest = max(one.stored_at_ms for one in cluster.messages("orders"))
    assert found["orders"] == {
        "kind": "topic",
        "topic": "orders",
        "queues": 8,
        "messages": 24,
        "last_message_at_ms": newest,
        "brokers": ["broker-a", "broker-b"],
    }
    assert (found["empty"]["messages"], found["empty"]["last_message_at_ms"]) == (0, None)
    queues = rows("queues", "empty", "-n", cluster.namesrv_addr)
    assert [row["last_message_at_ms"] for row in queues] == [None, None]
    every = {row["topic"] for row in rows("topics", "--all", "-n", cluster.namesrv_addr)}
    assert {"orders", "TBW102", "SCHEDULE_TOPIC_XXXX", "broker-a"} <= every


def test_broker_as_a_name_server_is_named(cluster: fakemq.Cluster) -> None:
    addr = cluster.brokers[0].addr
    for words in (("topics",), ("send", "orders")):
        done = CliRunner().invoke(main, [*words, "-n", addr], input="one")
        assert done.exit_code == 1
        assert f"{addr} is a broker, give the name server's address" in done.output


def test_queues_have_the_offsets_of_the_brokers(cluster: fakemq.Cluster) -> None:
    found = rows("queues", "orders", "-n", cluster.namesrv_addr)
    assert [
        (row["broker"], row["queue_id"], row["min_offset"], row["max_offset"]) for row in found
    ] == [
        (queue.broker, queue.queue_id, queue.min_offset, queue.max_offset)
        for queue in cluster.queues("orders")
    ]


def test_lag_is_that_of_the_group(cluster: fakemq.Cluster) -> None:
    found = rows("lag", "billing", "-n", cluster.namesrv_addr)
    assert sum(row["lag"] for row in found) == cluster.group("billing").lag("orders") == 2
    (behind,) = (row for row in found if row["lag"])
    assert (behind["broker"], behind["queue_id"], behind["consumer_offset"]) == ("broker-a", 0, 1)
    assert rows("lag", "billing", "--topic", "empty", "-n", cluster.namesrv_addr) == []
    text = run("lag", "billing", "-n", cluster.namesrv_addr).stdout.splitlines()
    assert text[0].split("\t")[:3] == ["topic", "broker", "queue id"]
    assert text[-1].startswith("billing: lag 2, ")


def test_groups_and_clients_name_the_member(cluster: fakemq.Cluster) -> None:
    (group,) = rows("groups", "-n", cluster.namesrv_addr)
    assert (group["group"], group["members"], group["lag"]) == ("billing", 1, 2)
    assert (group["type"], group["model"], group["topics"]) == (
        *("CONSUME_PASSIVELY", "CLUSTERING"),
        ["orders"],
    )
    (member,) = rows("clients", "billing", "-n", cluster.namesrv_addr)
    assert (member["role"], member["language"], member["version"]) == (
        *("consumer", "PYTHON", "V4_9_7"),
    )
    assert member["subscription"] == ["orders:paid"]
    assert "TOOLS_CONSUMER" in {
        row["group"] for row in rows("groups", "-a", "-n", cluster.namesrv_addr)
    }


def test_address_of_a_producer_is_host_and_port(cluster: fakemq.Cluster) -> None:
    with Client(cluster.namesrv_addr, producer_group="shop") as client:
        client.send(Message("empty", b"first"))
        client.heartbeat()
        found = rows("clients", "-n", cluster.namesrv_addr)
    (producer,) = (row for row in found if row["role"] == "producer")
    host, _, port = producer["addr"].rpartition(":")
    assert (host, port.isdigit()) == ("127.0.0.1", True)


def test_groups_whose_names_begin_as_those_of_rocketmq_are_shown() -> None:
    with (
        fakemq.Cluster(topics={"orders": 1}) as mq,
        Client(mq.namesrv_addr, consumer_group="CID_orders") as client,
    ):
        client.subscribe("orders", "*")
        client.heartbeat()
        assert [row["group"] for row in rows("groups", "-n", mq.namesrv_addr)] == ["CID_orders"]


def test_brokers_have_their_addresses_and_rates(cluster: fakemq.Cluster) -> None:
    found = rows("brokers", "-n", cluster.namesrv_addr)
    assert [(row["broker"], row["id"], row["addr"]) for row in found] == [
        (name, 0, cluster.broker(name).addr) for name in ("broker-a", "broker-b")
    ]
    assert sum(row["in_today"] for row in found) >= 24
    assert all(row["version"] == "V4_9_7" for row in found)


def test_send_says_where_each_message_is_stored(cluster: fakemq.Cluster) -> None:
    one, other = rows(
        *("send", "sent", "x", "y", "--tags", "t", "--keys", "a b", "--property", "from=here"),
        *("-n", cluster.namesrv_addr),
    )
    assert one["status"] == other["status"] == "SEND_OK"
    stored = {message.msg_id: message for message in cluster.messages("sent")}
    message = stored[one["message_id"]]
    assert (message.body, message.tags, message.properties["from"]) == (b"x", "t", "here")
    assert (message.broker, message.queue_id, message.offset) == (
        *(one["broker"], one["queue_id"], one["offset"]),
    )
    broker = one["broker"]  # the topic may exist there alone
    queue = f"{broker}:1"
    stdin = b"l 1\r\n\r\nl 2\n"
    piped = run("send", "sent", "--queue", queue, "-n", cluster.namesrv_addr, stdin=stdin)
    assert piped.stderr == "line 2 is empty: skipped, as no message has an empty body\n"
    head, *lines = piped.stdout.splitlines()
    assert head.split("\t") == ["status", "message id", "broker", "queue id", "offset"]
    assert [line.split("\t")[2:4] for line in lines] == [[broker, "1"]] * 2
    assert {b"l 1", b"l 2"} <= {one.body for one in cluster.messages("sent")}


def test_tail_shows_the_last_messages_in_order(cluster: fakemq.Cluster) -> None:
    found = rows("tail", "orders", "-c", "5", "-n", cluster.namesrv_addr)
    assert [row["stored_at_ms"] for row in found] == sorted(row["stored_at_ms"] for row in found)
    assert len(found) == 5
    every = rows("tail", "orders", "--from", "first", "-n", cluster.namesrv_addr)
    assert {row["body"] for row in every} == {f"body {number}" for number in range(24)}
    assert len(every) == 24
    assert every[0]["properties"]["TAGS"] == every[0]["tags"] == "paid"
    assert len(rows("tail", "orders", "--from", "10m", "-n", cluster.namesrv_addr)) == 24
    assert rows("tail", "orders", "--from", "2999-01-01T00:00", "-n", cluster.namesrv_addr) == []
    assert rows("tail", "orders", "--tags", "other", "-n", cluster.namesrv_addr) == []
    one = rows(
        "tail", "orders", "--queue", "broker-a:1", "--from", "first", "-n", cluster.namesrv_addr
    )
    assert {(row["broker"], row["queue_id"]) for row in one} == {("broker-a", 1)}
    line = run("tail", "orders", "-c", "1", "-n", cluster.namesrv_addr).stdout
    assert line.count("\n") == 1
    assert "tags=paid keys=k1 k2\tbody " in line


def test_tail_ends_at_the_cut_of_a_transaction_and_bytes_are_hex() -> None:
    with fakemq.Cluster(topics={"raw": 1}) as mq:
        mq.seed("raw", [b"\xff\x00", "two\nlines\x1b[31m"])
        binary, text = rows("tail", "raw", "-n", mq.namesrv_addr)
        assert (binary["body"], binary["body_hex"]) == (None, "ff00")
        shown = run("tail", "raw", "-n", mq.namesrv_addr).stdout.splitlines()
        assert shown[0].endswith("\t0xff00")
        assert shown[1].endswith("\ttwo\\nlines\\x1b[31m"), "a body cannot control a terminal"
        assert text["body"] == "two\nlines\x1b[31m"


def test_message_id_cannot_control_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    message = MessageExt(
        topic="raw",
        body=b"x",
        properties_string="UNIQ_KEY\x01id\x1b[31m\x02",
        queue_id=0,
        flag=0,
        queue_offset=0,
        commit_log_offset=0,
        sys_flag=0,
        body_crc=0,
        born_timestamp_ms=0,
        born_host=("127.0.0.1", 1),
        store_timestamp_ms=0,
        store_host=("127.0.0.1", 1),
        reconsume_times=0,
        prepared_transaction_offset=0,
        store_size_bytes=0,
    )
    print_message(message, "broker-a", as_json=False)
    assert "\tid\\x1b[31m\t" in capsys.readouterr().out


def test_browse_finds_a_message_by_either_id(cluster: fakemq.Cluster) -> None:
    message = cluster.messages("orders")[3]
    for args in ([message.msg_id], [message.offset_msg_id], [message.msg_id, "--topic", "orders"]):
        (found,) = rows("browse", *args, "-n", cluster.namesrv_addr)
        assert (found["message_id"], found["offset_id"]) == (message.msg_id, message.offset_msg_id)
        assert (found["body"], found["keys"]) == (message.body.decode(), "k1 k2")
    lines = run("browse", message.msg_id, "-n", cluster.namesrv_addr).stdout.splitlines()
    assert ["body", message.body.decode()] in [line.split("\t") for line in lines]


@pytest.mark.parametrize("command", ["browse", "trace"])
def test_key_instead_of_an_id_leads_to_the_ids(cluster: fakemq.Cluster, command: str) -> None:
    ids = [one.msg_id for one in cluster.messages("orders")]
    for args in (["k2"], ["k2", "--topic", "orders"]):
        errors = run(command, *args, "-n", cluster.namesrv_addr, exit_code=1).stderr
        assert "; it is a key of " in errors
        assert sum(f"{one} in orders" in errors for one in ids) == 3


def test_trace_follows_a_message_to_its_dead_letter() -> None:
    with fakemq.Cluster(topics={"orders": 1, "RMQ_SYS_TRACE_TOPIC": 1}, clock="frozen") as mq:
        consumer = mq.consumer(
            group="billing",
            subscribe="orders",
            on_message=lambda message: message.retry_later(-1),
            consume_from="first",
        )
        producer = mq.producer(trace=True)
        sent = producer.send("orders", b"void")
        mq.clock.advance("30s")
        assert consumer.received
        found = rows("trace", sent.message_id, "-n", mq.namesrv_addr)
    steps = [(row["step"], row["where"].split()[0]) for row in found if row["kind"] == "step"]
    assert steps == [("sent", "producer"), ("stored", "orders"), ("dead letter", "%DLQ%billing")]
    (consumed,) = (row for row in found if row["kind"] == "consumed")
    assert (consumed["group"], consumed["members"]) == ("billing", 1)
    assert consumed["state"] == "its offset is beyond the message"


def test_topic_that_is_created_on_purpose_may_be_almost_like_another() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as mq:
        run("send", "order", "x", "--create", "-n", mq.namesrv_addr)
        run("send", "refunds", "x", "-n", mq.namesrv_addr)
        assert [len(mq.messages(one)) for one in ("order", "refunds", "orders")] == [1, 1, 0]


@pytest.mark.parametrize(("reference", "waits"), [("4.9.7", "DELAY"), ("5.5.0", "TIMER_OUT_MS")])
def test_delay_of_a_send_is_what_the_brokers_know(reference: Any, waits: str) -> None:
    with fakemq.Cluster(reference=reference, topics={"orders": 1}, clock="frozen") as mq:
        run("send", "orders", "x", "--delay", "10s", "-n", mq.namesrv_addr)
        assert mq.messages("orders") == []
        mq.clock.advance("12s")
        (message,) = mq.messages("orders")
        assert waits in message.properties


def test_keys_and_tls_reach_the_cluster(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("accounts")
    (folder / "acl.yml").write_text(
        'accounts:\n- accessKey: administrator\n  secretKey: "12345678"\n  admin: true\n'
    )
    with fakemq.Cluster(topics={"orders": 1}, acl=folder / "acl.yml", tls="enforcing") as mq:
        at = ("-n", mq.namesrv_addr, "--tls")
        keys = ("--access-key", "administrator", "--secret-key", "12345678")
        (row,) = rows("send", "orders", "x", *at, *keys)
        assert row["status"] == "SEND_OK"
        assert [one["body"] for one in rows("tail", "orders", *at, *keys)] == ["x"]
        refused = run("queues", "orders", *at, exit_code=1)
        assert "No accessKey" in refused.stderr or "accessKey" in refused.stderr


def test_watch_looks_again_until_it_is_interrupted(
    cluster: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[int] = []

    def poll(self: Client, *, timeout_ms: int) -> None:
        waits.append(timeout_ms)
        if len(waits) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Client, "poll", poll)
    found = rows("brokers", "--watch", "300ms", "-n", cluster.namesrv_addr)
    assert (len(found), waits) == (6, [300] * 3)
    waits.clear()
    run("brokers", "--watch", "-n", cluster.namesrv_addr)
    assert waits == [2000] * 3


def test_follow_shows_messages_as_they_come(cluster: fakemq.Cluster) -> None:
    from fakemq.commands.running_cluster import RunningCluster
    from fakemq.commands.tail import TailReader, chosen_queues
    from fakemq.protocol.topics import TOOLS_GROUP

    asked = RunningCluster(cluster.namesrv_addr, {"consumer_group": TOOLS_GROUP})
    with Client(cluster.namesrv_addr) as sender:
        reader = TailReader(asked, chosen_queues(asked, "empty", None), last=0)
        reader.read_to_end()
        seen: list[bytes] = []

        def on_message(message: object, broker: str) -> None:
            seen.append(getattr(message, "body"))  # noqa: B009
            if len(seen) == 3:
                raise KeyboardInterrupt
            sender.send(Message("empty", f"after {len(seen)}"))

        sender.send(Message("empty", "first"))
        with pytest.raises(KeyboardInterrupt):
            reader.follow(on_message)
    asked.close()
    assert seen == [b"first", b"after 1", b"after 2"]


def test_shell_completes_commands_and_names(cluster: fakemq.Cluster) -> None:
    def completed(words: str, at: int) -> list[str]:
        environment = {
            "_FAKEMQ_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(at),
            "NAMESRV_ADDR": cluster.namesrv_addr,
        }
        done = CliRunner().invoke(main, [], prog_name="fakemq", env=environment)
        return [line.partition(",")[2] for line in done.output.split()]

    assert set(completed("fakemq br", 1)) == {"broker", "brokers", "browse"}
    assert completed("fakemq --ref", 1) == completed("fakemq serve --ref", 2) == ["--reference"]
    assert completed("fakemq --masters 2 --ref", 3) == ["--reference"]
    assert completed("fakemq tail or", 2) == ["orders"]
    assert completed("fakemq lag bi", 2) == ["billing"]
    assert completed("fakemq tail -n 127.0.0.1:1 or", 4) == []
    for shell in ("bash", "zsh", "fish"):
        assert "_FAKEMQ_COMPLETE" in run("completion", shell).stdout


def test_row_is_standard_json(cluster: fakemq.Cluster) -> None:
    text = run(
        "browse", cluster.messages("orders")[0].msg_id, "-n", cluster.namesrv_addr, "--json"
    ).stdout
    assert json.loads(text)["reconsume_times"] == 0
