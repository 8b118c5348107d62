"""Server reflection over a real port: what tools such as grpcurl ask first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

import fakemq
from fakemq.protocol.grpc import reflection_messages as r
from fakemq.protocol.grpc.table import SERVICE
from tests.support.grpc_client import GrpcClient, grpc_client

V1, V1ALPHA = "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"


@pytest.fixture(scope="module")
def client() -> Iterator[GrpcClient]:
    with fakemq.Cluster(grpc=True) as mq, grpc_client(mq.grpc_addr) as connected:
        yield connected


def ask(
    client: GrpcClient, *requests: r.ServerReflectionRequest, service: str = V1ALPHA
) -> list[r.ServerReflectionResponse]:
    method = client.channel.stream_stream(
        f"/{service}/ServerReflectionInfo",
        request_serializer=r.ServerReflectionRequest.SerializeToString,
        response_deserializer=r.ServerReflectionResponse.FromString,
    )
    return list(method(iter(requests), timeout=10))


@pytest.mark.parametrize("service", [V1, V1ALPHA])
def test_services_are_listed(client: GrpcClient, service: str) -> None:
    request = r.ServerReflectionRequest(host="h", list_services="")
    (answer,) = ask(client, request, service=service)
    names = [one.name for one in answer.list_services_response.service]
    assert names == [V1, V1ALPHA, SERVICE]
    assert (answer.valid_host, answer.original_request) == ("h", request)


@pytest.mark.parametrize(
    "request_",
    [
        r.ServerReflectionRequest(file_containing_symbol=SERVICE),
        r.ServerReflectionRequest(file_by_filename="apache/rocketmq/v2/service.proto"),
    ],
)
def test_file_comes_with_all_that_it_imports(
    client: GrpcClient, request_: r.ServerReflectionRequest
) -> None:
    (answer,) = ask(client, request_)
    files = [
        FileDescriptorProto.FromString(data)
        for data in answer.file_descriptor_response.file_descriptor_proto
    ]
    assert files[0].name == "apache/rocketmq/v2/service.proto"
    names = {file.name for file in files}
    assert len(names) == len(files) == 4
    assert all(set(file.dependency) <= names for file in files)


@pytest.mark.parametrize(
    ("request_", "code", "text"),
    [
        (r.ServerReflectionRequest(file_by_filename="nix"), 5, "File not found."),
        (r.ServerReflectionRequest(file_containing_symbol="nix.Y"), 5, "Symbol not found."),
        (
            r.ServerReflectionRequest(all_extension_numbers_of_type="apache.rocketmq.v2.Message"),
            5,
            "Type not found.",
        ),
        (
            r.ServerReflectionRequest(
                file_containing_extension=r.ExtensionRequest(containing_type="a.B")
            ),
            5,
            "Extension not found.",
        ),
        (r.ServerReflectionRequest(), 12, "not implemented MESSAGEREQUEST_NOT_SET"),
    ],
)
def test_missing_answer_is_refused_as_by_grpc_java(
    client: GrpcClient, request_: r.ServerReflectionRequest, code: int, text: str
) -> None:
    first, second = ask(client, request_, request_)
    assert first == second
    assert (first.error_response.error_code, first.error_response.error_message) == (code, text)
