"""The control port: which clients may ask, what errors look like, the OpenAPI description."""

from __future__ import annotations

import re
import socket
from typing import Any

import pytest

import fakemq
from fakemq.client.blocking import Client
from fakemq.control.endpoints import BODY_MAX_BYTES, SEED_MAX_BYTES, STRINGS_MAX
from fakemq.control.routes import ENDPOINTS
from fakemq.errors import ConfigError, FakemqError
from fakemq.events import HandlerFailed
from fakemq.handles.cluster import ClusterBase
from fakemq.journal import json_text
from tests.support.control import Http

# -- which clients may ask ------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "[::1", "127.0.0.1.evil"])
@pytest.mark.parametrize("path", ["/v1/state", "/", "/docs"])
def test_foreign_host_name_is_refused(http_client: Http, path: str, host: str) -> None:
    answer = http_client.ask("GET", path, headers={"Host": host})
    assert answer.status == 403
    assert answer.error.endswith("expected one of: 127.0.0.1, ::1, localhost")


def test_every_loopback_address_is_guarded() -> None:
    with fakemq.Cluster(control_port=0, control_listen="127.0.0.2") as mq:
        assert mq.control_url is not None
        there = Http(mq.control_url)
        assert there.ask("GET", "/v1/state").status == 200
        assert there.ask("GET", "/v1/state", headers={"Host": "evil.example"}).status == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:2", "[::1]:3"])
def test_names_of_this_machine_are_accepted(http_client: Http, host: str) -> None:
    assert http_client.ask("GET", "/v1/clock", headers={"Host": host}).status == 200


def test_foreign_origin_is_refused(http_client: Http) -> None:
    path = "/v1/brokers/broker-a/kill"
    for origin in ("http://evil.example", "null", "https://127.0.0.1"):
        answer = http_client.ask("POST", path, headers={"Origin": origin})
        assert (answer.status, answer.error) == (
            403,
            f"pages of {origin} may not send requests here",
        )
    assert http_client.get("/v1/brokers/broker-a")["state"] == "running"
    assert http_client.ask("GET", "/v1/state", headers={"Origin": http_client.url}).status == 200


def test_token_is_required_except_for_name_server_discovery() -> None:
    with fakemq.Cluster(control_port=0, control_token="sésame") as mq:
        assert mq.control_url is not None
        there = Http(mq.control_url)
        for headers in ({}, {"Authorization": "Bearer sesame"}, {"Authorization": "sésame"}):
            for method, path in (("GET", "/v1/state"), ("GET", "/openapi.json"), ("PUT", "/v1/x")):
                answer = there.ask(method, path, headers=encoded(headers))
                assert answer.status in ((401,) if "x" not in path else (404,))
            assert there.ask("PATCH", "/v1/state", headers=encoded(headers)).status == 401
        assert answer.headers["WWW-Authenticate"] is None
        allowed = encoded({"Authorization": "Bearer sésame"})
        assert there.ask("GET", "/v1/state", headers=allowed).status == 200
        assert there.get("/rocketmq/nsaddr") == mq.namesrv_addr


def encoded(headers: dict[str, str]) -> dict[str, str]:
    """Headers whose bytes are UTF-8, as http.client sends Latin-1."""
    return {name: value.encode().decode("latin-1") for name, value in headers.items()}


def test_token_is_required_away_from_loopback() -> None:
    with pytest.raises(ConfigError, match=r"control_listen=0\.0\.0\.0: .* needs a control_token"):
        fakemq.Cluster(control_port=0, control_listen="0.0.0.0")
    with pytest.raises(ConfigError, match="control_token is empty"):
        fakemq.Cluster(control_port=0, control_token="")
    with fakemq.Cluster(control_port=0, control_listen="0.0.0.0", control_token="t") as mq:
        assert mq.control_url is not None
        there = Http(mq.control_url.replace("0.0.0.0", "127.0.0.1"))
        headers = {"Host": "any.name", "Authorization": "Bearer t"}
        assert there.ask("GET", "/v1/state", headers=headers).status == 200


# -- errors -----------------------------------------------------------------------------------


def test_unknown_path_is_refused(http_client: Http) -> None:
    nowhere = http_client.ask("GET", "/v2/state")
    assert nowhere.status == 404
    assert nowhere.error == "there is no /v2/state; GET /openapi.json lists the paths"
    assert http_client.ask("GET", "/v1/state/").status == 404
    other = http_client.ask("DELETE", "/v1/topics")
    assert (other.status, other.headers["Allow"]) == (405, "GET")
    assert other.error == "/v1/topics has no DELETE; it has: GET"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "the body is no JSON: Input data was truncated"),
        (b'{"duration": "\xff"}', "the body is no JSON: "),
        (b'{"duration": "\\ud800"}', "no JSON: \\ud800 is only half of a surrogate pair"),
        (b'{"duration": "\\udc00, or more"}', "no JSON: \\udc00 is only half of a surrogate pair"),
        (b'{"duration": "\\ud83d\\ude00"', "the body is no JSON: Input data was truncated"),
        (b'{"duration": 1e30}', '"1m30s", "500ms", or a number of seconds'),
        (b"[]", "Expected `object`, got `array`; the body may have: duration, outside_peers"),
        (b"", "Object missing required field `duration`"),
        (b'{"duration": "2 years"}', "advance='2 years': expected a duration such as "),
        (b'{"duration": 1, "outside": true}', "Object contains unknown field `outside`"),
        (b'{"duration": null}', "Expected `int | float | str`, got `null` - at `$.duration`"),
    ],
)
def test_invalid_bodies_are_refused(http_client: Http, body: bytes, message: str) -> None:
    answer = http_client.ask("POST", "/v1/clock/advance", body)
    assert answer.status == 400
    assert message in answer.error


def test_oversized_body_is_refused(http_client: Http) -> None:
    answer = http_client.ask("POST", "/v1/reset", b" " * (BODY_MAX_BYTES + 1))
    assert (answer.status, answer.error) == (413, "the body has over 1 MiB")


def test_seeding_takes_a_larger_body(http_client: Http) -> None:
    path, blanks = "/v1/topics/orders/messages", b" " * BODY_MAX_BYTES
    assert len(http_client.post(path, b'{"bodies": ["one"]}' + blanks)) == 1
    answer = http_client.ask("POST", path, b" " * (SEED_MAX_BYTES + 1))
    assert (answer.status, answer.error) == (413, "the body has over 16 MiB")


@pytest.mark.parametrize("string", [b'"a"', b'"\\\\"'])
def test_body_of_too_many_strings_is_refused(http_client: Http, string: bytes) -> None:
    body = b'{"bodies": [' + b",".join([string] * (2 * STRINGS_MAX + 2)) + b"]}"
    answer = http_client.ask("POST", "/v1/topics/orders/messages", body)
    assert answer.status == 413
    assert re.search(r"has about \d+ strings; expected at most 200000", answer.error)


def test_quotes_inside_a_text_are_no_strings(http_client: Http) -> None:
    text = '"' * (2 * STRINGS_MAX + 2)
    (seeded,) = http_client.post("/v1/topics/orders/messages", {"bodies": [text]})
    assert seeded["text"] == text


def test_unexpected_query_is_refused(http_client: Http) -> None:
    answer = http_client.ask("GET", "/v1/state?nodes=1")
    assert answer.error == "GET /v1/state takes no query parameters"


def test_bug_is_500_and_in_the_journal(
    mq: fakemq.Cluster, http_client: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> list[str]:
        raise KeyError("a bug")

    monkeypatch.setattr(ClusterBase, "topics", lambda self: fail())
    answer = http_client.ask("GET", "/v1/topics")
    assert (answer.status, answer.error) == (
        500,
        "a bug in fakemq: KeyError('a bug'); the journal has its traceback",
    )
    (failed,) = mq.journal.find(HandlerFailed)
    assert "in fail" in failed.traceback
    mq.reset()  # or this test fails for it


def test_client_that_leaves_within_a_body_is_no_bug(mq: fakemq.Cluster, http_client: Http) -> None:
    assert mq.control_url is not None
    addr = ("127.0.0.1", int(mq.control_url.rpartition(":")[2]))
    before_ms = mq.clock.now_ms()
    with socket.create_connection(addr) as peer:
        peer.sendall(b"POST /v1/clock/advance HTTP/1.1\r\nHost: localhost\r\n")
        peer.sendall(b"Content-Length: 99\r\n\r\n{")
        http_client.get("/v1/clock")  # the half has been read when this is answered
    http_client.get("/v1/clock")
    assert mq.journal.find(HandlerFailed) == []
    assert mq.clock.now_ms() == before_ms


def test_texts_with_surrogates_are_shown() -> None:
    assert json_text.encoded({"a": ["\ud800", range(2)]}) == b'{"a":["?",[0,1]]}'


# -- the port ---------------------------------------------------------------------------------


def test_port_in_use_is_an_error(mq: fakemq.Cluster) -> None:
    assert mq.control_url is not None
    port = int(mq.control_url.rpartition(":")[2])
    other = fakemq.Cluster(control_port=port)
    with pytest.raises(FakemqError, match=rf"port {port} on 127.0.0.1 \(control port\) is in use"):
        other.start()
    assert not other.running


def test_invalid_http_is_logged_by_our_logger(
    mq: fakemq.Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    assert mq.control_url is not None
    host, _, port = mq.control_url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), 10) as peer:
        peer.sendall(b"nonsense\r\n\r\n")
        assert peer.recv(100).startswith(b"HTTP/1.1 400 ")
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("fakemq", "WARNING")


def test_remoting_client_at_the_control_port_is_named(
    mq: fakemq.Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    assert mq.control_url is not None
    with pytest.raises(FakemqError), Client(mq.control_url.removeprefix("http://")) as client:
        client.topic_names()
    (record,) = caplog.records
    assert "with bytes of RocketMQ's remoting protocol: this is the control port" in record.message


def test_cluster_has_no_control_port_by_default() -> None:
    with fakemq.Cluster() as plain:
        assert plain.control_url is None


def test_stopped_control_port_is_free_again() -> None:
    with fakemq.Cluster(control_port=0) as first:
        url = first.control_url
        assert url is not None
        Http(url).get("/v1/state")
    with fakemq.Cluster(control_port=int(url.rpartition(":")[2])) as second:
        assert second.control_url == url
        Http(url).get("/v1/state")


# -- the description --------------------------------------------------------------------------


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [one for part in value.values() for one in references(part)]
    if isinstance(value, list):
        return [one for part in value for one in references(part)]
    return []


def test_every_endpoint_is_described(http_client: Http) -> None:
    document = http_client.get("/openapi.json")
    assert document["openapi"] == "3.1.0"
    described = {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert described.keys() == {(one.method, one.path) for one in ENDPOINTS}
    names = [operation["operationId"] for operation in described.values()]
    assert len(set(names)) == len(names)
    for (_, path), operation in described.items():
        assert operation["summary"].endswith(".")
        in_path = [one["name"] for one in operation["parameters"] if one["in"] == "path"]
        assert in_path == re.findall(r"{(\w+)}", path)
        assert {"200", "default"} == operation["responses"].keys()
    for reference in references(document):
        assert reference.removeprefix("#/components/schemas/") in document["components"]["schemas"]


def test_endpoints_take_what_is_described(http_client: Http) -> None:
    document = http_client.get("/openapi.json")
    seed = document["paths"]["/v1/topics/{topic}/messages"]["post"]
    assert seed["requestBody"]["required"]
    schema = document["components"]["schemas"]["Seed"]
    assert schema["required"] == ["bodies"]
    assert schema["properties"].keys() == {"bodies", "tags", "keys", "properties", "queue"}
    journal = document["paths"]["/v1/journal"]["get"]["parameters"]
    assert [one["name"] for one in journal] == [
        *("kind", "where", "since", "epoch", "limit", "timeout"),
    ]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("mode", ["no-cors", "cors", "navigate"])
def test_get_of_a_foreign_page_is_refused(http_client: Http, site: str, mode: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
    for path in ("/v1/state", "/v1/journal?timeout=1h", "/openapi.json", "/rocketmq/nsaddr"):
        answer = http_client.ask("GET", path, headers=headers)
        assert (answer.status, answer.error) == (
            403,
            f"pages of other origins may not send requests here ({site})",
        )


def test_link_of_a_foreign_page_leads_to_the_pages_only(http_client: Http) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    for path in ("/", "/docs"):
        assert http_client.ask("GET", path, headers=headers).status == 200
    script = headers | {"Sec-Fetch-Mode": "no-cors"}
    assert http_client.ask("GET", "/page/common.js", headers=script).status == 403
    for site in ("same-origin", "none"):
        assert http_client.ask("GET", "/v1/state", headers={"Sec-Fetch-Site": site}).status == 200


def test_spec_does_not_print_its_token() -> None:
    with fakemq.Cluster(control_port=0, control_token="open-sesame") as mq:
        assert "open-sesame" not in repr(mq.inspect(lambda core: core.spec))
