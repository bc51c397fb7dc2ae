"""Export the static part of a web as files with an nginx configuration, for benchmarks with a fast server."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote

import msgspec

from scoter.errors import UsageError
from scoter.simweb.clock import START
from scoter.simweb.facts import Resource, Validators
from scoter.simweb.responses import WELL_FRAMED
from scoter.simweb.sites import SimSite
from scoter.simweb.web import SimWeb

_MOVED = (301, 302, 303, 307, 308)
_REFUSED = (403, 404, 410)
_RULES = "".join(
    f'    if ($moved_{status} != "") {{ return {status} $moved_{status}; }}\n' for status in _MOVED
) + "".join(f"    if ($refused = {status}) {{ return {status}; }}\n" for status in _REFUSED)


class StaticExport(msgspec.Struct, frozen=True):
    """What was written and what was skipped."""

    files: int
    bytes: int
    redirects: int
    #: Number of resources that a static server cannot serve, by answer class.
    left_out: dict[str, int]
    config: Path


def export(web: SimWeb, directory: Path | str, port: int = 8080) -> StaticExport:
    """Write every static resource to a directory, with an ``nginx.conf`` that serves them on one port.

    Pages are as at the start of simulated time. Run ``nginx -p DIRECTORY -c nginx.conf`` to serve them.
    """
    root = Path(directory).absolute()
    if not 1 <= port <= 65535:
        raise UsageError(f"port={port} is invalid: it must be an integer from 1 to 65535", where="simweb")
    try:
        root.mkdir(parents=True, exist_ok=True)
        if any(root.iterdir()):
            raise UsageError(f"{root} is not empty", where="simweb", hint="Choose a new or empty directory.")
        return _NginxExport(web, root).write(port)
    except OSError as failure:
        raise UsageError(f"cannot write {failure.filename}: {failure.strerror}", where="simweb") from failure


class _NginxExport:
    """Writes one export: the files, and the configuration that they need."""

    def __init__(self, web: SimWeb, root: Path) -> None:
        self._web = web
        self._root = root
        self._files = 0
        self._bytes = 0
        self._redirects = 0
        self._left: Counter[str] = Counter()
        self._folders: set[Path] = set()

    def write(self, port: int) -> StaticExport:
        for name in ("sites", "logs", "temp"):
            (self._root / name).mkdir()
        config = self._root / "nginx.conf"
        with ExitStack() as stack:
            self._maps = {
                name: stack.enter_context((self._root / f"{name}.map").open("w", encoding="utf-8"))
                for name in ("refused", *(f"moved-{status}" for status in _MOVED))
            }
            out = stack.enter_context(config.open("w", encoding="utf-8"))
            out.write(_head(port))
            for site in self._web.sites.all():
                out.write(self._site(site, port))
            out.write("}\n")
        return StaticExport(self._files, self._bytes, self._redirects, dict(self._left), config)

    def _site(self, site: SimSite, port: int) -> str:
        """Write a host's files; return its server block."""
        locations = []
        for resource in self._web.resources(site.name):
            if resource.status in _MOVED:
                self._redirects += 1
                line = f'"{site.name}{resource.path}" "{resource.location}";\n'
                self._maps[f"moved-{resource.status}"].write(line)
            elif resource.status in _REFUSED:
                self._maps["refused"].write(f'"{site.name}{resource.path}" {resource.status};\n')
            elif resource.status != 200 or resource.wire not in WELL_FRAMED or _precoded(resource):
                self._left[resource.answer] += 1
            else:
                self._file(resource)
                if resource.content_type != site.html:
                    locations.append(_location(resource))
        compress = "    gzip on;\n" if site.profile.compress else ""
        return (
            f"  server {{\n    listen 127.0.0.1:{port};\n    server_name {site.name};\n"
            f'    root sites/{site.name};\n    default_type "{site.html}";\n{compress}'
            f"{_RULES}{''.join(dict.fromkeys(locations))}  }}\n"
        )

    def _file(self, resource: Resource) -> None:
        place = self._root / "sites" / resource.host / _decoded(resource)[1:]
        if "?" in resource.path and place.exists():
            return  # a static server ignores queries; such resources are identical without them
        if place.parent not in self._folders:
            place.parent.mkdir(parents=True, exist_ok=True)
            # Folders are few compared to files, except in a trap; forgetting one costs one system call.
            if len(self._folders) > 10_000:
                self._folders.clear()
            self._folders.add(place.parent)
        body = resource.body(resource.version(0.0))
        place.write_bytes(body)
        if resource.validators is not Validators.NONE:
            stamp = (START + timedelta(seconds=resource.modified(0.0))).timestamp()
            os.utime(place, (stamp, stamp))
        self._files += 1
        self._bytes += len(body)


def _precoded(resource: Resource) -> bool:
    """Tell whether the body is already encoded, which a plain file cannot express."""
    return any(name == "Content-Encoding" for name, _ in resource.headers)


def _decoded(resource: Resource) -> str:
    """Return the path as nginx compares it: without query, percent-decoded, with an index file for a folder."""
    path = unquote(resource.path.partition("?")[0])
    return f"{path}index.html" if path.endswith("/") else path


def _location(resource: Resource) -> str:
    """Return the location block for a resource whose content type differs from its host's."""
    path = _decoded(resource)
    # nginx stores the length of an exact location in one byte; longer paths are matched by prefix.
    place = f'= "{path}"' if len(path.encode()) < 200 else f'^~ "{path[:100]}"'
    headers = "".join(f' add_header {name} "{value}";' for name, value in resource.headers)
    return f'    location {place} {{ default_type "{resource.content_type}";{headers} }}\n'


def _head(port: int) -> str:
    maps = "".join(
        f'  map "$host$request_uri" $moved_{status} {{ include moved-{status}.map; }}\n' for status in _MOVED
    )
    temporary = "".join(
        f"  {name}_temp_path temp/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        "# A synthetic web. From its directory: nginx -p . -c nginx.conf; to stop: nginx -p . -c nginx.conf -s stop\n"
        "worker_processes 1;\npid logs/nginx.pid;\nerror_log logs/error.log;\n"
        "events { worker_connections 4096; }\n"
        "http {\n  access_log off;\n  sendfile on;\n  tcp_nopush on;\n  keepalive_requests 1000000;\n"
        "  open_file_cache max=20000;\n  absolute_redirect off;\n  types { }\n  index index.html;\n"
        "  gzip_types *;\n  gzip_comp_level 1;\n  gzip_vary on;\n"
        "  server_names_hash_bucket_size 256;\n  server_names_hash_max_size 1048576;\n"
        "  map_hash_bucket_size 512;\n  map_hash_max_size 1048576;\n"
        f"{temporary}{maps}"
        '  map "$host$request_uri" $refused { include refused.map; }\n'
        f"  server {{ listen 127.0.0.1:{port} default_server; return 404; }}\n"
    )
