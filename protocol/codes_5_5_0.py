"""Deprecated: the codes of RocketMQ 5 are in `fakemq.protocol.v5.codes`."""

import warnings

from fakemq.protocol.v5.codes import RequestCode5 as RequestCode5
from fakemq.protocol.v5.codes import ResponseCode5 as ResponseCode5

warnings.warn(
    "fakemq.protocol.codes_5_5_0 is fakemq.protocol.v5.codes now",
    DeprecationWarning,
    stacklevel=2,
)
