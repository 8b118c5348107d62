"""The kinds of consumers that a plan may have."""

from __future__ import annotations

from fakemq.sim.consumers import Consumer, Member, Reader
from fakemq.sim.poppers import OrderedPopper, Popper

KINDS: dict[str, type[Consumer]] = {
    "member": Member,
    "popper": Popper,
    "ordered_popper": OrderedPopper,
    "reader": Reader,
}
"""To add a kind, add a row: a class that is made of the cluster, its plan and what draws for it."""
