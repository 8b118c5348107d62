"""How far a reader has read a journal that may be cleared meanwhile."""

from __future__ import annotations

from fakemq.journal.journal import Journal


class Cursor:
    """The place of one reader in a journal.

    A reset clears the journal, and numbers begin at 1 again. Numbers alone do not show that: the
    new journal may be longer than the old one when the reader looks again.
    """

    __slots__ = ("_epoch", "_journal", "_seq")

    def __init__(self, journal: Journal, seq: int = 0, epoch: int | None = None) -> None:
        """Begin after entry ``seq`` of an epoch of the journal; None is the present epoch.

        A number beyond the end, or of another epoch, means 0.
        """
        self._journal = journal
        self.seq = seq if epoch in (None, journal.epoch) else 0

    @property
    def epoch(self) -> int:
        """The epoch of the journal in which the last entry was read."""
        return self._epoch

    @property
    def seq(self) -> int:
        """The number of the last entry that was read; 0 if there is none in the present journal."""
        return self._seq if self._epoch == self._journal.epoch else 0

    @seq.setter
    def seq(self, seq: int) -> None:
        self._epoch = self._journal.epoch
        self._seq = seq if seq <= self._journal.last_seq else 0
