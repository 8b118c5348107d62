"""An Apache RocketMQ cluster in one process, for tests.

Importing this patches nothing and starts nothing.
"""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.cluster import AsyncCluster as AsyncCluster
    from fakemq.cluster import Cluster as Cluster
    from fakemq.errors import ConfigError as ConfigError
    from fakemq.errors import FakemqError as FakemqError
    from fakemq.errors import NotYetSupported as NotYetSupported
    from fakemq.errors import WaitTimeout as WaitTimeout
    from fakemq.protocol.codes import RequestCode as RequestCode
    from fakemq.protocol.codes import ResponseCode as ResponseCode

__version__ = "0.1.0"

# fakemq/protocol and fakemq/fixtures are symbolic links in a checkout. Where the system makes no
# links (git on Windows writes small text files), both packages are found in the folder above.
_HERE = os.path.dirname(os.path.abspath(__file__))
if not os.path.isdir(os.path.join(_HERE, "protocol")):
    _ABOVE = os.path.dirname(_HERE)
    if not os.path.isfile(os.path.join(_ABOVE, "protocol", "__init__.py")):
        raise ImportError(
            f"fakemq in {_HERE} has no protocol/: install it again, or check all of it out"
        )
    __path__.append(_ABOVE)

_HOMES = {
    "AsyncCluster": "fakemq.cluster",
    "Cluster": "fakemq.cluster",
    "ConfigError": "fakemq.errors",
    "FakemqError": "fakemq.errors",
    "NotYetSupported": "fakemq.errors",
    "RequestCode": "fakemq.protocol.codes",
    "ResponseCode": "fakemq.protocol.codes",
    "WaitTimeout": "fakemq.errors",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    # On first use: the pytest plugin and the command line are imported by runs that never start
    # a cluster.
    if name == "spark":  # fakemq.spark.register(…) without importing it by name
        from importlib import import_module

        return import_module("fakemq.spark")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import gc
    from importlib import import_module

    # Modules live on: collecting while they are made finds nothing, in a tenth of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        value = getattr(import_module(home), name)
    finally:
        if collects:
            if not gc.get_freeze_count():
                # The first collection would look at all of them, for 5 ms. Both calls together put
                # every object into the oldest generation without a look.
                gc.freeze()
                gc.unfreeze()
            gc.enable()
    globals()[name] = value
    return value
