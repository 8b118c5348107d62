"""The errors that a client may raise."""

from __future__ import annotations

from fakemq.client import errors
from fakemq.errors import FakemqError

ERRORS = tuple(
    one
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, FakemqError) and one is not FakemqError
)
