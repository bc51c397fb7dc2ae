"""The OpenAPI document, generated from the route table and its types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from scoter.http.records import Problem
from scoter.http.routes import ResponseSpec, Route

_REF: Final = "#/components/schemas/{name}"
_PARAMETER: Final = re.compile(r"\{([a-z]+)\}")


class ApiInfo(Struct, frozen=True):
    """What the document says about an API as a whole.

    ``rules`` are parts of schemas that types cannot express, by the name of the record. ``mixed`` names the records
    with a list whose items are of another type than declared, or of that one: msgspec does not support a union of two
    untagged structs.
    """

    title: str
    description: str
    rules: Mapping[str, Mapping[str, Any]] = {}
    mixed: Mapping[Any, tuple[str, Any]] = {}


_DESCRIPTIONS: Final = {
    400: "The body or the query string is malformed.",
    401: "The API key is missing or unknown.",
    403: "Not allowed.",
    404: "Not found, or unknown.",
    408: "The body did not arrive in time.",
    409: "The request conflicts with the current state.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    421: "Without keys, the service answers to loopback names only.",
    422: "The request is invalid.",
    429: "Too many requests; Retry-After says when to retry.",
    503: "Temporarily unavailable; Retry-After says when to retry.",
    504: "Timeout.",
}
_RETRY_AFTER: Final = {"Retry-After": {"type": "integer", "minimum": 1}}
_HEADERS: Final[Mapping[int, Mapping[str, Any]]] = {
    401: {"WWW-Authenticate": {"type": "string"}},
    429: _RETRY_AFTER,
    503: _RETRY_AFTER,
}


def document(routes: Sequence[Route], *, keys: bool = False, info: ApiInfo) -> dict[str, Any]:
    """Return the OpenAPI document; ``keys`` tells whether every request needs an API key."""
    kinds = list(dict.fromkeys(_kinds(routes, info.mixed)))
    schemas, components = _plain(msgspec.json.schema_components(kinds, ref_template=_REF))
    for name in info.rules.keys() & components.keys():
        components[name] |= info.rules[name]
    by_kind = dict(zip(kinds, schemas, strict=True))
    for kind in info.mixed.keys() & by_kind.keys():
        field, other = info.mixed[kind]
        listed = components[kind.__name__]["properties"][field]
        listed["items"] = {"anyOf": [listed["items"], by_kind[other]]}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_kind, keys)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": info.title,
            "version": "1",
            "description": info.description,
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _plain(schema: Any) -> Any:
    """Return a schema that generators of clients understand.

    Tuples of one type become arrays of fixed length: openapi-python-client rejects a schema that is just `false`.
    Defaults move to the descriptions: openapi-typescript treats a property with a default as always present.
    """
    match schema:
        case {"prefixItems": [first, *others], "items": False, **rest} if all(other == first for other in others):
            return {**rest, "items": _plain(first)}
        case {"default": default, **rest}:
            told = f"Default: {default}." if default and not isinstance(default, list | dict) else ""
            description = f"{rest.get('description', '')} {told}".strip()
            return _plain({**rest, "description": description} if description else rest)
        case dict():
            return {name: _plain(value) for name, value in schema.items()}
        case list() | tuple():
            return [_plain(value) for value in schema]
        case _:
            return schema


def _kinds(routes: Iterable[Route], mixed: Mapping[Any, tuple[str, Any]]) -> Iterable[Any]:
    yield Problem
    for route in routes:
        if route.body is not None:
            yield route.body
        for response in route.responses.values():
            if response.body in mixed:
                yield mixed[response.body][1]
            if response.body is not None:
                yield response.body


def _operation(route: Route, schemas: Mapping[Any, dict[str, Any]], keys: bool) -> dict[str, Any]:
    name = route.path.strip("/").replace("/", "_").replace("{", "").replace("}", "")
    operation: dict[str, Any] = {
        "summary": route.summary,
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
        operation["security"] = [{"key": []}] if keys or route.needs_key else [{"key": []}, {}]
        operation["x-scope"] = route.scope
    refusal = {"application/problem+json": {"schema": schemas[Problem]}}
    for status in _problems(route):
        also = operation["responses"].get(str(status), {})
        operation["responses"][str(status)] = {
            "description": also.get("description", _DESCRIPTIONS[status]),
            "content": {**also.get("content", {}), **refusal},
            **_headers(status),
        }
    operation["responses"]["default"] = {"description": "An error.", "content": refusal}
    return operation


def _headers(status: int) -> dict[str, Any]:
    found = _HEADERS.get(status, {})
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
    if not response.media_type:
        return {"description": response.description}
    schema = {"type": "string"} if response.body is None else schemas[response.body]
    content = {response.media_type: {"schema": schema}}
    # Anything but JSON is bytes to a generated client.
    content |= {each: {"schema": {"type": "string", "format": "binary"}} for each in response.others}
    return {"description": response.description, "content": content}


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
