"""Signatures for readers: help() and editors show every option of a face with its default."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import inspect
    from collections.abc import Iterator
    from types import FunctionType

    import msgspec


class FullSignature:
    """The ``__signature__`` of a class that takes ``**options: Unpack[Options]``.

    It is made when help() asks for it, of the signature of ``__init__`` and the fields of the
    options' type. Their defaults are those of the settings' types.
    """

    def __init__(self, *settings: str) -> None:
        self._settings = settings
        """``module:Class`` of each, not imported before help() asks."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        import inspect

        function = vars(owner)["__init__"]
        written = inspect.signature(function).parameters.values()
        named = [
            one.replace(annotation=_Shown(one.annotation))
            for one in written
            if one.name != "self" and one.kind is not one.VAR_KEYWORD
        ]
        present = {one.name for one in named}
        named += [one for one in self._options(function) if one.name not in present]
        return inspect.Signature(named)

    def _options(self, function: FunctionType) -> Iterator[inspect.Parameter]:
        import inspect
        from importlib import import_module

        defaults: dict[str, object] = {"instance_name": ""}
        for name in self._settings:
            module, _, settings = name.partition(":")
            struct: type[msgspec.Struct] = getattr(import_module(module), settings)
            fields, values = struct.__struct_fields__, struct.__struct_defaults__
            for field, value in zip(reversed(fields), reversed(values), strict=False):
                defaults.setdefault(field, value)
        unpacked = function.__annotations__["options"]
        options = function.__globals__[unpacked.removeprefix("Unpack[").removesuffix("]")]
        for name, hint in options.__annotations__.items():
            yield inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name),
                annotation=_Shown(hint.__forward_arg__),
            )


class _Shown(str):
    """The text of an annotation, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
