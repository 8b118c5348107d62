"""Which form of fakemq the tests run on: the sources, or the compiled modules of a wheel."""

from __future__ import annotations

import pytest

from fakemq.store import store

COMPILED = not (store.__file__ or "").endswith(".py")

pure_only = pytest.mark.skipif(COMPILED, reason="it replaces what compiled modules call directly")
"""For tests that replace a method or a name that one compiled module calls in another."""
