"""What a name server of 5.5.0 answers alone, or otherwise than one of 4.9.7: one module a code.

A module is named like its code, and is found by being here.
"""

from __future__ import annotations

from typing import Final

from fakemq.dispatch.registry import Handlers
from fakemq.namesrv.namesrv import NameServer
from fakemq.namesrv.namesrv import handles as earlier

handles: Final[Handlers[NameServer]] = Handlers("fakemq.namesrv.v5.handlers", earlier=earlier)
"""The decorator that registers a handler for name servers of 5.5.0."""
