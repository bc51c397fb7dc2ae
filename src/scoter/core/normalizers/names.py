"""A table from host names and ``*.domain`` patterns to values; the most specific entry answers."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class NameTable(Struct, frozen=True):
    """Entries for single hosts, and for all hosts below a domain."""

    hosts: Mapping[str, str]
    domains: Mapping[str, str]

    def find(self, host: str) -> str | None:
        """Return the entry for a host, or of the longest domain that it is in.

        >>> NameTable({}, {"example.org": "x"}).find("a.b.example.org")
        'x'
        """
        found = self.hosts.get(host)
        while found is None and "." in host and self.domains:
            host = host.partition(".")[2]
            found = self.domains.get(host)
        return found
