"""Ctrl-C during an audit leaves no traceback of py4j."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("pyspark")

from fakemq.spark.audit.command import _interrupt_unlogged


def test_interrupt_is_not_logged_but_other_errors_are(caplog: pytest.LogCaptureFixture) -> None:
    def log(error: type[BaseException]) -> None:
        try:
            raise error
        except error:
            logging.exception("while sending command")  # as py4j does it

    with _interrupt_unlogged():
        log(KeyboardInterrupt)
        assert caplog.records == []
        log(ValueError)
    log(KeyboardInterrupt)
    assert len(caplog.records) == 2
