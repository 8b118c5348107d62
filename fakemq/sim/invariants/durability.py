"""SEND_OK is a promise: what was promised to be kept is found again where it was said to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from fakemq.sim.events import Sent
from fakemq.sim.history import History, Violation, broker_name

if TYPE_CHECKING:
    from fakemq.sim.plan import ClusterPlan

NAME = "SEND_OK is kept"
SEND_OK = "SEND_OK"

IsStored: TypeAlias = Callable[[str, int, str], bool]
"""Whether any machine of a brokerName has a message at an offset of its log, by its id."""


def promises(cluster: ClusterPlan, lost_from: Mapping[str, int]) -> Callable[[Sent], bool]:
    """Whether a SEND_OK is a promise to keep the message, although machines were lost.

    ``lost_from`` are nodes that lost what was not flushed, and from which offset of their logs on.
    A SYNC_FLUSH outlives every loss, a SYNC_MASTER that of one machine, and a killed process takes
    nothing with it.
    """

    def promised(sent: Sent) -> bool:
        lost = sum(
            broker_name(node) == sent.broker and start <= sent.phy_offset
            for node, start in lost_from.items()
        )
        return (
            lost == 0
            or cluster.flush == "SYNC_FLUSH"
            or (cluster.role == "SYNC_MASTER" and lost == 1)
        )

    return promised


def lost_messages(
    history: History, promised: Callable[[Sent], bool], is_stored: IsStored
) -> Iterator[Violation]:
    """Messages whose senders were told SEND_OK and that nobody has."""
    for sent in history.of(Sent):
        if sent.status != SEND_OK or not promised(sent):
            continue
        if not is_stored(sent.broker, sent.phy_offset, sent.msg_id):
            yield Violation(
                NAME,
                f"{sent.key} ({sent.msg_id}) was sent to {sent.broker}, offset {sent.phy_offset}"
                " of its log, and answered SEND_OK; nobody has it there",
                (sent.key, sent.msg_id),
            )
