"""One part of a live service on several machines: `scoter serve --role`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from scoter.cli.api_keys import key_line, key_object
from scoter.cli.invocation import NOTHING_TO_DO, invocation
from scoter.cli.output import note, print_json, server_note
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.live.service.plan import ServiceFolder


def serve_role(folder: ServiceFolder, role: str, host: str, port: int, **keys: Any) -> int:
    """Run a part of a service until a signal; or manage the keys in Cassandra, if an option asks for it."""
    from scoter.fetch.protocols.request_headers import user_agent
    from scoter.http.access import needs_keys
    from scoter.http.logs import configure_logging
    from scoter.http.server import open_sockets
    from scoter.live.kafka.kafka import require_packages
    from scoter.live.service.plan import ServicePlan, ServiceRole
    from scoter.live.service.supervisor import Supervisor

    options = invocation()
    if role == "worker" and not options.quiet:
        # The role of this name ran the pipeline once: whoever starts it by an old script must notice.
        note("--role worker fetches; the pipeline is --role pipeline.")
    require_packages()
    user_agent(options.config)  # fail here if agent.name is missing, not in another process
    if any(keys[name] for name in ("new_key", "revoke_key", "list_keys")):
        return asyncio.run(_manage_keys(**keys))
    folder.create(has_log=role == "api")
    plan = ServicePlan(
        config=options.config,
        root=str(folder.root),
        any_host=keys["without_keys"],
        level="DEBUG" if options.debug else "WARNING" if options.quiet else "INFO",
        role=ServiceRole(role),
        needs_keys=role == "api"
        and needs_keys(host, has_keys=True, insecure=keys["without_keys"], wanted=keys["with_keys"]),
    )
    configure_logging(plan.level, plan.config.web.log_format)
    with ExitStack() as stack:
        sockets = stack.enter_context(open_sockets(host, port, options.config.live.lookups)) if role == "api" else ()
        address = f"http://{host}:{sockets[0].getsockname()[1]}/" if sockets else ""

        def announce() -> None:
            if options.json:
                print_json({"role": role, "url": address, "dir": plan.root, "keys": plan.needs_keys})
                sys.stdout.flush()
            elif not options.quiet:
                server_note(
                    f"Started {role}" + (f", listening on {address}" if address else "") + f", data in {plan.root}",
                    options.config.web.log_format,
                )

        return asyncio.run(Supervisor(plan, sockets, announce).run())


async def _manage_keys(
    *,
    new_key: str | None,
    scopes: str,
    rate: float | None,
    tenant: str | None,
    revoke_key: str | None,
    **_: Any,
) -> int:
    from scoter.live.kafka.access import CassandraKeys
    from scoter.live.kafka.cassandra import CassandraSession
    from scoter.live.service.api_keys import check_tenant, parse_scopes

    async with CassandraSession(invocation().config.cassandra) as session:
        keys = CassandraKeys(session)
        await keys.read()
        if new_key is not None:
            key, token = await keys.create(new_key, parse_scopes(scopes), rate, check_tenant(tenant or ""))
            if invocation().json:
                print_json({**key_object(key), "token": token})
            else:
                print(token)
                note(f"Created key {key.id} for {new_key}. The token is not shown again.")
            return 0
        if revoke_key is not None:
            if not await keys.revoke(revoke_key):
                raise UsageError(f"there is no key {revoke_key!r}", where="cassandra")
            note(f"Revoked key {revoke_key}.")
            return 0
        for key in keys.all():
            if invocation().json:
                print_json(key_object(key))
            else:
                print(key_line(key))
        return 0 if keys.all() else NOTHING_TO_DO
