"""Both clients take the options that `ClientConfig` declares."""

from __future__ import annotations

from fakemq.client.options import ClientConfig, ClientOptions


def test_clients_take_all_options_of_the_config() -> None:
    assert list(ClientOptions.__annotations__) == list(ClientConfig.__struct_fields__)
