"""A gRPC client inside a running cluster, whose calls a test makes by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fakemq
from fakemq.core.cluster import ClusterCore
from fakemq.proxy.proxy import Proxy
from tests.support.proxy_lab import Asked, FrontClient


class Front:
    """What a `FrontClient` needs of a running cluster."""

    def __init__(self, core: ClusterCore) -> None:
        self.core = core

    @property
    def proxy(self) -> Proxy:
        assert self.core.proxy is not None
        return self.core.proxy


class Caller:
    """A gRPC client inside a cluster, whose calls run on the cluster's thread."""

    def __init__(self, mq: fakemq.Cluster, client_id: str) -> None:
        self._mq = mq
        self.client: FrontClient = mq.inspect(
            lambda core: FrontClient(Front(core), client_id, outside=False, metadata={})
        )

    def __call__(self, ask: Callable[[FrontClient], Asked]) -> Any:
        return self._mq.inspect(lambda core: ask(self.client))
