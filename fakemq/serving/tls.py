"""TLS of a cluster's ports: which connections use it, its certificates, and their changes.

What costs time is made when it is first needed: most clusters never see a byte of TLS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.errors import ConfigError, FakemqError

if TYPE_CHECKING:
    import ssl

    from fakemq.config.spec import ClusterSpec, TlsSpec
    from fakemq.config.tls import TlsSettings
    from fakemq.tls.authority import Authority
    from fakemq.tls.contexts import ClientTls
    from fakemq.tls.stream import TlsStream

_HANDSHAKE: Final = 0x16
"""The first byte of a TLS connection.

Source: remoting/netty/NettyRemotingServer.java#HandshakeHandler (4.9.7)
"""


class TlsFiles(NamedTuple):
    """How clients reach a cluster by TLS: its mode, and the paths of files; "" for none."""

    mode: str
    """``disabled``, ``permissive`` or ``enforcing``."""
    ca_file: str
    """The certificates of the authorities that clients can trust, PEM."""
    cert_file: str
    """A certificate that a client can show, with its chain, PEM."""
    key_file: str
    """The private key of that certificate, PEM."""
    config_file: str
    """The keys of ``tls.properties``: Java clients read it by ``-Dtls.config.file``."""


class ClusterTls:
    """The TLS of all ports of a cluster but those of HA and control, as in 4.9.7.

    ``hosts`` are the names that a throw-away certificate is for; ``warn`` gets what users should
    know about files that have changed. ``protocols`` are offered to peers that ask for one (ALPN);
    remoting clients never do.
    """

    def __init__(
        self,
        spec: TlsSpec,
        hosts: Iterable[str],
        warn: Callable[[str], None],
        protocols: Sequence[str] = (),
    ) -> None:
        self.mode = spec.mode
        self.announced = spec.announced
        self._spec = spec
        self._hosts = tuple(hosts)
        self._warn = warn
        self._protocols = protocols
        self._authority: Authority | None = None
        self._server: _ServerCertificates | None = None
        self._client: ClientTls | None = None

    @property
    def is_demanded(self) -> bool:
        """Whether plain connections are refused."""
        return self.mode == "enforcing"

    def prepare(self) -> None:
        """Read all files that were asked for. Raise ConfigError for one that cannot be used."""
        if self.announced and self.mode != "disabled":
            self.accept()

    def stream_for(self, first_byte: int) -> TlsStream | None:
        """Return this end of an accepted connection that begins so; None for a plain one.

        Raise FakemqError if such a connection is refused.
        """
        if first_byte == _HANDSHAKE:
            return self.accept()
        if self.is_demanded:
            raise FakemqError("bytes that are no TLS, which this port demands (tls=enforcing)")
        return None

    def accept(self) -> TlsStream:
        """Return this end of an accepted TLS connection; raise FakemqError without certificates."""
        from fakemq.tls.stream import TlsStream

        if self._server is None:
            self._server = _ServerCertificates(self._make_server_context, self._server_paths())
        return TlsStream(self._server.context(self._warn), server_side=True)

    def connect(self, host: str) -> TlsStream:
        """Return this end of a connection to a node elsewhere; raise FakemqError if it cannot be.

        Java checks no host names here, and neither does this.
        Source: remoting/netty/TlsHelper.java#buildSslContext (4.9.7)
        """
        if self._client is None:
            from fakemq.tls.contexts import ClientTls, KeyPair

            settings, own = self._settings(), None
            if not settings.test_mode and settings.client_cert_path:
                own = KeyPair(
                    settings.client_cert_path,
                    settings.client_key_path,
                    settings.client_key_password,
                )
            self._client = ClientTls(
                own=own,
                checks_server=settings.client_auth_server and not settings.test_mode,
                trust_path=settings.client_trust_cert_path,
            )
        return self._client.stream(host)

    def _settings(self) -> TlsSettings:
        if self._spec.settings is not None:
            return self._spec.settings
        from fakemq.config.tls import TlsSettings

        return TlsSettings()

    def files(self) -> TlsFiles:
        """Return the files for clients; raise FakemqError if they cannot be made."""
        if self.mode == "disabled":
            return TlsFiles(self.mode, "", "", "", "")
        settings = self._settings()
        if settings.test_mode:
            made = self._made_authority()
            return TlsFiles(
                *(self.mode, made.ca_path, made.client_cert_path, made.client_key_path),
                made.properties_path,
            )
        return TlsFiles(
            *(self.mode, settings.client_trust_cert_path, settings.client_cert_path),
            *(settings.client_key_path, self._spec.config_file),
        )

    def _made_authority(self) -> Authority:
        """Return the throw-away authority, a new one if there is none yet."""
        if self._authority is None:
            from fakemq.tls.authority import Authority

            self._authority = Authority(self._hosts)
        return self._authority

    def _server_paths(self) -> tuple[str, str, str]:
        """Return the files of the certificate, the key and those that are trusted."""
        settings = self._settings()
        if settings.test_mode:
            return "", "", ""  # they do not change
        trust = settings.server_trust_cert_path if settings.server_auth_client else ""
        return settings.server_cert_path, settings.server_key_path, trust

    def _make_server_context(self) -> ssl.SSLContext:
        context = self._make_plain_context()
        if self._protocols:
            context.set_alpn_protocols(list(self._protocols))
        return context

    def _make_plain_context(self) -> ssl.SSLContext:
        from fakemq.tls.contexts import KeyPair, server_context

        settings = self._settings()
        if settings.test_mode:
            made = self._made_authority()
            own = KeyPair(made.server_cert_path, made.server_key_path)
            return server_context(own, client_auth="optional", trust_path=made.ca_path)
        own = KeyPair(
            settings.server_cert_path, settings.server_key_path, settings.server_key_password
        )
        # Python cannot ask for a certificate without checking it, as Java does here.
        auth = settings.server_need_client_auth if settings.server_auth_client else "none"
        trust_path = settings.server_trust_cert_path
        return server_context(own, client_auth=auth, trust_path=trust_path)

    def close(self) -> None:
        """Delete the files of the authority."""
        if self._authority is not None:
            self._authority.close()
            self._authority = None


class _ServerCertificates:
    """The context of accepted connections, made anew when its files have changed.

    Java looks at the files every 500 ms. Here a new connection looks, so an idle cluster does
    nothing. As in Java, a certificate counts when its key has changed, too.
    Source: broker/BrokerController.java#initialize, with srvutil/FileWatchService.java (4.9.7)
    """

    def __init__(self, make: Callable[[], ssl.SSLContext], paths: tuple[str, str, str]) -> None:
        self._make = make
        self._paths = paths
        self._seen = self._failed = self._contents()
        self._context = make()

    def _contents(self) -> list[bytes | None]:
        return [_content(path) for path in self._paths]

    def context(self, warn: Callable[[str], None]) -> ssl.SSLContext:
        """Return the present context; keep the former one if a changed file is wrong."""
        now, seen = self._contents(), self._seen
        if now == seen:
            return self._context
        cert_changed, key_changed, trust_changed = (
            new != old for new, old in zip(now, seen, strict=True)
        )
        if now != self._failed and (trust_changed or (cert_changed and key_changed)):
            try:
                self._context = self._make()
                self._seen = now
            except ConfigError as error:
                self._failed = now
                warn(f"the TLS certificates were not read again: {error}")
        return self._context


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def hosts_of(spec: ClusterSpec) -> Iterator[str]:
    """Yield the names and addresses that a throw-away certificate is for."""
    yield from ("localhost", "127.0.0.1", "::1")
    hosts = [spec.listen, spec.advertised_host]
    hosts += [config.broker_ip1 for config in spec.broker_configs]
    for host in hosts:
        yield host.strip("[]")
