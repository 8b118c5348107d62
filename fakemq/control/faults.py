"""Endpoints of faults: every method of `Faults` that places a fault, called by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import msgspec

from fakemq.control.control import Control
from fakemq.control.endpoints import RequestBody, endpoint
from fakemq.control.results import Argument, Done, Refusal
from fakemq.errors import did_you_mean
from fakemq.handles.faults import Faults, Placing
from fakemq.handles.faults.placing import Fault
from fakemq.handles.faults.requests import GateFault


class FaultState(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that was placed since the start or the last reset."""

    id: int
    what: str
    """The fault as text, as in the journal."""
    fired: int
    """How often it acted."""
    pending: bool
    """Whether it may still act."""
    placed: bool
    """Whether it has not been removed."""
    waiting: int | None = None
    """How many requests, answers or calls wait for its release; null if it holds none back."""


class FaultKind(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    call: str
    """Its signature in Python's syntax."""
    doc: str


class PlaceFault(RequestBody):
    fault: str
    """The name of a kind, such as ``silence``; ``GET /v1/faults/kinds`` has them all."""
    args: list[Argument] = msgspec.field(default_factory=list)
    kwargs: dict[str, Argument] = msgspec.field(default_factory=dict)


def placings(faults: Faults) -> Iterator[tuple[str, Callable[..., object]]]:
    """Return every method that places a fault, with its name."""
    for name, member in inspect.getmembers_static(type(faults), is_placing):
        if issubclass(_returned_by(member.method), Fault):
            yield name, getattr(faults, name)


def is_placing(member: object) -> bool:
    return isinstance(member, Placing)


def _arguments(place: Callable[..., object]) -> dict[str, str]:
    """Return the arguments of a placing: name → the text behind it in Python's syntax.

    The keywords of ``**limits`` are listed one by one: ``{"times": ": int = ..."}``.
    """
    found: dict[str, str] = {}
    for name, parameter in inspect.signature(place).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            found |= _keywords(place, str(parameter.annotation))
        else:
            found[name] = str(parameter.replace(name="_"))[1:].replace("'", "")
    return found


def _keywords(place: Callable[..., object], written: str) -> dict[str, str]:
    """Return the keys of the TypedDict named in ``Unpack[...]``, each with its type as text."""
    name = written.removeprefix("Unpack[").removesuffix("]")
    kind = inspect.unwrap(place).__globals__.get(name, object)
    declared = getattr(kind, "__annotations__", {})
    return {
        key: f": {getattr(value, '__forward_arg__', None) or inspect.formatannotation(value)} = ..."
        for key, value in declared.items()
    }


def _call(name: str, place: Callable[..., object]) -> str:
    """Return the signature of a placing in Python's syntax: ``cut(a: str, b: str, ...)``."""
    arguments = ", ".join(name + rest for name, rest in _arguments(place).items())
    return f"{name}({arguments})"


def _returned_by(function: object) -> type:
    """Return the class in a method's return annotation; object if there is none.

    The annotation is a string, so the name is looked up in the method's module.
    """
    if not inspect.isfunction(function):
        return object
    written = inspect.get_annotations(function).get("return")
    found = function.__globals__.get(written) if isinstance(written, str) else written
    return found if isinstance(found, type) else object


@endpoint("GET", "/v1/faults")
def get_faults(control: Control) -> list[FaultState]:
    """Return every fault placed since the start or the last reset, oldest first."""
    return [_state(control, fault) for fault in control.mq.faults.all()]


@endpoint("GET", "/v1/faults/kinds")
def get_fault_kinds(control: Control) -> list[FaultKind]:
    """Return the kinds of faults that can be placed, with their arguments."""
    return [
        FaultKind(
            name=name,
            call=_call(name, place),
            doc=inspect.getdoc(place) or "",
        )
        for name, place in placings(control.mq.faults)
    ]


@endpoint("POST", "/v1/faults")
def place_fault(control: Control, body: PlaceFault) -> FaultState:
    """Place a fault; its id is its number in the journal."""
    there = dict(placings(control.mq.faults))
    place = there.get(body.fault)
    if place is None:
        if body.fault in ("clear", "remove"):  # what Python's faults are removed by
            hint = "; DELETE /v1/faults removes all faults, and DELETE /v1/faults/NUMBER one"
        else:
            hint = did_you_mean(body.fault, sorted(there))
        raise Refusal(400, f"there is no fault {body.fault!r}{hint}")
    call = _call(body.fault, place)
    known = _arguments(place)
    for name in (one for one in body.kwargs if one not in known):
        raise Refusal(400, f"{body.fault} has no argument {name!r}; expected {call}")
    try:
        fault = place(*body.args, **body.kwargs)
    except TypeError as error:
        what = str(error).replace(place.__qualname__, body.fault)
        raise Refusal(400, f"{what}; expected {call}") from None
    assert isinstance(fault, Fault)
    control.placed[fault.number] = fault
    return _state(control, fault)


@endpoint("GET", "/v1/faults/{fault}")
def get_fault(control: Control, fault: str) -> FaultState:
    """Return one fault, and how often it acted."""
    return _state(control, _named(control, fault))


@endpoint("POST", "/v1/faults/{fault}/release")
def release_fault(control: Control, fault: str) -> FaultState:
    """Release what a fault holds back; 409 for a fault that holds nothing back."""
    found = _named(control, fault)
    release = getattr(control.as_placed(found), "release", None)
    if release is None or not found.placed:
        raise Refusal(409, f"{found!r} was not placed here to hold anything back")
    release()
    return _state(control, found)


@endpoint("DELETE", "/v1/faults/{fault}")
def remove_fault(control: Control, fault: str) -> FaultState:
    """Remove a fault; a second call does nothing."""
    found = _named(control, fault)
    found.remove()
    return _state(control, found)


@endpoint("DELETE", "/v1/faults")
def clear_faults(control: Control) -> Done:
    """Remove every fault; the numbers continue until a reset."""
    control.mq.faults.clear()
    return Done()


def _named(control: Control, number: str) -> Fault:
    there = {str(fault.number): fault for fault in control.mq.faults.all()}
    if number not in there:
        raise Refusal(404, f"no fault {number}; there are: {', '.join(there) or 'none'}")
    return there[number]


def _state(control: Control, fault: Fault) -> FaultState:
    gate = control.as_placed(fault)
    return FaultState(
        id=fault.number,
        what=fault.what,
        fired=fault.fired,
        pending=fault.pending,
        placed=fault.placed,
        waiting=gate.waiting if isinstance(gate, GateFault) else None,
    )
