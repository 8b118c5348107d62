"""The options of a client, with Java's defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import msgspec

from fakemq.errors import ConfigError
from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import VERSION_4_9_7, SerializeType
from fakemq.protocol.java import INT_MAX

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials
    from fakemq.tls.contexts import ClientTls

LIMITS = {
    "send_timeout_ms": (1, INT_MAX),
    "retry_times_when_send_failed": (0, INT_MAX),
    "max_message_bytes": (1, INT_MAX),
    "compress_over_bytes": (0, INT_MAX),
    "default_topic_queue_nums": (1, INT_MAX),
    "api_timeout_ms": (1, INT_MAX),
    "route_interval_ms": (1, INT_MAX),
    "heartbeat_interval_ms": (1, INT_MAX),
    "persist_interval_ms": (1, INT_MAX),
    "version": (0, INT_MAX),
}
"""The lowest and highest values of numbers. Java's timers refuse such intervals, too, with an error
of their own."""


class ClientOptions(TypedDict, total=False):
    """The fields of `ClientConfig`, as the blocking and the asynchronous client take them."""

    client_id: str
    seed: int
    producer_group: str
    consumer_group: str
    send_timeout_ms: int
    retry_times_when_send_failed: int
    max_message_bytes: int
    compress_over_bytes: int
    smart_send: bool
    vip_channel: bool
    create_topic_key: str
    default_topic_queue_nums: int
    api_timeout_ms: int
    route_interval_ms: int
    heartbeat_interval_ms: int
    persist_interval_ms: int
    language: LanguageCode
    version: int
    serialize_type: SerializeType
    access_key: str
    secret_key: str
    security_token: str
    tls: bool
    tls_ca_file: str
    tls_check_host: bool
    tls_cert_file: str
    tls_key_file: str
    tls_key_password: str


SECRETS = ("secret_key", "security_token", "tls_key_password")
"""Options that no error and no report of a test shows."""


class ClientConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one client.

    Source: client/ClientConfig.java, client/producer/DefaultMQProducer.java (4.9.7)
    """

    client_id: str = ""
    """Made of address, process and a random number if empty."""
    seed: int | None = None
    """Fixes every random choice."""
    producer_group: str = "DEFAULT_PRODUCER"
    consumer_group: str = "DEFAULT_CONSUMER"
    send_timeout_ms: int = 3_000
    """For all attempts of one send together."""
    retry_times_when_send_failed: int = 2
    max_message_bytes: int = 4 * 1024 * 1024
    compress_over_bytes: int = 4096
    smart_send: bool = True
    """Send by SEND_MESSAGE_V2, which has one-letter fields; if False by SEND_MESSAGE."""
    vip_channel: bool = False
    """Send messages, and ask for offsets, locks and members, at the port two below the broker's."""
    create_topic_key: str = "TBW102"
    """The topic whose route and settings are used for a topic that does not exist yet."""
    default_topic_queue_nums: int = 4
    api_timeout_ms: int = 3_000
    route_interval_ms: int = 30_000
    """A route older than this is asked for again before it is used."""
    heartbeat_interval_ms: int = 30_000
    persist_interval_ms: int = 5_000
    """How often a consumer commits the offsets of its queues."""
    language: LanguageCode = LanguageCode.PYTHON
    version: int = VERSION_4_9_7
    serialize_type: SerializeType = SerializeType.JSON
    access_key: str = ""
    """The account whose keys sign every request, with ``secret_key``; "" for none.

    Source: acl/common/AclClientRPCHook.java (4.9.7)"""
    secret_key: str = ""
    security_token: str = ""
    """Sent with each request and signed; a broker of 4.9.7 does not read it."""
    tls: bool = False
    """Connect by TLS. Without ``tls_ca_file`` every certificate will do, as for Java's clients in
    their test mode, which is their default.

    Source: client/ClientConfig.java#useTLS (4.9.7)"""
    tls_ca_file: str = ""
    """The certificates, PEM, of the authorities of which one must have issued the server's."""
    tls_check_host: bool = True
    """With ``tls_ca_file``: whether the server's certificate must be for its host. Java's clients
    do not check this."""
    tls_cert_file: str = ""
    """The certificate, with its chain, PEM, to show to servers that ask for one."""
    tls_key_file: str = ""
    """The private key of ``tls_cert_file``, PEM."""
    tls_key_password: str = ""

    def __repr__(self) -> str:
        shown = [name for name in self.__struct_fields__ if name not in SECRETS]
        return f"ClientConfig({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def __post_init__(self) -> None:
        if bool(self.access_key) != bool(self.secret_key):
            raise ConfigError("access_key and secret_key belong together: give both, or neither")
        if self.security_token and not self.access_key:
            raise ConfigError("security_token needs access_key and secret_key")
        if bool(self.tls_cert_file) != bool(self.tls_key_file):
            raise ConfigError("tls_cert_file and tls_key_file belong together: give both")
        if self.tls_key_password and not self.tls_key_file:
            raise ConfigError("tls_key_password needs tls_cert_file and tls_key_file")
        if (self.tls_ca_file or self.tls_cert_file) and not self.tls:
            raise ConfigError("tls_ca_file and tls_cert_file need tls=True")

    @property
    def credentials(self) -> Credentials | None:
        """The keys that sign requests; None without an access key."""
        if not self.access_key:
            return None
        from fakemq.protocol.signature import Credentials  # most clients sign nothing

        return Credentials(self.access_key, self.secret_key, self.security_token)

    def client_tls(self) -> ClientTls | None:
        """Return what connects by TLS, None for plain connections.

        Raise ConfigError for a file that cannot be used.
        """
        if not self.tls:
            return None
        from fakemq.tls.contexts import ClientTls, KeyPair  # most clients are plain

        own = None
        if self.tls_cert_file:
            own = KeyPair(self.tls_cert_file, self.tls_key_file, self.tls_key_password)
        return ClientTls(
            own=own,
            checks_server=bool(self.tls_ca_file),
            trust_path=self.tls_ca_file,
            checks_host=self.tls_check_host,
        )
