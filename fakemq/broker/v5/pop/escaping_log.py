"""The records of POP at a broker that may act for its master: a slave's go to another broker.

There they come into one queue of the revive topic, so that an acknowledgement finds its checkpoint.
It does not find one that the master has stored before it went away: what that names comes again.

Source: broker/processor/PopBufferMergeService.java#addCkJustOffset, #putCkToStore,
AckMessageProcessor.java#appendAck (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.broker.v5.pop.revive_log import STORED, Begun, ReviveLog
from fakemq.later import Later, drive
from fakemq.protocol.properties import MadeProperties

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.broker.sending.puts import Put
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Waits
    from fakemq.protocol.bodies.pop import PopCheckPoint
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.puts import PutMessageResult
    from fakemq.store.store import StoreRole

MOST_REFUSED: Final = 10_000
"""The most checkpoints that wait at a slave for another master. Java keeps all."""


class EscapingReviveLog(ReviveLog):
    """Writes the records of one broker; those of a slave are under way for a while.

    What answers a client does not wait for them, unless its answer depends on it.

    A slave keeps a refused checkpoint if another broker may take it later, and at most
    `MOST_REFUSED`. The offset of a group stays before one that is not kept: its messages come again
    at the master. So it is in Java without enableRemoteEscape, which keeps what no broker takes.
    """

    def __init__(self, node: NodeContext[BrokerConfig], role: StoreRole, *, put: Put) -> None:
        super().__init__(node, role, put=self._begin)
        self._escape = put
        self._sends_again: Later[None] | None = None
        """The end of the last try to send what was refused."""

    def _begin(self, message: InnerMessage) -> PutMessageResult | Begun:
        # What goes to another broker is encoded again, with one property more.
        message.properties = MadeProperties(message.properties)
        put = self._escape(message)
        return Begun(put) if isinstance(put, Later) else put

    def keep_checkpoint(
        self, ck: PopCheckPoint, revive_queue_id: int, stored: Callable[[], None]
    ) -> bool:
        if not self._role.is_slave:
            return super().keep_checkpoint(ck, revive_queue_id, stored)
        sent = drive(self._send(ck, revive_queue_id, stored))
        if sent.done:
            return sent.result()
        sent.when_done(lambda: stored() if sent.result() else None)
        return False

    def _send(
        self, ck: PopCheckPoint, revive_queue_id: int, stored: Callable[[], None]
    ) -> Waits[bool]:
        """Send a checkpoint, and keep one that is refused; return whether it is stored."""
        life, put = self._life, self._put_checkpoint(ck, revive_queue_id)
        result: PutMessageResult | Begun = (yield put.put) if isinstance(put, Begun) else put
        if life != self._life:
            return False  # stopped meanwhile
        if result.status in STORED:
            return True
        self._keep_refused(ck, revive_queue_id, stored)
        return False

    def _keep_refused(
        self, ck: PopCheckPoint, revive_queue_id: int, stored: Callable[[], None]
    ) -> None:
        if self._role.is_slave and (
            not self._settings.enable_remote_escape or len(self._refused) >= MOST_REFUSED
        ):
            return
        super()._keep_refused(ck, revive_queue_id, stored)

    def _put_refused(self) -> bool:
        """Put what was refused; a slave's records wait for no order, as each goes its own way."""
        return self._role.is_slave or super()._put_refused()

    def _retry(self) -> None:
        if not self._role.is_slave:
            super()._retry()
            return
        self._timer = None
        if self._sends_again is None or self._sends_again.done:
            sent = self._sends_again = drive(self._send_refused())
            sent.when_done(sent.result)  # raises what went wrong
        if self._refused:
            self._wait()

    def _send_refused(self) -> Waits[None]:
        """Send what was refused, one after the other, until one is refused again.

        All go into the same queue: what refuses one refuses the others, too. That one goes behind
        them, in case that the other broker refuses only it.
        """
        while self._refused:
            ck, revive_queue_id, stored = self._refused.popleft()
            if not (yield from self._send(ck, revive_queue_id, stored)):
                return
            stored()

    def put_checkpoint(self, ck: PopCheckPoint, revive_queue_id: int) -> bool | Later[bool]:
        """Store a checkpoint; a slave knows it once the other broker has answered."""
        if not self._role.is_slave:
            return super().put_checkpoint(ck, revive_queue_id)
        if self._comes_too_late(ck):
            return False
        put = self._put_checkpoint(ck, revive_queue_id)
        if not isinstance(put, Begun):
            return put.status in STORED
        waits, stored = put.put, Later[bool]()
        waits.when_done(lambda: stored.resolve(waits.result().status in STORED))
        return stored
