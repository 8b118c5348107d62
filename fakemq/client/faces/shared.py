"""The clients of this process: faces with an equal instance name share one.

Source: client/impl/MQClientManager.java#getOrCreateMQClientInstance (4.9.7)
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar
from weakref import WeakSet

import msgspec

from fakemq.client.errors import MQClientError
from fakemq.client.options import SECRETS
from fakemq.client.this_machine import instance_here

if TYPE_CHECKING:
    from fakemq.client.faces.settings import Settled
    from fakemq.client.instance import ClientInstance
    from fakemq.client.services import ClientServices


class SharedCarrier(Protocol):
    """What the clients here need of a carrier."""

    @property
    def is_closed(self) -> bool:
        """Whether it carries nothing any more."""


C = TypeVar("C", bound=SharedCarrier)


class SharedClient(Generic[C]):
    """One client, what carries it, and how many faces use it."""

    __slots__ = ("carrier", "key", "services", "users")

    def __init__(self, key: tuple[Hashable, ...], services: ClientServices, carrier: C) -> None:
        self.key = key
        self.services = services
        self.carrier = carrier
        self.users = 1

    @property
    def client_id(self) -> str:
        return self.services.instance.client_id


class Registry(Generic[C]):
    """The clients of this process with one kind of carrier; any thread may call it."""

    def __init__(self) -> None:
        self.forget()
        _registries.add(self)

    def forget(self) -> None:
        """Forget all clients."""
        # Reentrant, because a garbage collection within a call may end another face.
        self._lock = threading.RLock()
        self._clients: dict[tuple[Hashable, ...], SharedClient[C]] = {}

    def join(
        self,
        settled: Settled,
        make: Callable[[ClientInstance], tuple[ClientServices, C]],
        where: Hashable = None,
    ) -> SharedClient[C]:
        """Return the client of these options, a new one if there is none yet; use it once more.

        Clients are shared only within one ``where``, such as one event loop. Raise MQClientError if
        the client exists, but with other options.
        """
        name = settled.instance_name
        instance = instance_here(settled.namesrv_addr, settled.client, instance_name=name)
        with self._lock:
            key = (settled.namesrv_addr, instance.config.client_id, where)
            known = self._clients.get(key) if name else None
            if known is not None and not known.carrier.is_closed:
                _require_equal(known.services.instance.config, instance.config)
                known.users += 1
                return known
            shared = SharedClient(key, *make(instance))
            if name:
                self._clients[key] = shared
            return shared

    def leave(self, shared: SharedClient[C]) -> bool:
        """Use a client once less; return whether no face uses it any more."""
        with self._lock:
            shared.users -= 1
            if shared.users:
                return False
            if self._clients.get(shared.key) is shared:
                del self._clients[shared.key]
            return True


class _Forgetting(Protocol):
    def forget(self) -> None: ...


_registries: WeakSet[_Forgetting] = WeakSet()


def _forget_parents() -> None:
    """Let a forked child begin without the clients of its parent, and with locks that are free."""
    for registry in list(_registries):
        registry.forget()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_parents)


def _require_equal(present: msgspec.Struct, wanted: msgspec.Struct) -> None:
    differences = [
        f"another {name}"
        if name in SECRETS
        else f"{name}={getattr(present, name)!r}, not {getattr(wanted, name)!r}"
        for name in present.__struct_fields__
        if getattr(present, name) != getattr(wanted, name)
    ]
    if differences:
        raise MQClientError(
            f"the client {getattr(wanted, 'client_id', '')} runs with {'; '.join(differences)}:"
            " use equal options, or another instance_name"
        )
