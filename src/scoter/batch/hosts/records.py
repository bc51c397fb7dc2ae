"""The join of everything known about hosts to the rows of the hostdb."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.hosts.crawldb_facts import PAGES, root_url
from scoter.batch.hosts.histograms import merged, summary, unpacked
from scoter.batch.hosts.lookups import FAILED, OK
from scoter.engine.port import Job, Rows
from scoter.engine.portable import Value, double, first_rows, null_like
from scoter.plugins.recorded import ibis

OLD, COUNTS, FETCHES, BINS, CHAINS = "old", "counts", "fetches", "bins", "chains"
ROBOTS, CHECKS, RANKS, TRAPS, EXTRA = "robots", "checks", "ranks", "traps", "extra"
FIELD_BINS, FIELD_VALUES = "field_bins", "field_values"
NOW = "now"
_KINDS = {"latency": "latency_ms", "size": "page_bytes"}
_SUMS = ("min", "max", "sum", "count")
MOST_VALUES = 50
"""Values of a textual field that are kept for each host, the most frequent ones."""
RANK_COLUMNS = ("inlinks", "outlinks", "score", "pagerank", "harmonic")


class HostdbRules(Struct, frozen=True, kw_only=True):
    """The settings that the rows depend on."""

    percentiles: tuple[int, ...]
    numeric_fields: tuple[str, ...] = ()
    recheck_seconds: int = 86_400
    purge_after: int | None = None
    is_anew: bool = False
    """Compute the percentiles of all hosts, because other ones are wanted than before."""


@lru_cache(maxsize=16)
def host_job(rules: HostdbRules) -> Job:
    """Return the job from the inputs to the rows of the hostdb.

    Equal rules give the same job, whose query engines cache.
    """

    def run(tables: Mapping[str, Rows]) -> Rows:
        rows = _joined(tables, rules)
        row = _Row(rows, rules, tables[NOW])
        found = rows.select(**row.columns())
        if rules.purge_after is not None:
            # A dead host that the crawldb still knows is kept: generate must remember that it is dead.
            is_dead = (found.dns_failures > 0) & (found.dns_failures >= rules.purge_after)
            found = found.filter(~(is_dead & (found.urls == 0)))
        return found.select(*schemas.HOSTDB.names)

    return run


def _joined(tables: Mapping[str, Rows], rules: HostdbRules) -> Rows:
    """Return one row per host with the columns of all inputs, each after its name and a dot."""
    every = [tables[name].select("url", "key") for name in (OLD, COUNTS, FETCHES) if name in tables]
    rows = ibis.union(*every, distinct=True)
    parts = {name: tables[name] for name in (OLD, COUNTS, ROBOTS, CHECKS, RANKS, TRAPS, EXTRA) if name in tables}
    if FETCHES in tables:
        parts[FETCHES] = tables[FETCHES]
    parts["sketches"] = _sketches(tables, rules)
    if CHAINS in tables:
        chains = tables[CHAINS]
        for scheme in ("https", "http"):
            parts[f"{scheme}_chain"] = chains.filter(chains.source.startswith(f"{scheme}:"))
    if FIELD_BINS in tables or FIELD_VALUES in tables:
        parts["fields"] = _statistics(tables, rules)
    for name, table in parts.items():
        its = table.select(**{f"{name}.{column}": table[column] for column in table.columns})
        joined = rows.left_join(its, rows.url == its[f"{name}.url"])
        rows = joined.select(*rows.columns, *(column for column in its.columns if column != f"{name}.url"))
    return rows


def _sketches(tables: Mapping[str, Rows], rules: HostdbRules) -> Rows:
    """Return the bins and percentiles of the hosts that have new values."""
    old, found = tables[OLD], []
    if BINS in tables:
        new = tables[BINS]
        found.append(new.select("url", "kind", "place", "number"))
        if not rules.is_anew:
            old = old.semi_join(new, "url")
    elif not rules.is_anew:
        old = old.filter(ibis.literal(value=False))
    found += [unpacked(old, f"{kind}_bins", kind) for kind in _KINDS]
    return merged(ibis.union(*found), tuple(_KINDS), rules.percentiles)


def _statistics(tables: Mapping[str, Rows], rules: HostdbRules) -> Rows:
    """Return the statistics of metadata by host, as a list of names and values."""
    found = []
    if FIELD_BINS in tables:
        bins = tables[FIELD_BINS]
        total = bins.group_by(["url", "kind"]).agg(
            min=bins.least.min(), max=bins.most.max(), sum=bins.total.sum(), number=bins.number.sum()
        )
        entries = {"min": total["min"], "max": total["max"], "avg": total["sum"] / total.number}
        found += [_entry(total, ibis.literal(f"{name}.") + total.kind, value) for name, value in entries.items()]
        renamed = {f"f{number}": field for number, field in enumerate(rules.numeric_fields)}
        places = merged(
            ibis.union(
                *(
                    bins.filter(bins.kind == field).select("url", "place", "number", kind=ibis.literal(short))
                    for short, field in renamed.items()
                )
            ),
            tuple(renamed),
            rules.percentiles,
        )
        for short, field in renamed.items():
            bounds = total.filter(total.kind == field).select("url", least="min", most="max")
            met = places.join(bounds, "url")
            numbers = {"min": met.least, "max": met.most}
            for each in rules.percentiles:
                value = summary(numbers, {"p": met[f"{short}_p{each}"]}).get("p")
                found.append(_entry(met, ibis.literal(f"pct{each}.{field}"), value))
    if FIELD_VALUES in tables:
        values = tables[FIELD_VALUES]
        kept = first_rows(values, ["url", "field"], [values.number.desc(), values.value], MOST_VALUES)
        found.append(_entry(kept, kept.field + "." + kept.value, kept.number))
    entries = ibis.union(*found)
    record = ibis.struct({"name": entries["name"], "value": entries["value"]})
    return entries.group_by("url").agg(entries=record.collect())


def _entry(rows: Rows, name: Value, value: Value) -> Rows:
    return rows.select("url", name=name, value=value.cast("float64").round(3))


class _Row:
    """The columns of the hostdb, as expressions over the joined inputs."""

    def __init__(self, rows: Rows, rules: HostdbRules, now: Value) -> None:
        self._rows = rows
        self._rules = rules
        self._now = now

    def columns(self) -> dict[str, Value]:
        rows = self._rows
        found: dict[str, Value] = {"url": rows.url, "key": rows.key}
        found |= {name: self._count(f"counts.{name}") for name in ("urls", *schemas.STATUS_COUNTS)}
        found["pages"] = found[PAGES[0]] + found[PAGES[1]]
        found |= self._homepage()
        found |= self._dns()
        found |= {name: self._count(f"old.{name}") + self._count(f"fetches.{name}") for name in schemas.FETCH_COUNTS}
        found |= self._measures()
        found["statistics"] = self._statistics()
        has_robots = self._has("robots.key")
        for name in ("crawl_delay", "robots", "sitemaps"):
            found[name] = self._first(has_robots, f"robots.{name}", f"old.{name}")
        for name in ("ip", "server", "tls"):
            found[name] = self._latest(f"fetches.{name}", f"old.{name}")
        found["traps"] = self._count("traps.traps")
        for name in RANK_COLUMNS:
            found[name] = self._latest(f"ranks.{name}", f"old.{name}")
        first = self._of("fetches.first_fetch")
        found["first_seen"] = rows["old.first_seen"].coalesce(self._now if first is None else first.coalesce(self._now))
        found["last_seen"] = self._later("fetches.last_answer", "old.last_seen")
        found["last_fetch"] = self._later("fetches.last_fetch", "old.last_fetch")
        found["metadata"] = self._latest("extra.metadata", "old.metadata")
        return {name: found[name] for name in schemas.HOSTDB.names}

    def _of(self, name: str) -> Value | None:
        return self._rows[name] if name in self._rows.columns else None

    def _has(self, name: str) -> Value:
        found = self._of(name)
        return ibis.literal(value=False) if found is None else found.notnull()

    def _count(self, name: str) -> Value:
        found = self._of(name)
        return ibis.literal(0, "int64") if found is None else found.cast("int64").fill_null(0)

    def _latest(self, new: str, old: str) -> Value:
        found = self._of(new)
        return self._rows[old] if found is None else found.coalesce(self._rows[old])

    def _first(self, condition: Value, new: str, old: str) -> Value:
        found = self._of(new)
        return self._rows[old] if found is None else condition.ifelse(found, self._rows[old])

    def _later(self, new: str, old: str) -> Value:
        found, before = self._of(new), self._rows[old]
        return before if found is None else ibis.greatest(found.coalesce(before), before.coalesce(found))

    def _homepage(self) -> dict[str, Value]:
        rows = self._rows
        root = root_url(_Prefixed(rows, "counts."))
        https, http = self._of("https_chain.chain"), self._of("http_chain.chain")
        old_chain = rows["old.homepage_chain"]
        chain = null_like(old_chain)
        if https is not None and http is not None:
            chain = ibis.cases(
                (root == rows["https_chain.source"], https), (root == rows["http_chain.source"], http), else_=chain
            )
        is_known = chain.isnull() & (old_chain[0] == root)
        chain = is_known.ifelse(old_chain, chain)
        last = chain[chain.length() - 1]
        return {"homepage": last.coalesce(root, rows["old.homepage"]), "homepage_chain": chain}

    def _dns(self) -> dict[str, Value]:
        rows = self._rows
        answer = self._of("checks.answer")
        checked = ibis.literal("") if answer is None else answer.fill_null("")
        old, failures = rows["old.dns"], self._count("old.dns_failures")
        answered, missing = self._of("fetches.last_answer"), self._of("fetches.last_unresolved")
        before = rows["old.last_check"]
        times: list[tuple[Value, Value]] = []
        if answer is not None:
            times.append((checked != "", rows["checks.checked"]))
        is_ok, is_failed = checked == OK, checked == FAILED
        if answered is not None and missing is not None:
            unchecked = checked == ""
            is_answered = unchecked & answered.notnull() & (missing.isnull() | (answered >= missing))
            is_missing = unchecked & ~is_answered & missing.notnull() & (before.isnull() | (missing > before))
            is_missing, is_answered = (
                is_missing.coalesce(ibis.literal(value=False)),
                is_answered.coalesce(ibis.literal(value=False)),
            )
            times += [(is_answered, answered), (is_missing, missing)]
            is_ok, is_failed = is_ok | is_answered, is_failed | is_missing
        number = ibis.cases((is_failed, failures + 1), (is_ok, ibis.literal(0, "int64")), else_=failures)
        last = ibis.cases(*times, else_=before) if times else before
        wait = ibis.greatest(number, ibis.literal(1, "int64")) * self._rules.recheck_seconds
        return {
            "dns": ibis.cases((is_failed, FAILED), (is_ok, OK), else_=old),
            "dns_failures": number,
            "last_check": last,
            "next_check": last + wait.cast("int64").as_interval("s"),
        }

    def _measures(self) -> dict[str, Value]:
        rows, found = self._rows, {}
        for kind, name in _KINDS.items():
            before, bins = rows[f"old.{name}"], rows[f"sketches.{kind}_bins"]
            numbers: dict[str, Value] = {}
            count, total = before.get("count").fill_null(double(0)), before.get("sum").fill_null(double(0))
            least, most = before.get("min"), before.get("max")
            if self._of(f"fetches.{kind}_min") is not None:
                new = {each: rows[f"fetches.{kind}_{each}"].cast("float64") for each in _SUMS}
                count, total = count + new["count"].fill_null(double(0)), total + new["sum"].fill_null(double(0))
                least = ibis.least(new["min"].coalesce(least), least.coalesce(new["min"]))
                most = ibis.greatest(new["max"].coalesce(most), most.coalesce(new["max"]))
            numbers = {"count": count, "sum": total, "mean": total / count.nullif(double(0)), "min": least, "max": most}
            places = {f"p{each}": rows[f"sketches.{kind}_p{each}"] for each in self._rules.percentiles}
            found[name] = bins.notnull().ifelse(summary(numbers, places), before)
            found[f"{kind}_bins"] = bins.coalesce(rows[f"old.{kind}_bins"])
        return found

    def _statistics(self) -> Value:
        entries = self._of("fields.entries")
        if entries is None:
            return null_like(self._rows["old.statistics"])
        return ibis.map(entries.map(lambda each: each["name"]), entries.map(lambda each: each["value"]))


class _Prefixed:
    """Columns of an input, by their names without the prefix."""

    def __init__(self, rows: Rows, prefix: str) -> None:
        self.url = rows.url
        self._rows = rows
        self._prefix = prefix

    def __getitem__(self, name: str) -> Any:
        return self._rows[self._prefix + name]
