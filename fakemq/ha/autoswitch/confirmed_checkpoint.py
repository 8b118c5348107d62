"""The file ``checkpoint`` of a store under a controller: it also has the confirm offset.

Source: store/StoreCheckpoint.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fakemq.protocol.layout.autoswitch_codecs import CHECKPOINT_TAIL
from fakemq.protocol.layout.codecs import CHECKPOINT
from fakemq.store.checkpoint import StoreCheckpoint

if TYPE_CHECKING:
    from fakemq.store.files import File


class Confirming(Protocol):
    """A store with a confirm offset."""

    confirm_offset: int


class ConfirmedCheckpoint(StoreCheckpoint):
    """The checkpoint of a store, which gets its confirm offset of the file."""

    def __init__(self, store: Confirming, file: File) -> None:
        self._store = store
        tail = CHECKPOINT_TAIL.unpack(file.read(CHECKPOINT.size, CHECKPOINT_TAIL.size))
        self._master_flushed_offset, store.confirm_offset = tail
        super().__init__(file)

    @property
    def counts_to(self) -> int:
        """A store that was stopped brings all of its log to the queues, as Java's does.

        Source: store/CommitLog.java#recoverAbnormally, #recoverNormally (5.5.0)
        """
        return self._store.confirm_offset

    def _packed(self) -> bytes:
        offsets = self._master_flushed_offset, self._store.confirm_offset
        return super()._packed() + CHECKPOINT_TAIL.pack(*offsets)
