"""What a command that looks at a running cluster says of a wrong name, option, address or port."""

from __future__ import annotations

import socket

import pytest

import fakemq
from fakemq.cli import SECTIONS
from tests.support.command_line import run

LOOKING = SECTIONS["Look at a running cluster, fake or real"]

pytestmark = pytest.mark.usefixtures("billing")


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["lag", "biling"], "there is no group 'biling'; did you mean billing?"),
        (["groups", "billng"], "there is no group 'billng'; did you mean billing?"),
        (["tail", "order"], "there is no topic 'order'; did you mean orders?"),
        (["topics", "order"], "there is no topic 'order'; did you mean orders?"),
        (["queues", "order"], "there is no topic 'order'; did you mean orders?"),
        (["lag", "billing", "--topic", "order"], "there is no topic 'order'; did you mean orders?"),
        (["clients", "billng"], "there is no group 'billng'; did you mean billing?"),
        (
            ["send", "order", "x"],
            "there is no topic 'order'; did you mean orders? --create creates",
        ),
        (["browse", "AB"], "there is no message AB in any of "),
        (["browse", "k2"], "there is no message k2 in any of "),
    ],
    ids=" ".join,
)
def test_name_that_does_not_exist_is_an_error(
    cluster: fakemq.Cluster, args: list[str], error: str
) -> None:
    assert run(*args, "-n", cluster.namesrv_addr, exit_code=1).stderr.startswith(f"Error: {error}")


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["send", "orders", "x", "--property", "novalue"], "--property=novalue: expected NAME="),
        (["tail", "orders", "--queue", "x:1"], "--queue=x:1: orders has no such queue; there"),
        (["tail", "orders", "--from", "noon"], "--from=noon: expected first, a time such as"),
        (["tail", "orders", "--tags", "a", "--sql", "b"], "give --tags or --sql, not both"),
        (["tail", "orders", "--sql", ""], "--sql='': expected an expression, such as"),
        (["send", "orders", "x", "--delay", "7s"], "--delay='7s': no delay level waits so long"),
        (["send", "orders", "x", "--delay", "1s", "--delay-level", "2"], "give --delay or"),
        (["topics", "--watch", "1ms"], "--watch=1ms: expected at least 100ms"),
        (["topics", "--timeout", "0"], "--timeout=0 ms: expected over 0"),
        (["topics", "--access-key", "a"], "--access-key and --secret-key belong together: give"),
        (["topics", "--tls-key-file", "a"], "--tls-cert-file and --tls-key-file belong together"),
        (["topics", "--timeout", "a"], "--timeout='a': expected a duration such as"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_option_is_bad_input(cluster: fakemq.Cluster, args: list[str], error: str) -> None:
    found = run(*args, "-n", cluster.namesrv_addr, exit_code=2)
    assert found.stderr.startswith(f"Error: {error}")


def test_wrong_address_is_named_by_its_option() -> None:
    found = run("topics", "-n", "bad", exit_code=2)
    assert found.stderr == "Error: --namesrv='bad': expected 'host:port', several joined by ';'\n"
    assert "None" not in run("topics", "-n", ";", exit_code=2).stderr


@pytest.mark.parametrize("name", LOOKING)
def test_missing_cluster_is_one_line(name: str) -> None:
    arguments = {"topics": [], "groups": [], "brokers": [], "clients": []}.get(name, ["x"])
    found = run(
        name, *arguments, *(["y"] if name == "send" else []), "-n", "127.0.0.1:1", exit_code=1
    )
    assert "no name server answers, start one there or name another by -n" in found.stderr
    assert found.stderr.count("\n") == 1


def test_port_of_something_else_is_one_line(cluster: fakemq.Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        addr = "{}:{}".format(*other.getsockname())
        error = run("topics", "-n", addr, "--timeout", "50ms", exit_code=1).stderr
    assert f"<{addr}>" in error
    assert error.endswith("no name server answers there, name another by -n or $NAMESRV_ADDR\n")


def test_mistyped_command_is_named_with_the_one_that_was_meant() -> None:
    assert "there is no command 'topic'; did you mean topics?" in run("topic", exit_code=2).stderr
    assert "there is no command 'xyz'\n" in run("xyz", exit_code=2).stderr


def test_sql_without_its_key_names_the_key(cluster: fakemq.Cluster) -> None:
    result = run("tail", "orders", "--sql", "a > 1", "-n", cluster.namesrv_addr, exit_code=1)
    assert result.stderr.endswith(" its config needs enablePropertyFilter=true\n")


def test_message_that_fails_is_named_where_there_are_others(cluster: fakemq.Cluster) -> None:
    cluster.faults.error("send", code=13, on_call=2)
    result = run("send", "orders", "a", "b", "c", "-n", cluster.namesrv_addr, exit_code=1)
    assert len(result.stdout.splitlines()) == 1 + (result.stdout.startswith("status"))
    assert result.stderr.startswith("'b' failed; stored before it: 1 message\nError: ")


@pytest.mark.parametrize(
    ("args", "note"),
    [
        (["--tags", "payed"], "none of 8 messages matches 'payed'\n"),
        (["--from", "2100-01-01"], "there is no message since then\n"),
    ],
    ids=" ".join,
)
def test_tail_says_why_it_shows_nothing(
    cluster: fakemq.Cluster, args: list[str], note: str
) -> None:
    result = run("tail", "orders", *args, "-c", "1", "-n", cluster.namesrv_addr)
    assert (result.stdout, result.stderr) == ("", note)


def test_topic_that_cannot_exist_is_refused_before_a_near_one_is_named(
    cluster: fakemq.Cluster,
) -> None:
    result = run("send", "or ders", "x", "-n", cluster.namesrv_addr, exit_code=1)
    assert result.stderr.startswith("Error: The specified topic[or ders] contains illegal")


@pytest.mark.parametrize("args", [["--tls", "--namesrv-port", "0"], ["--store", "--namesrvs"]])
def test_option_in_the_place_of_a_value_is_named(args: list[str]) -> None:
    result = run("serve", *args, exit_code=2)
    assert f"Invalid value for '{args[0]}': expected a value (" in result.stderr
    assert result.stderr.endswith(f") before {args[1]}\n")
