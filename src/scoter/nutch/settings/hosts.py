"""Nutch's files about single hosts, in the form of our settings: credentials, and which hosts need a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scoter.config.named_files import lines_in
from scoter.nutch.settings.names import PLUGINS
from scoter.nutch.settings.translation import Untranslated
from scoter.nutch.settings.xml import XmlElement, read_element

_KINDS: Final = ("basic", "digest", "ntlm")
_PROPERTY: Final = "http.auth.file"
_MAPPING: Final = "host-protocol-mapping.txt"


def credentials(xml: bytes, source: str) -> tuple[list[str], list[Untranslated]]:
    """Return the lines of http.auth_file for the scopes in Nutch's httpclient-auth.xml, and what has none."""
    lines: list[str] = []
    left: list[Untranslated] = []
    for login in read_element(xml, source, "auth-configuration", "httpclient-auth.xml").named("credentials"):
        user, password = login.attributes.get("username", ""), login.attributes.get("password", "")
        if login.named("default"):
            left.append(Untranslated(_PROPERTY, f"default of {user}", "there is no default: name the hosts"))
        for scope in login.named("authscope"):
            try:
                lines.append(_line(scope, user, password))
            except ValueError as error:
                left.append(Untranslated(_PROPERTY, f"{scope.attributes.get('host', '')} of {user}", str(error)))
            left += _ignored(scope)
    return lines, left


def _line(scope: XmlElement, user: str, password: str) -> str:
    host, kind = scope.attributes.get("host", ""), scope.attributes.get("scheme", "").lower() or "basic"
    if not host:
        raise ValueError("there is no default: name the hosts")
    if kind not in _KINDS:
        raise ValueError(f"the scheme {kind} is not supported")
    if not user or not password or re.search(r"\s", host + user + password):
        raise ValueError("a user name and a password without spaces are needed")
    return f"{host} {kind} {user} {password}"


def _ignored(scope: XmlElement) -> Iterator[Untranslated]:
    for name in ("port", "realm"):
        if value := scope.attributes.get(name):
            host = scope.attributes.get("host", "")
            yield Untranslated(_PROPERTY, f"{name} {value} of {host}", "credentials are for the whole host")


def browser_patterns(data: bytes, source: str) -> tuple[list[str], list[Untranslated]]:
    """Return browser.url_patterns for the hosts that Nutch's host-protocol-mapping.txt gives to a browser."""
    patterns: list[str] = []
    left: list[Untranslated] = []
    for line in lines_in(data, source):
        if not line.strip() or line.startswith("#"):
            continue
        host, _, plugin = (part.strip() for part in line.partition("\t"))
        needs_browser = ("fetch.protocols", "browser") in PLUGINS.get(plugin, ())
        if plugin not in PLUGINS:
            left.append(Untranslated(_MAPPING, line.strip()[:80], "unknown plug-in"))
        elif needs_browser and host.startswith("protocol:"):
            patterns.append(f"^{re.escape(host.removeprefix('protocol:'))}:")
        elif needs_browser:
            patterns.append(f"^https?://{re.escape(host)}[:/]")
    return patterns, left
