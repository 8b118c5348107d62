"""The OpenAPI 3.1 document, generated from the declarations of the endpoints."""

from __future__ import annotations

from importlib.metadata import version
from typing import TypeAlias

import msgspec

from fakemq.control.control import Control
from fakemq.control.endpoints import ENDPOINTS, HttpEndpoint, endpoint
from fakemq.control.results import Asset, Error, Stream, Text

Json: TypeAlias = dict[str, object]

_NOT_JSON: dict[object, str] = {
    Text: "text/plain",
    Asset: "text/html",
    Stream: "text/event-stream",
}
"""Results that are sent as they are."""

_REF = "#/components/schemas/{name}"


@endpoint("GET", "/openapi.json")
def get_openapi(control: Control) -> Json:
    """Return this document."""
    return document()


def document() -> Json:
    """Return the document: what every endpoint takes and returns."""
    kinds = [Error, *(kind for one in ENDPOINTS for kind in (one.body, one.result))]
    kinds = [kind for kind in kinds if kind is not None and kind not in _NOT_JSON]
    schemas, components = msgspec.json.schema_components(
        kinds, schema_hook=_schema_of_anything, ref_template=_REF
    )
    schema_of = {repr(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    paths: dict[str, Json] = {}
    for one in ENDPOINTS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "fakemq's control port",
            "version": version("fakemq"),
            "description": "Steers a running fakemq cluster.",
        },
        "security": [{}, {"token": []}],
        "tags": [
            {"name": name, "description": doc}
            for name, doc in {one.tag: one.tag_doc for one in ENDPOINTS}.items()
        ],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schema_of_anything(kind: type) -> Json:
    """Return the schema of ``object``: any value, such as a fault's argument."""
    if kind is not object:
        raise NotImplementedError(kind)
    return {"description": "Any value."}  # an empty schema would be right, but msgspec refuses it


def _operation(one: HttpEndpoint, schema_of: dict[str, Json]) -> Json:
    summary, _, rest = one.doc.partition("\n\n")
    operation: Json = {
        "operationId": one.name,
        "tags": [one.tag],
        "summary": " ".join(summary.split()),
        "parameters": [*_in_path(one), *_in_query(one)],
        "responses": {
            "200": {"description": "Done.", "content": _given(one, schema_of)},
            "default": {
                "description": "Refused: the status and the error say why.",
                "content": {"application/json": {"schema": schema_of[repr(Error)]}},
            },
        },
    }
    if rest:
        operation["description"] = " ".join(rest.split())
    if one.open:
        operation["security"] = []
    if one.body is not None:
        required = any(field.required for field in msgspec.structs.fields(one.body))
        content = {"application/json": {"schema": schema_of[repr(one.body)]}}
        operation["requestBody"] = {"required": required, "content": content}
    return operation


def _given(one: HttpEndpoint, schema_of: dict[str, Json]) -> Json:
    if one.result in _NOT_JSON:
        return {_NOT_JSON[one.result]: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": schema_of[repr(one.result)]}}


def _in_path(one: HttpEndpoint) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in one.in_path
    ]


def _in_query(one: HttpEndpoint) -> list[Json]:
    if one.query is None:
        return []
    (_,), components = msgspec.json.schema_components([one.query], ref_template=_REF)
    schema = components[one.query.__name__]
    return [
        {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": of}
        for name, of in schema["properties"].items()
    ]
