"""The table of a cluster's options, and the places that are made from it."""

from __future__ import annotations

import click
import pytest

from fakemq.cli import main
from fakemq.clock.durations import Instant, Size
from fakemq.config.files import ConfigSource
from fakemq.config.option_types import ClusterOptions
from fakemq.config.options import DEFAULTS, OPTIONS, Kind, Option
from fakemq.config.spec import cluster_spec
from tests.support.imports import ROOT
from tests.support.option_table import option_page

NAMES = {"Instant": Instant, "Size": Size, "ConfigSource": ConfigSource}

ACCEPTED: dict[Kind, tuple[str, ...]] = {
    "number": ("int", "int | None", "bool | int | None"),
    "flag": ("bool",),
    "list": (
        "Mapping[str, int | TopicSettings] | Iterable[str]",
        "ConfigSource | Iterable[ConfigSource]",
        "str | Iterable[str]",
    ),
    "text": (
        *("str", "str | None", "str | os.PathLike[str] | None"),
        *("Size", "Size | None", "Instant | None"),
        "str | os.PathLike[str] | Mapping[str, object] | None",
    ),
}
"""Kind of an option → the Python types that it may have."""


def test_option_table_has_the_names_of_the_typed_dict_in_order() -> None:
    assert [option.name for option in OPTIONS] == list(ClusterOptions.__annotations__)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_option_has_a_python_type_of_its_kind(option: Option) -> None:
    written = ClusterOptions.__annotations__[option.name].__forward_arg__
    one_of_some_words = option.kind == "text" and written.startswith("Literal['")
    assert one_of_some_words or written in ACCEPTED[option.kind]
    assert option.default is not None or "None" in written


def test_defaults_describe_a_cluster() -> None:
    assert cluster_spec(**DEFAULTS) == cluster_spec()


def test_command_line_has_every_option_of_the_table() -> None:
    serve = main.get_command(click.Context(main), "serve")
    assert serve is not None
    found = {one.name: one for one in serve.params if isinstance(one, click.Option)}
    del found["print_config"], found["quiet"]  # of the command, not of the cluster
    assert {name: tuple(one.opts) for name, one in found.items()} == {
        option.name: option.spellings for option in OPTIONS if option.flag != "-"
    }


def test_docs_page_prints_the_table() -> None:
    assert (ROOT / "docs/options.md").read_text(encoding="utf-8") == option_page()
