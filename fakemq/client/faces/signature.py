"""Signatures for readers: help() and editors show every option of a face with its default."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import inspect
    from collections.abc import Iterator


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

        written = inspect.signature(vars(owner)["__init__"])
        first, *others = [one for one in written.parameters.values() if one.name != "self"]
        named = [one for one in (first, *others) if one.kind is not one.VAR_KEYWORD]
        present = {one.name for one in named}
        named += [one for one in self._options(owner) if one.name not in present]
        return written.replace(parameters=named, return_annotation=inspect.Signature.empty)

    def _options(self, owner: type) -> Iterator[inspect.Parameter]:
        import inspect
        from importlib import import_module
        from typing import get_args, get_type_hints

        import msgspec

        defaults: dict[str, object] = {"instance_name": ""}
        for name in self._settings:
            module, _, settings = name.partition(":")
            for field in msgspec.structs.fields(getattr(import_module(module), settings)):
                if field.default is not msgspec.NODEFAULT:
                    defaults.setdefault(field.name, field.default)
        (options,) = get_args(get_type_hints(vars(owner)["__init__"])["options"])
        for name, hint in get_type_hints(options).items():
            yield inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name), annotation=hint
            )
