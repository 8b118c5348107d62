"""What help() and editors show of a cluster: every option with its type, default and meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from inspect import Signature

C = TypeVar("C", bound=type)


def shows_options(cluster: C) -> C:
    """Decorate a class that takes ``**options: Unpack[ClusterOptions]``."""
    setattr(cluster, "__signature__", _Signature())  # noqa: B010 - mypy knows no such attribute
    setattr(cluster, "__doc__", _Doc(cluster.__doc__ or ""))  # noqa: B010 - it is made when read
    return cluster


class _Text(str):
    """The text of an annotation, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Signature:
    """The ``__signature__`` of the class, made when it is asked for."""

    def __get__(self, instance: object, owner: type) -> Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature

        from fakemq.config.option_types import ClusterOptions
        from fakemq.config.options import DEFAULTS

        defaults = dict(DEFAULTS)
        return Signature(
            [
                Parameter(
                    name,
                    Parameter.KEYWORD_ONLY,
                    default=defaults[name],
                    annotation=_Text(hint.__forward_arg__),
                )
                for name, hint in ClusterOptions.__annotations__.items()
            ]
        )


class _Doc:
    """The ``__doc__`` of the class: as it is written, and what its options mean."""

    def __init__(self, written: str) -> None:
        self._written = written

    def __get__(self, instance: object, owner: type) -> str:
        import textwrap
        from inspect import cleandoc

        from fakemq.config.options import OPTIONS

        lines = [cleandoc(self._written), "", "Options:", ""]
        for one in OPTIONS:
            default = repr(one.default) if one.default is not None else one.chosen or "None"
            lines.append(f"``{one.name}`` ({default}):")
            lines += textwrap.wrap(one.help, 90, initial_indent="    ", subsequent_indent="    ")
        return "\n".join(lines)
