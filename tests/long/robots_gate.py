"""Read thousands of real robots.txt files and compare with Protego and with Google's parser.

    python -m tests.long.robots_gate --files build/robots/tests/test_data --google build/google-robots/google-robots

The files are those of Protego's source distribution: the robots.txt of 4,231 popular sites. For our own name, for "*"
and for each name in a file, no Crawl-delay may be longer than Protego reads. For our name and some of these, the paths
in the rules are checked with the Go port of Google's parser (without it, this part is left out): nothing may be fetched
that Google refuses. The other way round there are few differences, where a rule or a URL has characters to be escaped.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from protego import Protego

from scoter.core.robots import LIMIT, Robots, whole_lines
from scoter.core.url import canonical
from scoter.errors import UrlError

OURS = "scoter"
MOST_AGENTS = 6
MOST_PATHS = 40
FEWEST_FILES = 4_000
SHOWN = 10
_AGENT = re.compile(rb"^[ \t]*user[- ]?agent[ \t]*:[ \t]*([^#\r\n]+)", re.IGNORECASE | re.MULTILINE)
_RULE = re.compile(rb"^[ \t]*(?:dis)?allow[ \t]*:[ \t]*(/[^#\s]*)", re.IGNORECASE | re.MULTILINE)
_LONE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=Path, required=True, help="folder of robots.txt files")
    parser.add_argument("--google", type=Path, help="program that asks Google's parser")
    arguments = parser.parse_args()
    bodies = {path.name: path.read_bytes() for path in sorted(arguments.files.iterdir())}
    problems = [f"only {len(bodies)} files"] if len(bodies) < FEWEST_FILES else []
    problems += delays(bodies)
    if arguments.google is not None and arguments.google.exists():
        problems += verdicts(bodies, arguments.google)
    else:
        print("Google's parser is not available: rules were not compared")
    for problem in problems[:SHOWN]:
        print(f"  {problem}", file=sys.stderr)
    return 1 if problems else 0


def delays(bodies: dict[str, bytes]) -> list[str]:
    """Compare the delay of every agent with Protego's; return those that are longer."""
    longer: list[str] = []
    asked = with_delay = shorter = 0
    for name, body in bodies.items():
        theirs = Protego.parse(_text(body))
        for agent in {OURS, "*", *_agents(body)}:
            found, expected = Robots.read(body, [agent]).crawl_delay, theirs.crawl_delay(agent)
            delay = -1.0 if found is None else found.total_seconds()
            asked += 1
            with_delay += expected is not None
            shorter += delay < (expected or -1.0)
            if delay > (-1.0 if expected is None else expected):
                longer.append(f"{name}: {agent} gets a delay of {delay:g} s, Protego reads {expected}")
    print(
        f"{len(bodies):,} files, {asked:,} agents, {with_delay:,} of them with a Crawl-delay: "
        f"{len(longer)} longer than Protego reads, {shorter} shorter"
    )
    return longer


def verdicts(bodies: dict[str, bytes], google: Path) -> list[str]:
    """Compare the verdict on the paths of the rules with Google's parser; return what we would fetch against it."""
    questions = list(_questions(bodies))
    lines = (
        json.dumps({"body": base64.b64encode(body).decode(), "agents": agents, "urls": urls})
        for _, body, agents, urls in questions
    )
    answers = subprocess.run([google], input="\n".join(lines), capture_output=True, text=True, check=True)
    fetched_against: list[str] = []
    asked = refused = 0
    for (name, body, agents, urls), answer in zip(questions, answers.stdout.splitlines(), strict=True):
        expected = iter(answer)
        for agent in agents:
            robots = Robots.read(body, [agent])
            for url in urls:
                allowed, google_allows = robots.allows(canonical(url)), next(expected) == "1"
                asked += 1
                refused += google_allows and not allowed
                if allowed and not google_allows:
                    fetched_against.append(f"{name}: {agent} fetches {url}, Google does not")
    fetched = len(fetched_against)
    print(f"{asked:,} verdicts: {fetched} URLs fetched that Google refuses, {refused} refused that it fetches")
    return fetched_against


def _questions(bodies: dict[str, bytes]) -> Iterator[tuple[str, bytes, list[str], list[str]]]:
    for name, body in bodies.items():
        agents = [OURS, *sorted(agent for agent in _agents(body) if re.fullmatch("[A-Za-z_-]+", agent))]
        paths = {path.decode(errors="replace").replace("*", "x").rstrip("$") for path in _RULE.findall(body)}
        urls = [url for path in sorted(paths)[:MOST_PATHS] if (url := _canonical(f"http://{name}{path}"))]
        if len(body) > LIMIT:  # Google's parser leaves it to its caller to cut a file there
            body = whole_lines(body[:LIMIT])
        yield name, body, agents[:MOST_AGENTS], [f"http://{name}/", *urls]


def _canonical(url: str) -> str | None:
    """Return the URL as it is fetched, unless opinions on it differ: robots.txt itself, a percent sign of its own."""
    try:
        text = canonical(url).text
    except UrlError:
        return None
    return None if text.endswith("/robots.txt") or _LONE_PERCENT.search(text) else text


def _agents(body: bytes) -> set[str]:
    return {name for found in _AGENT.findall(body) if (name := found.decode(errors="replace").strip())}


def _text(body: bytes) -> str:
    return body.decode("utf-16" if body[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", errors="replace")


if __name__ == "__main__":
    sys.exit(main())
