"""What releases of RocketMQ have on the wire: the version of their clients, the names of codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fakemq.protocol.codes import ResponseCode, code_name
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5

_LATER_REQUESTS: Mapping[int, str] = {code.value: code.name for code in RequestCode5}
"""Codes of 5.5.0; none of them means anything in 4.9.7."""
_RESPONSES: dict[int, str] = {code.value: code.name for code in ResponseCode}


class Release(NamedTuple):
    """One release, as its clients see it."""

    version: int
    """The number that its clients send. Source: common/MQVersion.java"""
    responses: Mapping[int, str]
    """Its response codes; some mean another thing in another release."""

    def request_name(self, code: int) -> str:
        """Return the name of a request code; ``code N`` for one that no release knows."""
        return _LATER_REQUESTS.get(code) or code_name(code)

    def response_text(self, code: int) -> str:
        """Return name and number of a response code; ``code N`` for one that it does not know."""
        return f"{self.responses[code]} ({code})" if code in self.responses else f"code {code}"


_RESPONSES_5 = _RESPONSES | {code.value: code.name for code in ResponseCode5}

RELEASES = {
    "4.9.7": Release(407, _RESPONSES),
    "5.3.2": Release(477, _RESPONSES_5),
    "5.5.0": Release(513, _RESPONSES_5),
}
