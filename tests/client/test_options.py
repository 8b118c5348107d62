"""Both clients take the options that `ClientConfig` declares."""

from __future__ import annotations

from fakemq.client.options import ClientConfig, ClientOptions


def test_the_faces_take_what_the_config_has() -> None:
    assert list(ClientOptions.__annotations__) == list(ClientConfig.__struct_fields__)
