"""Server reflection: a peer asks which services there are, and for their definitions.

grpc-java has only ``v1alpha`` here; newer tools ask for ``v1`` first, whose messages are the same.
Source: io/grpc/protobuf/services/ProtoReflectionService.java (grpc-java)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from google.protobuf.descriptor import FileDescriptor

from fakemq.net.grpc_call import RpcRoute
from fakemq.protocol.grpc.pool import POOL
from fakemq.protocol.grpc.reflection_messages import (
    FileDescriptorResponse,
    ListServiceResponse,
    ServerReflectionRequest,
    ServerReflectionResponse,
    ServiceResponse,
)
from fakemq.protocol.grpc.rpc import Rpc
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.grpc.table import SERVICE

if TYPE_CHECKING:
    from fakemq.net.grpc_call import GrpcCall

    Call = GrpcCall[ServerReflectionRequest, ServerReflectionResponse]

_SERVICES: Final = tuple(f"grpc.reflection.{one}.ServerReflection" for one in ("v1", "v1alpha"))
_KINDS: Final = {
    "file_by_filename": "File",
    "file_containing_symbol": "Symbol",
    "file_containing_extension": "Extension",
    "all_extension_numbers_of_type": "Type",
}
"""Questions, and what is missing when there is no answer."""


def routes() -> dict[str, RpcRoute]:
    """Return the paths of reflection, of both versions."""
    rpcs = [
        Rpc(
            one,
            "ServerReflectionInfo",
            ServerReflectionRequest,
            ServerReflectionResponse,
            True,
            True,
        )
        for one in _SERVICES
    ]
    return {rpc.path: RpcRoute(rpc, begin) for rpc in rpcs}


def begin(call: Call, request: ServerReflectionRequest) -> None:
    """Answer each question of a stream, in their order, until the peer ends it."""
    call.on_message = partial(_answer, call)
    call.on_half_close = call.end
    _answer(call, request)


def _answer(call: Call, request: ServerReflectionRequest) -> None:
    if call.write_blocked:  # a peer that asks and does not read
        call.end(GrpcStatus.RESOURCE_EXHAUSTED, "answers are not read")
        return
    answer = ServerReflectionResponse(valid_host=request.host, original_request=request)
    kind = request.WhichOneof("message_request")
    if kind == "list_services":
        names = [ServiceResponse(name=name) for name in (*_SERVICES, SERVICE)]
        answer.list_services_response.CopyFrom(ListServiceResponse(service=names))
    elif kind is None:
        _refuse(answer, GrpcStatus.UNIMPLEMENTED, "not implemented MESSAGEREQUEST_NOT_SET")
    else:
        found = _file(kind, request)
        if found is None:
            _refuse(answer, GrpcStatus.NOT_FOUND, f"{_KINDS[kind]} not found.")
        else:
            files = [file.serialized_pb for file in _with_imports(found)]
            response = FileDescriptorResponse(file_descriptor_proto=files)
            answer.file_descriptor_response.CopyFrom(response)
    call.send(answer)


def _refuse(answer: ServerReflectionResponse, status: GrpcStatus, text: str) -> None:
    answer.error_response.error_code, answer.error_response.error_message = int(status), text


def _file(kind: str, request: ServerReflectionRequest) -> FileDescriptor | None:
    """Return the file that a question asks for; no message of ours has extensions."""
    try:
        if kind == "file_by_filename":
            return POOL.FindFileByName(request.file_by_filename)
        if kind == "file_containing_symbol":
            return POOL.FindFileContainingSymbol(request.file_containing_symbol)
    except KeyError:
        pass
    return None


def _with_imports(file: FileDescriptor) -> Iterator[FileDescriptor]:
    """Yield a file and, once each, all that it imports."""
    seen, left = set(), [file]
    while left:
        one = left.pop(0)
        if one.name not in seen:
            seen.add(one.name)
            yield one
            left += one.dependencies
