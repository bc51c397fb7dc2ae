"""What `make site` adds to MkDocs: pages from outside docs/, the OpenAPI documents, and checks of the result."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from scoter.batch.api.app import BATCH_API, BATCH_ROUTES
from scoter.http.openapi import document
from scoter.live.api.app import LIVE_API, ROUTES

_ROOT: Final = Path(__file__).parents[2]
_TOOLS: Final = _ROOT / "build" / "site-tools" / "node_modules"
_OUTSIDE: Final = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
_ASSETS: Final = {
    "assets/swagger-ui.css": _TOOLS / "swagger-ui-dist" / "swagger-ui.css",
    "assets/swagger-ui-bundle.js": _TOOLS / "swagger-ui-dist" / "swagger-ui-bundle.js",
    "assets/iframe-worker.js": _TOOLS / "iframe-worker" / "shim" / "index.js",
}
_DOCUMENTS: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "live-calls.md": ("The HTTP API: all calls", document(ROUTES, info=LIVE_API)),
    "rest-calls.md": ("The REST API for batch crawls: all calls", document(BATCH_ROUTES, info=BATCH_API)),
}
_LOADED: Final = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)""")
_log = logging.getLogger("mkdocs.hooks.site")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and assets that are not in docs/."""
    for name in _OUTSIDE:
        files.append(File.generated(config, name, content=(_ROOT / name).read_text("utf-8")))
    for name, (title, about) in _DOCUMENTS.items():
        files.append(File.generated(config, name, content="\n".join(_calls(title, about))))
    for name, source in _ASSETS.items():
        files.append(File.generated(config, name, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Rewrite what GitHub and MkDocs read differently: links out of docs/, and the indentation of nested blocks."""
    name = page.file.src_uri
    if name in _DOCUMENTS:
        page.meta |= {"template": "api.html", "openapi": _DOCUMENTS[name][1], "hide": ["toc"]}
    project = config.extra["project"]
    markdown = re.sub(rf"\]\(\.\./({'|'.join(_OUTSIDE)})", r"](\1", markdown)
    if name in _OUTSIDE:
        markdown = markdown.replace("](docs/", "](")
        markdown = re.sub(r"\]\((?=(?:src|tests|examples|deploy|benchmarks)/)", f"]({project}/blob/main/", markdown)
    if "/" not in name:  # a page of a folder has other pages there
        markdown = markdown.replace("](../", f"]({project}/blob/main/")
    return "\n".join(_lines(markdown))


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Warn of anything that a page would load from another server; with --strict that is an error."""
    for address in _LOADED.findall(output):
        _log.warning("%s loads %s", page.file.src_uri, address)
    return output


def on_post_build(config: MkDocsConfig) -> None:
    """Check that the search index is complete."""
    index = (Path(config.site_dir) / "search" / "search_index.json").read_text("utf-8")
    docs = Path(config.docs_dir)
    pages = [page.relative_to(docs) for page in docs.rglob("*.md")]
    missing = [page for page in pages if f'"{page.with_suffix(".html")}' not in index]
    if missing:
        raise PluginError(f"not in the search index: {', '.join(map(str, missing))}")


def _calls(title: str, about: Mapping[str, Any]) -> Iterator[str]:
    """Yield a page with a line for each call, which the search finds; the template adds the whole document."""
    yield f"# {title}\n"
    yield f"{about['info']['description']} The OpenAPI document is below, as `GET /v1/openapi.json` returns it.\n"
    yield "| call | purpose |"
    yield "|---|---|"
    for path, operations in about["paths"].items():
        for method, operation in operations.items():
            yield f"| `{method.upper()} {path}` | {operation.get('summary', '')} |"


def _lines(markdown: str) -> Iterator[str]:
    """Yield lines in which blocks within list items have four spaces before them, which MkDocs expects."""
    is_code = was_blank = False
    for line in markdown.splitlines():
        if line.lstrip().startswith("```"):
            # Only the first word after the fence is a language; the tests use the others.
            line = line if is_code else re.sub(r"^( *```\w+) .*", r"\1", line)
            is_code = not is_code
        elif not is_code:
            line = re.sub(r"^ {2,3}(?=\S)" if was_blank else r"^ {2,3}(?=[-|]|\d+\. )", "    ", line)
        was_blank = not line.strip()
        yield line
