"""The xdist groups of live tests: a worker runs a whole group, one test after the other.

Three of them and Spark's run side by side on two cores. There are three cases:

1. `CROWDED` tests start enough clients, or send enough, to fill a machine: many Java clients,
   mqadmin, or nine brokers. Two such tests at once would be late for the clients' time-outs of 3 s.
2. `WAITING` tests start a few JVMs and wait half of the time: for leases, heartbeats, time-outs.
3. `PATIENT` tests wait for what takes ten seconds and more: for slaves, which connect after 5 s and
   report after 10, for timers, and for what comes again without an acknowledgement. They use a
   quarter of a core, and nothing in them is late when the machine is busy.

A live test of no group may run on any worker, beside all three, and at a lower priority. Tests of
stores and of single requests are such: no client of theirs has time-outs.
"""

from __future__ import annotations

import pytest

CROWDED = pytest.mark.xdist_group("crowded")
WAITING = pytest.mark.xdist_group("waiting")
PATIENT = pytest.mark.xdist_group("patient")
