"""The name under which users imported the codes of RocketMQ 5 before."""

from __future__ import annotations

import importlib

import pytest

from fakemq.protocol.v5.codes import RequestCode5


def test_former_name_of_the_codes_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match=r"is fakemq\.protocol\.v5\.codes now"):
        former = importlib.import_module("fakemq.protocol.codes_5_5_0")
    assert former.RequestCode5 is RequestCode5
