"""The descriptor pool of the gRPC front, and classes of messages from it.

RocketMQ's Python client registers the same symbols in protobuf's default pool, under other names of
files, which one pool refuses. So nothing here touches the default pool.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message_factory import GetMessageClass

POOL = DescriptorPool()


def define(files: Iterable[bytes]) -> list[FileDescriptor]:
    """Add serialized files to the pool, each one after those that it imports."""
    return [POOL.AddSerializedFile(data) for data in files]


def types_of(files: Iterable[FileDescriptor]) -> dict[str, Any]:
    """Return the classes of messages and enums of files, by their names."""
    found: dict[str, Any] = {}
    for file in files:
        for name, message in file.message_types_by_name.items():
            found[name] = GetMessageClass(message)
        for name, enum in file.enum_types_by_name.items():
            found[name] = EnumTypeWrapper(enum)
    return found
