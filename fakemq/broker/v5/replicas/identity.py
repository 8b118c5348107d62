"""The files that say which replica of its group a broker is, byte for byte as Java writes them.

``brokerIdentity`` is ``cluster#name#id``. ``brokerIdentity-temp`` is
``cluster#name#id#address;milliseconds``: it is there while the controller is asked for the id, so
that a crash while it is asked costs no id. Neither ends with a line feed, and neither has a
checksum. The names in them are compared with those of the config; no path is made of them.

Source: store/ha/autoswitch/BrokerMetadata.java, TempBrokerMetadata.java, MetadataFile.java (5.5.0)
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from fakemq.errors import StoreError
from fakemq.files.texts import DiskTextFile, MemoryTextFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.files.texts import TextFile

NAME = "brokerIdentity"
LONG_MAX = (1 << 63) - 1
_MOST_DIGITS = 19


class BrokerMetadata(msgspec.Struct, frozen=True):
    """The id that a controller has given a broker, of this cluster and brokerName."""

    cluster_name: str
    broker_name: str
    broker_id: int

    def encode(self) -> str:
        """Return the text of the file."""
        return f"{self.cluster_name}#{self.broker_name}#{self.broker_id}"


class TempBrokerMetadata(BrokerMetadata, frozen=True):
    """The id for which a broker applies; the check code says that it is the same broker again."""

    register_check_code: str

    def encode(self) -> str:
        """Return the text of the file."""
        return f"{super().encode()}#{self.register_check_code}"


def decode(text: str) -> BrokerMetadata:
    """Return what ``brokerIdentity`` says.

    Raise ValueError, with the reason, for a text that names no replica.
    """
    return BrokerMetadata(*_names(text))


def decode_temp(text: str) -> TempBrokerMetadata:
    """Return what ``brokerIdentity-temp`` says; raise ValueError as `decode` does."""
    names, parts = _names(text), text.split("#")
    code = parts[3] if len(parts) > 3 else ""
    if not code:
        raise ValueError("it has no check code: expected cluster#name#id#code")
    return TempBrokerMetadata(*names, code)


def _names(text: str) -> tuple[str, str, int]:
    parts = text.split("#")
    if len(parts) < 3 or not (parts[0] and parts[1]):
        raise ValueError(f"{text[:80]!r}: expected cluster#name#id")
    digits = parts[2]
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
    if not (is_number and 0 < int(digits) <= LONG_MAX):
        raise ValueError(f"the id {digits[:80]!r}: expected a positive number")
    return parts[0], parts[1], int(digits)


@contextmanager
def store_errors(file: TextFile) -> Iterator[None]:
    """Raise StoreError, with the path, for an OSError that a file raises."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{file.path}: {error.strerror}") from None


class Identity:
    """Both files of one broker: in its directory, where the config says, or in memory.

    What the disk refuses, and what is damaged, is one line in the journal; the file then counts as
    absent. A damaged ``brokerIdentity`` therefore costs the broker its id, as in Java.
    Differs: an id below 1 is damage, too. No controller has one.
    """

    def __init__(self, node: NodeContext[BrokerConfig5]) -> None:
        self._node = node
        path = _path(node.config)
        self._file: TextFile = MemoryTextFile(NAME) if path is None else DiskTextFile(path)
        temp = f"{NAME}-temp"
        self._temp: TextFile = (
            MemoryTextFile(temp) if path is None else DiskTextFile(f"{path}-temp")
        )

    @property
    def text(self) -> str | None:
        """The text of ``brokerIdentity``; None if it is not there, StoreError if unreadable."""
        with store_errors(self._file):
            return self._file.read()

    @property
    def own_id(self) -> int | None:
        """The id in ``brokerIdentity``; None if there is none."""
        found = self.read()
        return None if found is None else found.broker_id

    def put(self, text: str) -> None:
        """Have a text in ``brokerIdentity`` that it has had; raise StoreError.

        A file that has it is left alone, so that a full disk costs no broker the id that it has.
        """
        with store_errors(self._file):
            self._temp.delete()
            if self._file.read() != text:
                self._file.delete()  # as Java: there is no backup
                self._file.write(text)

    def read(self) -> BrokerMetadata | None:
        """Return the broker's identity; None if it has none yet."""
        text = self._text(self._file)
        try:
            return decode(text) if text else None
        except ValueError as error:
            self._warn(f"{self._file.path} is damaged: {error}; the broker gets another id")
            return None

    def read_temp(self) -> TempBrokerMetadata | None:
        """Return the id for which the broker was applying; None if it was not."""
        text = self._text(self._temp)
        try:
            return decode_temp(text) if text else None
        except ValueError as error:
            self._warn(f"{self._temp.path} is damaged: {error}")
            return None

    def write(self, metadata: BrokerMetadata) -> bool:
        """Replace ``brokerIdentity``; return False if the disk refuses it."""
        return self._replace(self._file, metadata.encode())

    def write_temp(self, metadata: TempBrokerMetadata) -> bool:
        """Replace ``brokerIdentity-temp``; return False if the disk refuses it."""
        return self._replace(self._temp, metadata.encode())

    def delete_temp(self) -> None:
        """Delete ``brokerIdentity-temp``, if it is there."""
        self._delete(self._temp)

    def forget(self) -> None:
        """Delete both files: the broker is a new one."""
        self._delete(self._file)
        self._delete(self._temp)

    def _text(self, file: TextFile) -> str | None:
        try:
            return file.read()
        except OSError as error:
            self._warn(f"{file.path} cannot be read: {error.strerror}")
            return None

    def _replace(self, file: TextFile, text: str) -> bool:
        try:
            file.delete()  # as Java: there is no backup
            file.write(text)
        except OSError as error:
            self._warn(f"{file.path} cannot be written: {error.strerror}")
            return False
        return True

    def _delete(self, file: TextFile) -> None:
        try:
            file.delete()
        except OSError as error:
            self._warn(f"{file.path} cannot be deleted: {error.strerror}")

    def _warn(self, text: str) -> None:
        self._node.journal.peer_warnings.warn(self._node.name, "files of the identity", text)


def _path(config: BrokerConfig5) -> str | None:
    """Return where ``brokerIdentity`` is; None for a broker without a directory.

    Source: store/config/MessageStoreConfig.java#getStorePathBrokerIdentity (5.5.0)
    """
    if config.store_path_root_dir is None:
        return None
    return config.store_path_broker_identity or os.path.join(config.store_path_root_dir, NAME)
