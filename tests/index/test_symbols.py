"""Words with symbols: options, languages, calls, hidden files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.index.indexes import document, search, write

from scoter.index.symbols import symbols_of

TEXTS = {
    "rebase": "git-rebase [-i] [--onto <newbase>] moves commits. --[no-]autosquash",
    "onto": "Move commits onto another branch, or keep them in a D flat file.",
    "branch": "git branch (-d | -D) <name>; tar −xzf archive",
    "delete": "With -d, a branch is deleted.",
    "cpp": "C++ and C# have std::vector and std::string.",
    "c": "C is older. A net of vectors. Use bashrc or f.",
    "net": "ASP.NET runs on .NET and reads ~/.bashrc, then calls f(x).",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("crawl")
    write(found, *(document(f"http://a.org/{name}", name, text) for name, text in TEXTS.items()))
    return found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("git-rebase --onto", ["rebase"]),
        ("--no-autosquash", ["rebase"]),
        ("--autosquash", ["rebase"]),
        ("-D", ["branch"]),
        ("branch -D", ["branch"]),
        ("branch -d", ["branch", "delete"]),
        ('tar "-xzf"', ["branch"]),
        ("C++", ["cpp"]),
        ("c#", ["cpp"]),
        ("std::vector", ["cpp"]),
        (".NET", ["net"]),
        ("~/.bashrc", ["net"]),
        ("f()", ["net"]),
    ],
)
def test_words_with_symbols_find_what_they_say(folder: Path, query: str, expected: list[str]) -> None:
    found = search(folder, query)

    assert sorted(hit.title for hit in found.hits) == expected
    assert (found.corrected, found.partial) == (False, False)


def test_snippet_marks_the_word_with_its_symbols(folder: Path) -> None:
    (hit,) = search(folder, "--onto").hits

    assert "<b>--onto</b>" in hit.snippet


@pytest.mark.parametrize("text", ["2021-11-15", "a - b", "e.g. this", "x->y", "-1.5", "me@a.org", "page#part", "a (b)"])
def test_usual_punctuation_makes_no_terms(text: str) -> None:
    assert list(symbols_of(text)) == []
