"""Deprecated name of `fakemq.journal.file`, for one release."""

from __future__ import annotations

import warnings

from fakemq.journal.file import JournalFile as JournalFile
from fakemq.journal.file import read as read

warnings.warn(
    "fakemq.journal_file is now fakemq.journal.file; the old name goes with the next release",
    DeprecationWarning,
    stacklevel=2,
)
