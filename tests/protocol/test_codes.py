"""The names of codes, whose numbers two references may use."""

from __future__ import annotations

import pytest

from fakemq.protocol.codes import RequestCode, response_name
from fakemq.protocol.v5.codes import RequestCode5


@pytest.mark.parametrize(
    ("code", "request_code", "name"),
    [
        (0, RequestCode.SEND_MESSAGE, "SUCCESS"),
        (0, RequestCode5.POP_MESSAGE, "SUCCESS"),
        (210, None, "DELETE_ACL_CONFIG_FAILED"),
        (210, RequestCode.DELETE_ACL_CONFIG, "DELETE_ACL_CONFIG_FAILED"),
        (210, RequestCode5.POP_MESSAGE, "POLLING_TIMEOUT"),
        (29, RequestCode.SEND_MESSAGE, "INVALID_PARAMETER"),
        (9_999, RequestCode5.POP_MESSAGE, "code 9999"),
    ],
)
def test_name_of_an_answer_fits_its_request(code: int, request_code: int | None, name: str) -> None:
    assert response_name(code, request_code) == name
