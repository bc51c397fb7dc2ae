"""The tables of docs/faults.md agree with the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.fetch.hostile_cases import CASES, STATUS
from tests.fetch.test_faults import WORDS
from tests.fetch.test_hostile_redirects import FORBIDDEN, LOCATIONS

from scoter.core.datum import FetchStatus
from scoter.core.reply import Truncation
from scoter.simweb import AnswerClass

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
_KINDS = {"fetched": "Fetched", "not_modified": "NotModified"}


def reply_of(word: str) -> str:
    """Return a reply as the page writes it."""
    if word in _KINDS:
        return f"`{_KINDS[word]}`"
    return f"`{'Gone' if STATUS[word] is FetchStatus.GONE else 'Failed'}({word})`"


def hostile_rows() -> Iterator[str]:
    for case in CASES.values():
        cut = f", truncated by {case.truncation.value}" if case.truncation is not Truncation.NOT else ""
        yield f"| {case.does} | {reply_of(case.word)}{cut} | {STATUS[case.word].name.lower()} |"


def simweb_rows() -> Iterator[str]:
    for answer, word in WORDS.items():
        if word == "moved":
            status = "redir_perm" if answer is AnswerClass.MOVED else "redir_temp"
            yield f"| `{answer}` | `Moved` | {status} |"
        else:
            yield f"| `{answer}` | {reply_of(word)} | {STATUS[word].name.lower()} |"


def location_rows() -> Iterator[str]:
    for location, target in LOCATIONS.items():
        shown = location if len(location) < 80 else f"{location[:10]}… ({len(location):,} characters)"
        where = "nowhere" if target is None else f"`{target if len(target) < 80 else 'there'}`"
        yield f"| `{shown}` | {where} |" if shown else f"| (empty) | {where} |"


def forbidden_rows() -> Iterator[str]:
    for place, word in FORBIDDEN.items():
        yield f"| `{place}` | {reply_of(word)} | {STATUS[word].name.lower()} |"


def tables() -> dict[str, str]:
    """Return each table of the page by the name in the comment before it."""
    heads = {
        "hostile": ("| what the server does | reply | fetch status |\n|---|---|---|", hostile_rows()),
        "simweb": ("| answer class | reply | fetch status |\n|---|---|---|", simweb_rows()),
        "locations": ("| Location | leads to |\n|---|---|", location_rows()),
        "forbidden": ("| redirect to | reply to a request for it | fetch status |\n|---|---|---|", forbidden_rows()),
    }
    return {name: "\n".join((head, *rows)) for name, (head, rows) in heads.items()}


def test_tables_of_the_docs_match_the_test_cases() -> None:
    page = PAGE.read_text(encoding="utf-8")

    for name, table in tables().items():
        start = f"<!-- {name}: checked by tests/fetch/test_hostile_docs.py -->\n\n"
        assert start in page, f"docs/faults.md has no table {name}"
        found = page.partition(start)[2].partition("\n\n")[0].rstrip()
        assert found == table, f"the table {name} of docs/faults.md should be:\n\n{table}\n"
