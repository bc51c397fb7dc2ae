"""Ask for pages of documentation; exit with 1 if Scoter answers fewer queries at first place than a peer.

    python -m benchmarks.search.documentation [--into build/search] [--failures]

A third of the queries is held out by a hash: what is tuned is tuned on the others.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.search.documentation.engines import DEPTH, ENGINES, Answers
from benchmarks.search.documentation.sets import SETS, DocumentationQuery, gathered, queries


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--into", type=Path, default=Path("build/search"))
    parser.add_argument("--failures", action="store_true", help="list the queries that are not right at first place")
    parser.add_argument("--engine", choices=list(ENGINES), action="append", help="only these")
    said = parser.parse_args()
    engines = said.engine or list(ENGINES)
    ranks: dict[str, dict[DocumentationQuery, int]] = defaultdict(dict)
    for each in SETS:
        site = gathered(each, said.into.resolve())
        asked = [query for query in queries() if query.set == each.name]
        if site is None:
            continue
        for name in engines:
            answers = ENGINES[name](site, site.parents[1] / each.name, [query.text for query in asked])
            ranks[name] |= {query: _rank(query, answers) for query in asked}
            if said.failures and name == "Scoter":
                _show_failures(asked, answers)
    for title, held_out in (("tuned on", False), ("held out", True)):
        print(f"\n{title:<16}{'queries':>9}{'first':>8}{'first 5':>9}")
        for name in engines:
            chosen = [rank for query, rank in ranks[name].items() if query.is_held_out == held_out]
            print(f"{name:<16}{_figures(chosen)}")
    print(f"\n{'by set':<16}" + "".join(f"{each.name:>16}" for each in SETS))
    for name in engines:
        row = [[rank for query, rank in ranks[name].items() if query.set == each.name] for each in SETS]
        print(f"{name:<16}" + "".join(f"{sum(rank == 1 for rank in found):>12}/{len(found)}" for found in row))
    first = {name: sum(rank == 1 for rank in found.values()) for name, found in ranks.items()}
    return int(any(count > first.get("Scoter", count) for count in first.values()))


def _rank(query: DocumentationQuery, answers: Answers) -> int:
    """Return the place of the first right result, or 0."""
    places = [place for place, path in enumerate(answers[query.text], 1) if path in query.expected]
    return min(places, default=0)


def _figures(ranks: Sequence[int]) -> str:
    first, shown = sum(rank == 1 for rank in ranks), sum(0 < rank <= DEPTH for rank in ranks)
    return f"{len(ranks):>9}{first:>8}{shown:>9}"


def _show_failures(asked: Sequence[DocumentationQuery], answers: Answers) -> None:
    for query in asked:
        if not query.is_held_out and _rank(query, answers) != 1:
            print(f"[{query.set}] {query.text}: {_rank(query, answers) or '-'}; first {answers[query.text][:3]}")


if __name__ == "__main__":
    sys.exit(main())
