"""nodedumper: the nodes of a graph with the most links or the highest ranks, or their hosts or domains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Literal, TypeAlias

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import iter_rows
from scoter.batch.graph.node_values import node_rows
from scoter.batch.graph.tables import GraphName, open_graph
from scoter.engine import Engine, source_of
from scoter.errors import UsageError, typed
from scoter.plugins.recorded import ibis

NodeValue: TypeAlias = Literal["inlinks", "outlinks", "score", "pagerank", "harmonic"]
VALUES: tuple[NodeValue, ...] = ("inlinks", "outlinks", "score", "pagerank", "harmonic")
_COMPUTED = ("pagerank", "harmonic")


def nodedumper(
    crawl: CrawlDir,
    engine: Engine,
    *,
    by: NodeValue = "score",
    top_n: int | None = None,
    group: Literal["host", "domain"] | None = None,
    aggregate: Literal["sum", "max"] = "sum",
    graph: GraphName = "page",
) -> Iterator[dict[str, Any]]:
    """Yield nodes by a value, highest first; ``group``: hosts or domains by the sum or maximum of their pages."""
    if group is not None and graph != "page":
        raise UsageError("only pages can be grouped", where="--group", hint="Leave out --graph or --group.")
    with ExitStack() as stack:
        opened = stack.enter_context(open_graph(crawl, graph))
        rows = node_rows(engine, opened)
        rows = rows.filter(rows[by].notnull())
        if by in _COMPUTED and opened.size and not next(iter(engine.batches(rows.select(by).limit(1))), ()):
            options = f"{typed(crawl.path)} --algorithm {by}" + ("" if graph == "page" else f" --graph {graph}")
            raise UsageError(f"{by} was not computed yet", where="--by", hint=f"Run: scoter linkrank {options}")
        name = group or "url"
        shown: list[str] = [name, by]
        if group is not None:
            hosts = engine.read(source_of(stack.enter_context(open_graph(crawl, "host")).nodes))
            if group == "domain":
                names = hosts.select(host="id", site="domain")
                of_host = rows.join(names, "host")
                sites = engine.read(source_of(stack.enter_context(open_graph(crawl, "domain")).nodes))
            else:
                of_host, sites = rows.mutate(site=rows.host), hosts
            values = of_host.group_by("site").agg(**{by: getattr(of_host[by], aggregate)(), "pages": of_host.count()})
            names = sites.select(number="id", **{name: "url"})
            rows = values.join(names, values.site == names.number)
            shown = [name, "pages", by]
        ordered = rows.order_by([ibis.desc(by), name])
        if top_n is not None:
            ordered = ordered.limit(top_n)
        yield from iter_rows(engine.batches(ordered.select(*shown)))
