"""Compare the report on a site's health with LinkChecker: ``make compare-linkchecker``.

Both check two sites on loopback: one made with every kind of fault, and a part of Python's documentation with faults
added. Whatever LinkChecker finds, the report must find; every difference is named with its reason, and what only the
report finds is confirmed by asking the server. LinkChecker runs as a program of its own, in its own environment.
"""

from __future__ import annotations

import csv
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urldefrag, urljoin
from urllib.request import urlopen

from tests.batch.site.faulty_site import Answer, FaultySite, serving, serving_pages

LINKCHECKER = Path("build/linkchecker/bin/linkchecker")
DOCS = Path("/usr/share/doc/python3.11/html")
FOLDERS = ("", "tutorial", "_static", "_images")
LEFT_OUT = ("genindex", "contents", "py-modindex", "glossary", "search")
"""Pages with thousands of links, each of which LinkChecker asks for with its fragment."""
_LIMIT = 900  # seconds for each program
_ABOUT_LINKS = frozenset(
    {
        *("broken-links", "broken-external-links", "broken-resources", "redirect-loops", "invalid-links"),
        *("missing-fragments", "refused-links"),
    }
)
_CONFIG = "[AnchorCheck]\n[checking]\nmaxrequestspersecond=1000\nthreads=2\ntimeout=10\n"


def main() -> None:
    """Compare both on both sites; exit with 1 if there is a difference without a reason."""
    unexplained = 0
    with serving() as site:
        print("# A site with every kind of fault")
        unexplained += compare(site.origin, site.settings)
    if not DOCS.is_dir():
        sys.exit("Python's documentation is missing: apt-get install python3.11-doc")
    with documentation() as (origin, pages):
        print(f"# Python's documentation: {pages} files, with faults added")
        unexplained += compare(origin, FaultySite(origin, "", "", [], {}).settings)
    print(f"Differences without a reason: {unexplained}")
    sys.exit(1 if unexplained else 0)


def compare(origin: str, settings: tuple[str, ...]) -> int:
    """Check a site with both; return the number of differences without a reason."""
    ours, own_seconds = reported(origin, settings)
    theirs, their_seconds = linkchecked(origin)
    their_urls = {url for url, _, _ in theirs}
    reasons: Counter[str] = Counter()
    lacking = []
    for url, page, why in theirs:
        if (url, page) in ours:
            reasons["both find it"] += 1
        elif reason := why_only_theirs(url):
            reasons[f"only LinkChecker: {reason}"] += 1
        else:
            lacking.append((url, page, why))
    known = {(url, page) for url, page, _ in theirs}
    false = []
    for (url, page), kinds in ours.items():
        if (url, page) in known:
            continue
        if url in their_urls:
            reasons["only the report: LinkChecker names one page of several that have the link"] += 1
        elif confirmed(url, kinds):
            reasons[f"only the report, and true: {', '.join(sorted(kinds))}"] += 1
        else:
            false.append((url, page, ", ".join(kinds)))
    for reason, number in sorted(reasons.items()):
        print(f"{number:7,}  {reason}")
    for title, rows in (("LinkChecker finds, the report does not", lacking), ("The report finds wrongly", false)):
        for row in rows[:20]:
            print(f"   !  {title}: {' | '.join(row)}")
    ratio = their_seconds / max(own_seconds, 0.01)
    print(f"CPU: crawl and report {own_seconds:.0f} s, LinkChecker {their_seconds:.0f} s ({ratio:.1f} times)\n")
    return len(lacking) + len(false)


def reported(origin: str, settings: tuple[str, ...]) -> tuple[dict[tuple[str, str], set[str]], float]:
    """Crawl a site and return what the report finds about its links, and the CPU seconds."""
    before = _children()
    with tempfile.TemporaryDirectory() as folder:
        crawl = f"{folder}/crawl"
        scoter = [sys.executable, "-m", "scoter.cli.main"]
        options = [*settings, "--own-site", "--scope", "host", "--until-done", "--quiet"]
        subprocess.run(
            [*scoter, "crawl", crawl, f"{origin}/", *options], check=True, timeout=_LIMIT, stdout=subprocess.DEVNULL
        )
        command = [*scoter, "report", crawl, "site", "--check-links", "--json", *settings, "--quiet"]
        done = subprocess.run(command, check=True, timeout=_LIMIT, stdout=subprocess.PIPE, text=True)
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in map(json.loads, done.stdout.splitlines()):
        if row["problem"] in _ABOUT_LINKS:
            found[_plain(row["url"]), _plain(row["page"] or "")].add(row["problem"])
    return found, _children() - before


def linkchecked(origin: str) -> tuple[list[tuple[str, str, str]], float]:
    """Return what LinkChecker finds: the URL, the page, and what it says; and the CPU seconds."""
    before = _children()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "linkcheckerrc")
        config.write_text(_CONFIG)
        Path(folder).chmod(0o755)  # it gives up the rights of root
        command = [str(LINKCHECKER), "-f", str(config), "--no-status", "--check-extern", "-o", "csv", f"{origin}/"]
        done = subprocess.run(command, check=False, timeout=_LIMIT, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"LinkChecker failed: {done.stderr[-2000:]}")
    lines = [line for line in done.stdout.splitlines(keepends=True) if not line.startswith("#")]
    found = []
    for row in csv.DictReader(lines, delimiter=";"):
        page = urldefrag(row["parentname"] or "").url
        spelled = row["urlname"] or ""
        is_fragment = row["valid"] == "True" and "Anchor `" in (row["warningstring"] or "")
        if row["valid"] != "False" and not is_fragment:
            continue
        full = urljoin(row["base"] or page, spelled) if "[" not in spelled else spelled
        url = full if is_fragment else (full if full.startswith("mailto:") else urldefrag(full).url)
        found.append((_plain(url), _plain(page), (row["warningstring"] if is_fragment else row["result"]) or ""))
    return found, _children() - before


def why_only_theirs(url: str) -> str:
    """Return why the report does not have a finding of LinkChecker's; empty if there is no reason."""
    if url.startswith("mailto:"):
        return "an address for mail, which needs a lookup in DNS and is no page"
    if url.lower().endswith("#top"):
        return "#top leads to the top of any page, by the HTML standard"
    return ""


def confirmed(url: str, kinds: set[str]) -> bool:
    """Ask the server whether a finding is true."""
    if "invalid-links" in kinds:
        return True
    target, fragment = urldefrag(url)
    try:
        with urlopen(target, timeout=20) as answer:
            body = answer.read().decode("utf-8", "replace")
    except HTTPError as error:
        return error.code >= 300 and "missing-fragments" not in kinds
    except (URLError, OSError):
        return True
    if "missing-fragments" in kinds:
        names = re.escape(unquote(fragment))
        return not re.search(rf"""\b(?:id|name)=["']?{names}["'\s>]""", body)
    # The page itself may lead on.
    return bool(re.search(r"http-equiv=.?refresh", body, re.IGNORECASE))


def _plain(url: str) -> str:
    """Return a URL in one spelling, whoever wrote it."""
    return quote(unquote(url), safe=":/?#[]@!$&'()*+,;=%~")


def _children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


@contextmanager
def documentation() -> Iterator[tuple[str, int]]:
    """Serve a part of Python's documentation with faults; yield its origin and the number of its files."""
    chance = random.Random(1)
    with serving_pages([]) as (other, other_pages), serving_pages([]) as (own, pages):
        other = other.replace("127.0.0.1", "127.0.0.2")
        for folder in FOLDERS:
            for file in sorted((DOCS / folder).iterdir()):
                path = f"/{file.relative_to(DOCS)}"
                if file.name.startswith(LEFT_OUT):
                    continue
                if file.suffix == ".html":
                    pages[path] = Answer(_with_faults(file.read_text("utf-8"), other, other_pages, chance))
                elif file.is_file():
                    pages[path] = Answer(file.read_bytes())
        for path in chance.sample(sorted(path for path in pages if path.startswith(("/tutorial", "/_"))), 6):
            del pages[path]
        for path in [path for path in pages if path.endswith("index.html")]:
            pages[path.removesuffix("index.html")] = pages[path]
        yield own, len(pages)


def _with_faults(text: str, other: str, other_pages: dict[str, Answer], chance: random.Random) -> str:
    """Let links to other sites, and to parts that are not served, lead to the other server; add a few faults."""

    def moved(found: re.Match[str]) -> str:
        path = "/" + re.sub(r"[^a-z0-9]+", "-", found[2].partition("#")[0].lower()).strip("-")
        if chance.random() > 0.1:
            other_pages.setdefault(path, Answer("<title>Another site</title>"))
        return f'{found[1]}="{other}{path}"'

    parts = "library|howto|faq|installing|distributing|c-api|reference|extending|using|whatsnew|distutils"
    outside = rf'(href|src)="(https?://[^"]+|(?:\.\./)?(?:{parts})/[^"]*)"'
    text = re.sub(outside, moved, text)
    ids = re.findall(r' id="[^"]+"', text)
    for each in chance.sample(ids, min(2, len(ids))):
        text = text.replace(each, "", 1)
    return text.replace(
        "</body>", f'<a href="gone-{chance.randrange(10)}.html">one more</a><img src="gone.png"></body>'
    )


if __name__ == "__main__":
    main()
