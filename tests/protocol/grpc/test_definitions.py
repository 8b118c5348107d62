"""The definitions of the gRPC API: up to date with the protos, and in a pool of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool

from fakemq.protocol.grpc import derive, descriptors
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.pool import POOL
from fakemq.protocol.grpc.table import BY_NAME, RPCS, SERVICE


def test_generated_files_are_those_of_the_protos() -> None:
    folder = Path(derive.__file__).parent
    for name, text in derive.sources().items():
        assert (folder / name).read_text() == text, f"python -m {derive.__name__}"


def test_table_has_each_rpc_of_the_service() -> None:
    service = POOL.FindServiceByName(SERVICE)
    assert [rpc.name for rpc in RPCS] == [method.name for method in service.methods]
    for method in service.methods:
        rpc = BY_NAME[method.name]
        assert rpc.path == f"/{SERVICE}/{method.name}"
        assert rpc.request.DESCRIPTOR is method.input_type
        assert rpc.response.DESCRIPTOR is method.output_type
        assert rpc.request_stream is method.client_streaming
        assert rpc.response_stream is method.server_streaming


def test_messages_keep_the_names_of_the_wire() -> None:
    assert m.SendMessageRequest.DESCRIPTOR.full_name == "apache.rocketmq.v2.SendMessageRequest"
    assert m.Code.Name(m.Code.TOPIC_NOT_FOUND) == "TOPIC_NOT_FOUND"


def test_times_have_the_methods_of_the_well_known_types() -> None:
    properties = m.SystemProperties()
    properties.born_timestamp.FromMilliseconds(1_700_000_000_123)
    properties.invisible_duration.FromMilliseconds(1_500)
    again = m.SystemProperties.FromString(properties.SerializeToString())
    assert again.born_timestamp.ToMilliseconds() == 1_700_000_000_123
    assert again.invisible_duration.ToMilliseconds() == 1_500


def test_default_pool_stays_without_our_symbols() -> None:
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("apache.rocketmq.v2.SendMessageRequest")


@pytest.mark.parametrize("ours_first", [True, False], ids=["ours first", "theirs first"])
def test_same_symbols_in_the_default_pool_are_no_conflict(ours_first: bool) -> None:
    # As rocketmq-python-client does: the same symbols in files of other names.
    theirs = f"""
from google.protobuf import descriptor_pb2, descriptor_pool
from fakemq.protocol.grpc.descriptors import MESSAGING
pool = descriptor_pool.Default()
for data in MESSAGING:
    file = descriptor_pb2.FileDescriptorProto.FromString(data)
    if file.name.startswith("google/"):
        from google.protobuf import duration_pb2, timestamp_pb2
        continue
    file.name = file.name.rpartition("/")[2]
    file.dependency[:] = [
        one.rpartition("/")[2] if one.startswith("apache") else one for one in file.dependency
    ]
    pool.AddSerializedFile(file.SerializeToString())
assert pool.FindServiceByName({SERVICE!r})
"""
    ours = """
from fakemq.protocol.grpc.table import RPCS
message = RPCS[0].request(topic={"name": "t"})
assert RPCS[0].request.FromString(message.SerializeToString()).topic.name == "t"
"""
    code = ours + theirs + ours if ours_first else theirs + ours
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_descriptors_stand_after_those_that_they_import() -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    seen: set[str] = set()
    for data in descriptors.MESSAGING:
        file = FileDescriptorProto.FromString(data)
        assert set(file.dependency) <= seen
        seen.add(file.name)
