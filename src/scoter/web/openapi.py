"""The OpenAPI document, made from the table of routes and the types that it names."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from scoter.api import Missing, Problem
from scoter.web.lookups import LookupResults
from scoter.web.routes import ResponseSpec, Route

_REF: Final = "#/components/schemas/{name}"
_PARAMETER: Final = re.compile(r"\{([a-z]+)\}")
_TOLD: Final = {
    400: "The body or the query cannot be read.",
    401: "No key, or none that is known.",
    403: "Not allowed.",
    404: "There is nothing, or nothing is known.",
    408: "The body did not come in time.",
    409: "It does not go together with what there is.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    421: "Without keys, the service answers only to loopback names.",
    422: "The request says something that is not understood.",
    429: "Too much; Retry-After tells when to come again.",
    503: "Not now; Retry-After tells when to come again.",
    504: "It took too long.",
}
_LATER: Final = {"Retry-After": {"type": "integer", "minimum": 1}}
_FIELDS: Final[Mapping[int, Mapping[str, Any]]] = {
    401: {"WWW-Authenticate": {"type": "string"}},
    429: _LATER,
    503: _LATER,
}


def document(routes: Sequence[Route], *, keys: bool = False) -> dict[str, Any]:
    """Return the document of an API; with ``keys`` nobody comes in without one."""
    kinds = list(dict.fromkeys(_kinds(routes)))
    made: dict[Any, Any] = {}
    plain = [_plain(kind, made) for kind in kinds]
    schemas, components = msgspec.json.schema_components(plain, ref_template=_REF)
    by_kind = dict(zip(kinds, schemas, strict=True))
    # A record or its absence, side by side: msgspec cannot say that of two structs, since it could not read it.
    record = components["LookupResults"]["properties"]["results"]["items"]
    components["LookupResults"]["properties"]["results"]["items"] = {"anyOf": [record, by_kind[Missing]]}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_kind, keys)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Scoter", "version": "1", "description": "Links in, what they lead to out."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _kinds(routes: Iterable[Route]) -> Iterable[Any]:
    yield from (Problem, Missing, LookupResults)
    for route in routes:
        if route.body is not None:
            yield route.body
        yield from (response.body for response in route.responses.values() if response.body is not None)


def _operation(route: Route, schemas: Mapping[Any, dict[str, Any]], keys: bool) -> dict[str, Any]:
    name = route.path.strip("/").replace("/", "_").replace("{", "").replace("}", "")
    operation: dict[str, Any] = {
        "summary": route.told,
        "operationId": f"{route.method.lower()}_{name}",
        "responses": {str(status): _response(each, schemas) for status, each in route.responses.items()},
    }
    parameters = [_path_parameter(name) for name in _PARAMETER.findall(route.path)]
    if route.query is not None:
        parameters += _query_parameters(route.query)
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        content = {"application/json": {"schema": schemas[route.body]}}
        operation["requestBody"] = {"required": True, "content": content}
    if route.scope is not None:
        operation["security"] = [{"key": []}] if keys or route.shows_key else [{"key": []}, {}]
        operation["x-scope"] = route.scope
    refusal = {"application/problem+json": {"schema": schemas[Problem]}}
    for status in _problems(route):
        operation["responses"][str(status)] = {"description": _TOLD[status], "content": refusal, **_fields(status)}
    operation["responses"]["default"] = {"description": "Something is wrong.", "content": refusal}
    return operation


def _fields(status: int) -> dict[str, Any]:
    found = _FIELDS.get(status, {})
    return {"headers": {name: {"required": True, "schema": schema} for name, schema in found.items()}} if found else {}


def _problems(route: Route) -> list[int]:
    found = set(route.problems)
    if route.scope is not None:
        found |= {401, 403, 421, 429, 503}
    if route.query is not None:
        found |= {400, 422}
    if "{" in route.path:
        found |= {404, 422}
    if route.body is not None:
        found |= {400, 408, 413, 415, 422}
    return sorted(found)


def _response(response: ResponseSpec, schemas: Mapping[Any, dict[str, Any]]) -> dict[str, Any]:
    schema = {"type": "string"} if response.body is None else schemas[response.body]
    return {"description": response.told, "content": {response.media_type: {"schema": schema}}}


def _path_parameter(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 253}
    if name == "domain":
        schema["format"] = "registered-domain"
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameters(kind: type[Struct]) -> list[dict[str, Any]]:
    components = msgspec.json.schema_components([kind], ref_template=_REF)[1]
    found = components[kind.__name__]
    return [
        {"name": name, "in": "query", "required": name in found.get("required", ()), "schema": schema}
        for name, schema in found["properties"].items()
    ]


def _plain(kind: Any, made: dict[Any, Any]) -> Any:
    """Return a type with structs whose defaults are all of JSON: a default that is a read-only mapping is not."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        if kind not in made:
            made[kind] = _plain_struct(kind, made)
        return made[kind]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(_plain(each, made) for each in inner)]  # noqa: UP007  made at run time
    if origin is typing.Annotated:
        return typing.Annotated[(_plain(inner[0], made), *inner[1:])]
    if origin in (None, typing.Literal):
        return kind
    return origin[tuple(_plain(each, made) for each in inner)]


def _plain_struct(kind: type[Struct], made: dict[Any, Any]) -> type[Struct]:
    hints = typing.get_type_hints(kind, include_extras=True)
    fields: list[Any] = []
    for field in msgspec.structs.fields(kind):
        told = _plain(hints[field.name], made)
        if field.required:
            fields.append((field.encode_name, told))
        elif isinstance(field.default, types.MappingProxyType):
            fields.append((field.encode_name, told, {}))
        elif field.default is not msgspec.NODEFAULT:
            fields.append((field.encode_name, told, field.default))
        else:
            fields.append((field.encode_name, told, msgspec.field(default_factory=field.default_factory)))
    config = kind.__struct_config__
    namespace = {"__doc__": kind.__doc__}
    return msgspec.defstruct(
        kind.__name__, fields, kw_only=True, namespace=namespace, forbid_unknown_fields=config.forbid_unknown_fields
    )
