"""The caller of a gRPC call, and what its metadata says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, cast

from fakemq.later import Later

if TYPE_CHECKING:
    from collections.abc import Hashable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.slices import Steps
    from fakemq.net.grpc_call import CallSession, GrpcCall

    Call: TypeAlias = GrpcCall[Any, Any]
    Connection: TypeAlias = CallSession

T = TypeVar("T")

CLIENT_ID: Final = "x-mq-client-id"
LANGUAGE: Final = "x-mq-language"
CLIENT_VERSION: Final = "x-mq-client-version"
DATE_TIME: Final = "x-mq-date-time"
AUTHORIZATION: Final = "authorization"


class Peer(Protocol):
    """The connection of a client, of whichever protocol: a `GrpcSession` or a `Session`."""

    closed: bool
    outside: bool

    @property
    def remote_addr(self) -> str:
        """``host:port`` of the peer."""


class Context:
    """The caller, and how it calls; made for each call.

    Source: proxy/grpc/pipeline/ContextInitPipeline.java (5.5.0)
    """

    __slots__ = ("account", "call", "client_id", "metadata", "remote_addr", "session")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.metadata = call.metadata
        self.client_id = call.metadata.get(CLIENT_ID, "")
        self.remote_addr = call.remote_addr
        self.session = call.session
        self.account: str | None = None
        """The access key of its account; "" if its address needs none; None without accounts."""

    def sliced(self, clock: NodeClock, steps: Steps[T], count: int) -> Later[T]:
        """Do work that the call has caused; others have their turns in between.

        ``count`` is about the number of its steps: if they are few, it is done at once. If the
        caller's connection closes meanwhile, there is never a value.
        """
        # A peer inside the cluster has it done at once, as by `fakemq.dispatch.long_work`.
        count = count if self.session.outside else 0
        work = clock.begin(steps, peer=cast("Hashable", self.session), count=count)
        return Later() if work.dropped else work.outcome

    @property
    def language(self) -> str:
        return self.metadata.get(LANGUAGE, "")

    @property
    def client_version(self) -> str:
        return self.metadata.get(CLIENT_VERSION, "")
