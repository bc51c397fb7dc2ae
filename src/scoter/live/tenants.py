"""Tenants: the clients that share a service without seeing each other's messages, events and deliveries.

Every API key belongs to a tenant, by default to the one without a name. Inside the service, the id of a message begins
with the name of its tenant, so the same id of two tenants means two messages wherever ids are stored or compared.
Messages of the tenant without a name keep the ids that their senders chose: data from before there were tenants is
theirs. Records are shared by all tenants.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from scoter.http.api_keys import DEFAULT_TENANT
from scoter.live.records import Event, UrlRecord

# No client can send it: ids of messages are printable (``api.ONE_LINE``), and so are names of tenants.
SEPARATOR: Final = "\x1f"


def scoped_id(tenant: str, message: str) -> str:
    """Return the id of a tenant's message inside the service.

    >>> scoped_id("acme", "m1"), scoped_id(DEFAULT_TENANT, "m1")
    ('acme\\x1fm1', 'm1')
    """
    return f"{tenant}{SEPARATOR}{message}" if tenant else message


def split_id(scoped: str) -> tuple[str, str]:
    """Return the tenant of a message, and the id that its sender knows.

    >>> split_id(scoped_id("acme", "m1")), split_id("m1")
    (('acme', 'm1'), ('', 'm1'))
    """
    tenant, separator, message = scoped.partition(SEPARATOR)
    return (tenant, message) if separator else (DEFAULT_TENANT, scoped)


def tenant_of(scoped: str) -> str:
    """Return the tenant of a message."""
    return split_id(scoped)[0]


def announcement(number: int, scoped: str, url: str, at: datetime, record: UrlRecord) -> Event:
    """Return the event of a finished URL, as its tenant sees it."""
    tenant, message = split_id(scoped)
    return Event(number=number, message=message, url=url, at=at, record=record, tenant=tenant)
