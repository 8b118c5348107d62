"""Whether the files of a row follow each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.store.findings import Finding

if TYPE_CHECKING:
    from fakemq.store.stored_node import FileRow


def check_row(row: FileRow, unit_bytes: int) -> Iterator[Finding]:
    """Check that files have one size and are named by their offsets, and that none is missing."""
    size_bytes = row.file_size_bytes
    expected = row.min_offset
    for file in row.files:
        if file.size_bytes != size_bytes or size_bytes % unit_bytes or not size_bytes:
            text = f"the file has {file.size_bytes} bytes, the first one {size_bytes}"
            if file.size_bytes == size_bytes:
                text = f"the file has {size_bytes} bytes"
            yield Finding(file.name, 0, text)
        if file.offset != expected:
            yield Finding(
                file.name,
                0,
                f"the file before ends at {expected}, this one begins at {file.offset}",
            )
        expected = file.offset + file.size_bytes
