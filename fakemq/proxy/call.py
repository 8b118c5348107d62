"""The caller of a gRPC call, and what its metadata says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from fakemq.net.grpc_call import CallSession, GrpcCall

    Call: TypeAlias = GrpcCall[Any, Any]
    Connection: TypeAlias = CallSession

CLIENT_ID: Final = "x-mq-client-id"
LANGUAGE: Final = "x-mq-language"
CLIENT_VERSION: Final = "x-mq-client-version"
DATE_TIME: Final = "x-mq-date-time"
AUTHORIZATION: Final = "authorization"


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

    @property
    def language(self) -> str:
        return self.metadata.get(LANGUAGE, "")

    @property
    def client_version(self) -> str:
        return self.metadata.get(CLIENT_VERSION, "")
