"""Tables of what was measured."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, median

from msgspec import Struct

from benchmarks.main_text.measures import KINDS, Score

_KB = 1_024


class Result(Struct):
    """The scores of one candidate on one set, and its CPU time."""

    scores: list[Score]
    seconds: float
    tree_seconds: float
    size: int


def show(name: str, results: dict[str, Result], worst: int) -> None:
    """Print the table of a set, and the worst pages of each candidate."""
    print(f"\n{name}: {len(next(iter(results.values())).scores)} pages")
    is_documentation = any(score.words is not None for score in next(iter(results.values())).scores)
    print(_table(results) if is_documentation else _article_table(results))
    for candidate, result in results.items():
        ordered = sorted(result.scores, key=_badness)
        for score in ordered[:worst]:
            print(f"  {candidate:16} {_line(score)}")
        tainted = [score for score in result.scores if score.examples]
        for score in tainted[:worst]:
            print(f"  {candidate:16} left in {score.page}: {'; '.join(score.examples[:4])}")


def _table(results: dict[str, Result]) -> str:
    kinds = "".join(f"{kind[:8]:>9}" for kind in KINDS)
    costs = f"{'ms/25KB':>9}{'/tree':>7}"
    lines = [
        f"{'':18}{'words kept':>17}{'<90%':>6}{'<40%':>6}{kinds}{'F1':>7}{'repeated':>9}{'pages':>7}{'all':>6}{costs}"
    ]
    for name, result in results.items():
        scores = result.scores
        words = sorted(score.words for score in scores if score.words is not None)
        low = sum(min([score.words or 1.0, score.kinds.get("code", 1.0)]) < 0.9 for score in scores)
        lines.append(
            f"{name:18}{words[0]:5.2f} {words[len(words) // 20]:5.2f} {median(words):5.2f}"
            f"{low:6}{sum(word < 0.4 for word in words):6}"
            + "".join(f"{_mean(score.kinds.get(kind) for score in scores):9.3f}" for kind in KINDS)
            + f"{_mean(score.f1 for score in scores):7.3f}{_mean(score.repeated for score in scores):9.3f}"
            f"{mean(bool(score.examples) for score in scores):7.3f}{_mean(score.boilerplate for score in scores):6.2f}"
            + _cost(result)
        )
    return "\n".join(lines)


def _article_table(results: dict[str, Result]) -> str:
    lines = [f"{'':18}{'F1':>7}{'F1 of phrases':>15}{'p5':>7}{'median':>8}{'ms/25KB':>9}{'/tree':>7}"]
    for name, result in results.items():
        values = sorted(score.f1 or 0.0 for score in result.scores)
        right, wrong, missing = (sum(score.hits[number] for score in result.scores) for number in range(3))
        of_phrases = 2 * right / (2 * right + wrong + missing) if right else float("nan")
        lines.append(
            f"{name:18}{mean(values):7.3f}{of_phrases:15.3f}{values[len(values) // 20]:7.2f}{median(values):8.2f}"
            + _cost(result)
        )
    return "\n".join(lines)


def _cost(result: Result) -> str:
    return f"{result.seconds * 1_000 * 25 * _KB / result.size:9.2f}{result.seconds / result.tree_seconds:7.1f}"


def _mean(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return mean(known) if known else float("nan")


def _badness(score: Score) -> float:
    if score.words is None:
        return score.f1 or 0.0
    return min(score.words, score.kinds.get("code", 1.0), 0.5 + score.kinds.get("cells", 1.0) / 2)


def _line(score: Score) -> str:
    words = "" if score.words is None else f"words {score.words:.2f} "
    kinds = " ".join(f"{kind} {share:.2f}" for kind, share in score.kinds.items() if share < 0.95)
    return f"{score.page}: {words}F1 {score.f1 or 0:.2f} {kinds}"
