"""The messages of RocketMQ's gRPC service, from its definitions, in a descriptor pool of our own.

Deliberately apart from what the fake is built with: what is recorded from a real proxy must not
have passed through the code that the recordings check. Only the .proto files are the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message
from grpc_tools import protoc

PACKAGE = "apache.rocketmq.v2"
SERVICE = f"{PACKAGE}.MessagingService"

_DEFINITIONS = Path(__file__).parents[2] / "protocol" / "grpc"
_SERVICE_FILE = "apache/rocketmq/v2/service.proto"


class Rpc(NamedTuple):
    """One method of the service."""

    name: str
    request: type[Message]
    response: type[Message]
    is_answered_by_many: bool
    """Whether responses are a stream."""

    @property
    def path(self) -> str:
        return f"/{SERVICE}/{self.name}"


@cache
def rpcs() -> Mapping[str, Rpc]:
    """Return the methods of the service by name."""
    pool = descriptor_pool.DescriptorPool()
    for file in _compiled().file:
        pool.Add(file)
    service = pool.FindServiceByName(SERVICE)
    return {
        method.name: Rpc(
            method.name,
            message_factory.GetMessageClass(method.input_type),
            message_factory.GetMessageClass(method.output_type),
            bool(method.server_streaming),
        )
        for method in service.methods
    }


def _compiled() -> descriptor_pb2.FileDescriptorSet:
    (service,) = _DEFINITIONS.rglob(_SERVICE_FILE)
    folder = service.parents[len(Path(_SERVICE_FILE).parents) - 1]
    with tempfile.TemporaryDirectory(prefix="descriptors-") as home:
        path = Path(home) / "descriptors"
        status = protoc.main(
            [
                "protoc",
                f"--proto_path={folder}",
                f"--proto_path={files('grpc_tools') / '_proto'}",
                "--include_imports",
                f"--descriptor_set_out={path}",
                _SERVICE_FILE,
            ]
        )
        assert status == 0, f"protoc cannot read the definitions in {folder}"
        return descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes())


def request(rpc: Rpc, fields: Mapping[str, Any]) -> Message:
    """Return a request; fields of messages in it are mappings, enums are names."""
    return rpc.request(**fields)
