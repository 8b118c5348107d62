"""Tables that a slave under a controller copies from its master: more often than other slaves.

Source: broker/controller/ReplicasManager.java#handleSlaveSynchronize (5.5.0)
"""

from __future__ import annotations

from fakemq.ha.v5.metadata_sync import SlaveSynchronize5


class SwitchedSlaveSynchronize(SlaveSynchronize5):
    """Copies the master's tables every 12 s, and the progress of its timers every 3 s."""

    first_ms = 3_000
    all_first_ms = all_period_ms = 12_000
