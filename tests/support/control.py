"""A plain HTTP client at a control port, and a message whose id is a path."""

from __future__ import annotations

import http.client
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

import fakemq
from fakemq.client import Client, Message


def send_with_id(mq: fakemq.Cluster, topic: str, msg_id: str) -> None:
    """Send a message with a unique id that no producer of ours would choose."""
    message = Message(topic, b"x")
    message.properties["UNIQ_KEY"] = msg_id
    with Client(mq.namesrv_addr) as client:
        client.send(message)


class Answer(NamedTuple):
    status: int
    json: Any
    headers: http.client.HTTPMessage

    @property
    def error(self) -> str:
        assert self.status >= 400, self.json
        error = self.json["error"]
        assert isinstance(error, str)
        return error


class Http:
    """Asks a control port; each request has a connection of its own."""

    def __init__(self, url: str, timeout_s: float = 10) -> None:
        self.url = url
        self._timeout_s = timeout_s

    def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=self._timeout_s)
        try:
            data = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
            given = {"Content-Type": "application/json"} if data is not None else {}
            connection.request(method, path, data, given | (headers or {}))
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        is_json = response.headers.get_content_type() == "application/json"
        return Answer(
            response.status,
            msgspec.json.decode(text) if is_json and text else text.decode(),
            response.headers,
        )

    def get(self, path: str) -> Any:
        return self._ok(self.ask("GET", path))

    def post(self, path: str, body: object = None) -> Any:
        return self._ok(self.ask("POST", path, body))

    def put(self, path: str, body: object) -> Any:
        return self._ok(self.ask("PUT", path, body))

    def delete(self, path: str) -> Any:
        return self._ok(self.ask("DELETE", path))

    @staticmethod
    def _ok(answer: Answer) -> Any:
        assert answer.status == 200, answer.json
        return answer.json
