"""Errors and warnings when messages that should be read no longer exist."""

from __future__ import annotations

import warnings

from fakemq.errors import FakemqError

ADVICE = (
    "some messages may be lost: they were aged out, the topic was created again, or a broker came"
    " back without its newest ones"
)


class DataLossError(FakemqError):
    """Messages that should be read no longer exist."""


class DataLossWarning(UserWarning):
    """Like `DataLossError`, but a warning: ``failOnDataLoss`` is false."""


def report_data_loss(what: str, consequence: str, *, fail: bool) -> None:
    """Raise or warn, as ``failOnDataLoss`` says; ``consequence`` says what the reader does then.

    Python shows each warning text once in a process.
    """
    if fail:
        raise DataLossError(
            f"rocketmq: {what}: {ADVICE}. To continue with the messages that exist, set"
            " failOnDataLoss to false."
        )
    warnings.warn(f"rocketmq: {what}: {ADVICE}; {consequence}", DataLossWarning, stacklevel=3)
