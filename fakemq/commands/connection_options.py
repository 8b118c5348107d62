"""The options that say which cluster a command asks, and how it connects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_NAMESRV = "127.0.0.1:9876"

_OPTIONS = (
    click.option(
        "-n",
        "--namesrv",
        envvar="NAMESRV_ADDR",
        default=DEFAULT_NAMESRV,
        show_default=True,
        metavar="HOST:PORT[;...]",
        help="The name servers of the cluster; also $NAMESRV_ADDR.",
    ),
    click.option(
        "--timeout",
        default="3s",
        show_default=True,
        metavar="DURATION",
        help="How long to wait for an answer.",
    ),
    click.option("--access-key", default="", metavar="NAME", help="The account that signs."),
    click.option(
        "--secret-key",
        default="",
        metavar="TEXT",
        envvar="FAKEMQ_SECRET_KEY",
        help="Its secret; also $FAKEMQ_SECRET_KEY, which no process list shows.",
    ),
    click.option(
        "--security-token", default="", metavar="TEXT", envvar="FAKEMQ_SECURITY_TOKEN", hidden=True
    ),
    click.option("--tls", is_flag=True, help="Connect by TLS."),
    click.option("--tls-ca-file", default="", metavar="PEM", help="Trust only these authorities."),
    click.option(
        "--tls-check-host/--no-tls-check-host",
        default=True,
        help="Whether the certificate must be for its host.  [default: checked with --tls-ca-file]",
    ),
    click.option("--tls-cert-file", default="", metavar="PEM", help="A certificate to show."),
    click.option("--tls-key-file", default="", metavar="PEM", help="Its private key."),
    click.option(
        "--tls-key-password", default="", metavar="TEXT", envvar="FAKEMQ_TLS_KEY_PASSWORD",
        help="The key's password; also $FAKEMQ_TLS_KEY_PASSWORD.",
    ),
)  # fmt: skip
CLIENT_NAMES = (
    *("access_key", "secret_key", "security_token", "tls", "tls_ca_file", "tls_check_host"),
    *("tls_cert_file", "tls_key_file", "tls_key_password"),
)

DEFAULTS: dict[str, Any] = {
    "namesrv": DEFAULT_NAMESRV,
    **dict.fromkeys(CLIENT_NAMES, ""),
    "tls": False,
    "tls_check_host": True,
}


def connection_options(function: F) -> F:
    """Add the options that say which cluster is asked, and how."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
