"""The address by which clients reach the front, as routes say it.

Source: proxy/grpc/v2/route/RouteActivity.java#convertToAddressList (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.protocol.grpc.messages import Address, Endpoints
from fakemq.proxy.status import java_error

if TYPE_CHECKING:
    from fakemq.proxy.proxy import Proxy

_IPV4: Final = 1


def endpoints_for(proxy: Proxy, asked: Endpoints) -> Endpoints:
    """Return the hosts that a client asked, with the front's own port.

    Raise RpcError for hosts that Java's proxy does not understand.
    """
    if not asked.addresses:
        return Endpoints(scheme=_IPV4)  # type: ignore[arg-type]
    if not asked.scheme:
        raise java_error(
            "No enum constant org.apache.rocketmq.proxy.common.Address.AddressScheme"
            ".ADDRESS_SCHEME_UNSPECIFIED",
            "IllegalArgumentException",
            "java.base/java.lang.Enum.valueOf(Enum.java:273)",
        )
    for address in asked.addresses:
        if address.host.count(":") == 1:
            raise java_error(
                f"Host has a port: {address.host}",
                "IllegalArgumentException",
                "com.google.common.base.Preconditions.checkArgument(Preconditions.java:218)",
            )
    port = proxy.port
    return Endpoints(
        scheme=asked.scheme,
        addresses=[Address(host=address.host, port=port) for address in asked.addresses],
    )
