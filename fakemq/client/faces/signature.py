"""What help() and editors show of a face: every option with its type, default and meaning."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Iterator
    from types import FunctionType, ModuleType

    import msgspec

C = TypeVar("C", bound=type)


_OF_ALL = "options:ClientConfig"


def shows_options(settings: str) -> Callable[[C], C]:
    """Decorate a class that takes ``**options: Unpack[Options]``.

    These are fields of ``settings``, which is ``module:Class`` below `fakemq.client`, and of
    `ClientConfig`. Nothing is imported or made before help() asks for it.
    """

    def decorate(face: C) -> C:
        options = _Options(tuple(dict.fromkeys((settings, _OF_ALL))))
        for name, shown in (
            ("__signature__", _Signature(options)),
            ("__doc__", _Doc(face.__doc__ or "", options)),
        ):
            setattr(face, name, shown)
        return face

    return decorate


def shows_result(method: Callable[..., object], operation: Callable[..., object]) -> None:
    """Let help() show an operation's arguments for a method that runs it, and its result's type.

    `inspect` follows ``__wrapped__``: it finds a copy whose annotation says the result itself.
    """
    from types import FunctionType

    if not isinstance(operation, FunctionType):
        return
    shown = FunctionType(
        operation.__code__,
        operation.__globals__,
        operation.__name__,
        operation.__defaults__,
        operation.__closure__,
    )
    shown.__kwdefaults__ = operation.__kwdefaults__
    result = str(operation.__annotations__.get("return", ""))
    result = result.removeprefix("Operation[").removesuffix("]")
    shown.__annotations__ = {**operation.__annotations__, "return": _Shown(result)}
    method.__dict__["__wrapped__"] = shown
    method.__annotations__ = shown.__annotations__


class _Option(NamedTuple):
    name: str
    hint: _Shown
    default: object
    meaning: str


class _Options:
    """The options of one class: types of its ``Options``, defaults and meanings of settings."""

    def __init__(self, settings: tuple[str, ...]) -> None:
        self._settings = settings

    def of(self, face: type) -> Iterator[_Option]:
        """Return what a class takes besides the arguments that its ``__init__`` names."""
        from importlib import import_module
        from inspect import signature

        defaults: dict[str, object] = {"instance_name": ""}
        meanings: dict[str, str] = {}
        for name in self._settings:
            path, _, struct = name.partition(":")
            module = import_module(f"fakemq.client.{path}")
            defaults = _defaults(getattr(module, struct)) | defaults
            meanings = _meanings(module, struct) | meanings
        function = _init_of(face)
        unpacked = function.__annotations__["options"]
        options = function.__globals__[unpacked.removeprefix("Unpack[").removesuffix("]")]
        present = signature(function).parameters
        for name, hint in options.__annotations__.items():
            if name not in present:
                shown = _Shown(hint.__forward_arg__)
                yield _Option(name, shown, defaults.get(name), meanings.get(name, ""))


class _Signature:
    """The ``__signature__`` of a class, made of that of its ``__init__`` and its options."""

    def __init__(self, options: _Options) -> None:
        self._options = options

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        import inspect

        parameters = inspect.signature(_init_of(owner)).parameters.values()
        named = [
            one.replace(annotation=_Shown(one.annotation))
            for one in parameters
            if one.name != "self" and one.kind is not one.VAR_KEYWORD
        ]
        by_name = inspect.Parameter.KEYWORD_ONLY
        named += [
            inspect.Parameter(
                one.name, by_name, default=_shown_default(one.default), annotation=one.hint
            )
            for one in self._options.of(owner)
        ]
        return inspect.Signature(named)


class _Doc:
    """The ``__doc__`` of a class: as it is written, and what its options mean."""

    def __init__(self, written: str, options: _Options) -> None:
        self._written = written
        self._options = options

    def __get__(self, instance: object, owner: type) -> str:
        import textwrap
        from inspect import cleandoc

        lines = [cleandoc(self._written), "", "Options:", ""]
        for one in self._options.of(owner):
            lines.append(f"``{one.name}``: {one.hint} = {_shown_default(one.default)!r}")
            lines += textwrap.wrap(one.meaning, 90, initial_indent="    ", subsequent_indent="    ")
        return "\n".join(lines)


def _init_of(face: type) -> FunctionType:
    function: FunctionType = next(
        vars(one)["__init__"] for one in face.__mro__ if "__init__" in vars(one)
    )
    return function


def _defaults(struct: type[msgspec.Struct]) -> dict[str, object]:
    fields, values = struct.__struct_fields__, struct.__struct_defaults__
    return dict(zip(reversed(fields), reversed(values), strict=False))


def _meanings(module: ModuleType, struct: str) -> dict[str, str]:
    """Return the texts below the fields of a class, from its source if that is there."""
    import ast
    from inspect import getsource

    try:
        tree = ast.parse(getsource(module))
    except OSError:
        return {}
    found = {}
    for owner in tree.body:
        if not isinstance(owner, ast.ClassDef) or owner.name != struct:
            continue
        for field, text in zip(owner.body, owner.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            ):
                found[field.target.id] = " ".join(str(text.value.value).split())
    return found


def _shown_default(value: object) -> object:
    """Return a default as a program writes it."""
    if isinstance(value, Enum):
        return _Shown(f"{type(value).__name__}.{value.name}")
    if isinstance(value, frozenset):
        return _Shown(f"{{{', '.join(str(int(one)) for one in sorted(value))}}}")
    name = getattr(value, "name", None)  # of a strategy
    return value if name is None else name


class _Shown(str):
    """The text of an annotation or value, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
