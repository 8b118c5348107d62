"""The store of a small cluster that was stopped, with several files of each kind."""

from __future__ import annotations

from pathlib import Path

import fakemq

NODE = "broker-a-0"
SIZES = {
    "mappedFileSizeCommitLog": 4096,
    "mappedFileSizeConsumeQueue": 400,
    "maxHashSlotNum": 50,
    "maxIndexNum": 100,  # an index of the default size has 420 MB, and each test copies it
}


def write_node(root: Path) -> Path:
    """Write a store into ``root``; return its node's folder."""
    with fakemq.Cluster(store=str(root), topics={"orders": 1}, config=SIZES) as mq:
        mq.seed("orders", [b"x" * 300] * 60)
    return root / NODE
