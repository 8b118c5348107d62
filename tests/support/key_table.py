"""docs/config.md, made from the tables of keys: ``python -m tests.support.key_table``."""

from __future__ import annotations

from collections import Counter

from fakemq.config import keys
from fakemq.config.model import BrokerConfig, Config, Key, NamesrvConfig, keys_of, text_of
from fakemq.config.v5 import keys as v5_keys
from fakemq.config.v5.controller import keys as controller_keys
from fakemq.config.v5.controller.model import ControllerConfig
from fakemq.config.v5.model import BrokerConfig5, NamesrvConfig5
from fakemq.config.v5_3.model import BrokerConfig53, NamesrvConfig53
from tests.support.imports import ROOT

_TOP = """# Config keys

What each key of RocketMQ does here, in files of `-c`, in `config=` and in
UPDATE_BROKER_CONFIG (`mqadmin updateBrokerConfig`):

- **acts**: as in RocketMQ, at once unless the line says when it is read.
- **no effect**: the key is accepted, and the line says why no client and no operator notices
  that it does nothing. All such keys of a file that differ from their defaults are one warning;
  with `--strict` (`strict=True`), an error.
- **replaced**: an option, such as `--store`, beats the key of a file. Each such key is a warning
  that names the file, the line and the option; with `--strict`, an error. So is a key whose value
  follows from others (`haListenPort`, the `brokerId` of a master) or is the cluster's own
  (`namesrvAddr`).
- **refused**: a value other than the default is an error at the start. UPDATE_BROKER_CONFIG warns,
  and leaves the key as it was.

An unknown key is a warning, with `--strict` an error; a value that the key cannot have is an error.
RocketMQ ignores both. `python -m fakemq -p` prints all keys with their values. This page is made
from `fakemq/config/files.py`.

## How many

"""
_PARTS: tuple[tuple[str, type[Config], type], ...] = (
    ("BrokerConfig", BrokerConfig, keys.BrokerKeys),
    ("MessageStoreConfig", BrokerConfig, keys.MessageStoreKeys),
    ("NettyServerConfig, of brokers and name servers", NamesrvConfig, keys.NettyServerKeys),
    ("NettyClientConfig, of brokers", BrokerConfig, keys.NettyClientKeys),
    ("NamesrvConfig", NamesrvConfig, keys.NamesrvKeys),
    ("Keys that BrokerStartup reads by itself", BrokerConfig, keys.BrokerStartupKeys),
    ("Keys of newer versions", BrokerConfig, keys.NewerKeys),
)


_NODES: dict[tuple[str, str], type[Config]] = {
    ("4.9.7", "broker"): BrokerConfig,
    ("4.9.7", "name server"): NamesrvConfig,
    ("5.3.2", "broker"): BrokerConfig53,
    ("5.3.2", "name server"): NamesrvConfig53,
    ("5.5.0", "broker"): BrokerConfig5,
    ("5.5.0", "name server"): NamesrvConfig5,
    ("5.5.0", "controller"): ControllerConfig,
}

_V5_TOP = """
## Reference 5.5.0

With `--reference 5.5.0` the keys are those of RocketMQ 5.5.0: the ones above, but for {gone}, which
it does not have, and for "keys of newer versions". The tables have the keys that 4.9.7 does not
have, and those with another default.
"""
_V5_3_BOTTOM = """
## Reference 5.3.2

With `--reference 5.3.2` the keys are those of 5.5.0, but for these, which it does not have: {gone}.
`transactionMetricFlushInterval` is {flush} there.
"""
_V5_PARTS: tuple[tuple[str, type[Config], type[Config], type], ...] = (
    ("BrokerConfig", BrokerConfig5, BrokerConfig, v5_keys.BrokerKeys5),
    ("MessageStoreConfig", BrokerConfig5, BrokerConfig, v5_keys.MessageStoreKeys5),
    ("NettyServerConfig", NamesrvConfig5, NamesrvConfig, v5_keys.NettyServerKeys5),
    ("NettyClientConfig", BrokerConfig5, BrokerConfig, v5_keys.NettyClientKeys5),
    ("AuthConfig, of brokers", BrokerConfig5, BrokerConfig, v5_keys.AuthKeys5),
    ("NamesrvConfig", NamesrvConfig5, NamesrvConfig, v5_keys.NamesrvKeys5),
)


_CONTROLLER_PARTS = (
    ("ControllerConfig", controller_keys.ControllerKeys),
    ("JraftConfig", controller_keys.JraftKeys),
)


def key_page() -> str:
    """Return the text of docs/config.md."""
    of_5, own = keys_of(BrokerConfig5), keys_of(BrokerConfig)
    gone = [
        name for name, key in own.items() if name not in of_5 and key.table is not keys.NewerKeys
    ]
    of_5_3 = keys_of(BrokerConfig53)
    newer = ", ".join(f"`{name}`" for name in of_5 if name not in of_5_3)
    flush = BrokerConfig53.transaction_metric_flush_interval
    return "".join(
        (
            _TOP,
            _counts(),
            *(_part(*part) for part in _PARTS),
            _V5_TOP.format(gone=", ".join(f"`{name}`" for name in gone)),
            *(_v5_part(*part) for part in _V5_PARTS),
            *(
                _part(f"{title} of 5.5.0", ControllerConfig, table)
                for title, table in _CONTROLLER_PARTS
            ),
            _V5_3_BOTTOM.format(gone=newer, flush=flush),
        )
    )


def _counts() -> str:
    """Return how many keys of each node are in each state."""
    states = ("acts", "no effect", "refused")
    lines = [f"| reference | node | {' | '.join(states)} |\n|---|---|---|---|---|\n"]
    for (reference, node), kind in _NODES.items():
        found = Counter(state_of(key)[0] for key in keys_of(kind).values())
        counts = " | ".join(str(found[state]) for state in states)
        lines.append(f"| {reference} | {node} | {counts} |\n")
    return "".join(lines)


def _part(title: str, kind: type[Config], table: type) -> str:
    return _table(title, kind, [key for key in keys_of(kind).values() if key.table is table])


def _v5_part(title: str, kind: type[Config], earlier: type[Config], table: type) -> str:
    before = {key.name: getattr(earlier, key.attribute) for key in keys_of(earlier).values()}
    return _table(
        f"{title} of 5.5.0",
        kind,
        [
            key
            for key in keys_of(kind).values()
            if key.table is table
            and key.attribute != "listen_port"
            and (key.name not in before or before[key.name] != getattr(kind, key.attribute))
        ],
    )


def _table(title: str, kind: type[Config], listed: list[Key]) -> str:
    rows = [_row(key, kind) for key in listed]
    return f"\n## {title}\n\n| key | default | here | |\n|---|---|---|---|\n{''.join(rows)}"


def _row(key: Key, kind: type[Config]) -> str:
    state, text = state_of(key)
    default = text_of(getattr(kind, key.attribute)) if key.attribute != "listen_port" else ""
    return f"| `{key.name}` | {default} | {state} | {text} |\n"


def state_of(key: Key) -> tuple[str, str]:
    """Return what a key does, and the line about it."""
    row = key.row
    if row.refused is not None:
        return "refused", f"supported: {row.refused.instead.removeprefix(f'{key.name}=')}"
    return ("acts", row.acts or "") if row.idle is None else ("no effect", row.idle)


if __name__ == "__main__":
    (ROOT / "docs/config.md").write_text(key_page(), encoding="utf-8")
