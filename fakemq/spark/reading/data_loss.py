"""What is said where messages that were to be read are not there any more."""

from __future__ import annotations

import warnings

from fakemq.errors import FakemqError

ADVICE = (
    "some messages may be lost: they were aged out, the topic was made anew, or a broker came back"
    " without its newest ones"
)


class DataLossError(FakemqError):
    """Messages that were to be read are not there any more."""


class DataLossWarning(UserWarning):
    """As `DataLossError`, where ``failOnDataLoss`` is false."""


def report_data_loss(what: str, goes_on: str, *, fail: bool) -> None:
    """Raise or warn, as ``failOnDataLoss`` says; ``goes_on`` tells how it goes on after a warning.

    A text is said once in a process.
    """
    if fail:
        raise DataLossError(
            f"rocketmq: {what}: {ADVICE}. To go on from what is there, set failOnDataLoss to false."
        )
    warnings.warn(f"rocketmq: {what}: {ADVICE}; {goes_on}", DataLossWarning, stacklevel=3)
