"""A name server of RocketMQ 5.3.2 does what one of 5.5.0 does."""

from __future__ import annotations

from typing import Final

from fakemq.namesrv.v5.namesrv import NameServer5

NAME_SERVER: Final = NameServer5
