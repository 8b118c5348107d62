"""The xdist groups of live tests: a worker runs a whole group, one test after the other.

Two of them and Spark's run side by side on two cores. There are two cases:

1. `CROWDED` tests start enough clients, or send enough, to fill a machine: many Java clients, or
   the official gRPC clients of five languages. Two such tests at once would be late for the
   clients' time-outs of 3 s.
2. `WAITING` tests start a few JVMs and wait most of the time: for leases, heartbeats, time-outs.

A live test of neither group may run on any worker, beside both, and at a lower priority. Tests of
stores and of single requests are such: no client of theirs has time-outs.
"""

from __future__ import annotations

import pytest

CROWDED = pytest.mark.xdist_group("crowded")
WAITING = pytest.mark.xdist_group("waiting")
