"""Generate docs/settings.md from the declarations: ``python -m scoter.config.docs [FILE]``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Final

from scoter.config.sections import SECTIONS
from scoter.config.setting_values import accepts
from scoter.config.settings import Field, fields_of
from scoter.config.show import has_default_of_leader, written_default

PAGE = Path("docs/settings.md")
_WIDTH: Final = 120

_INTRODUCTION = """\
# Settings

<!-- Generated from src/scoter/config by `make docs`; edit the declarations there. -->

Look up a setting, and change it: `scoter crawl mycrawl -D fetch.delay=2s`. A setting has a section and a key. Set it in
any of three places; each overrides the one before:

| place | example |
|---|---|
| a TOML file: `-c FILE`, or `scoter.toml` in the working directory | `delay = "2s"` below `[fetch]` |
| an environment variable | `SCOTER_FETCH__DELAY=2s` |
| a flag | `-D fetch.delay=2s` |

- **Durations** have a unit: `ms`, `s`, `m`, `h`, `d` or `w`, as in `"1.5h"`. A plain number is seconds.
- **Sizes** have a unit: `B`, `KB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`, `GiB` (powers of 1024), as in `"64KiB"`.
  A plain number is bytes.
- **Off**: where a setting accepts `"off"`, `-1` means the same.
- **Relative paths** are relative to the folder of the configuration file; in environment variables and flags, to the
  working directory.
- **Flags and environment variables** take TOML values. Quotes may be omitted, and a list may be written as `a,b`.
- **Plug-ins** have a table `[plugin.NAME]` each. As an environment variable: `SCOTER_PLUGIN__NAME__KEY`, with `_`
  for `-` in the name.
- **Defaults** marked "as `other.setting`" are the value of that setting.

A setting that was renamed also works by its former name, with a warning that names the new one, until the next
version. It is an error to give both in one place.

An unknown name, or a value of the wrong type, unit or range, is an error. The message says where it is and what is
accepted:

```console
$ scoter config show -D fetch.dealy=2s
scoter: -D fetch.dealy: fetch.dealy is not a setting; did you mean fetch.delay?
$ SCOTER_FETCH__DELAY=2s scoter config show | grep '# SCOTER'
delay = "2s"  # SCOTER_FETCH__DELAY
```

| command | purpose |
|---|---|
| `scoter config show` | print every value and its source |
| `scoter config show --defaults` | print a complete file to start from |
| `scoter config show --crawl DIR` | print the values that a crawl continues with |
| `scoter config import-nutch conf -o scoter.toml` | convert Nutch's site file, rule files, index writers, exchanges |
"""
_NUTCH = """\
## From Nutch to Scoter

[Nutch's counterparts](nutch-counterparts.md) lists every property of Nutch with its setting here, or the reason why it
has none.
"""


def page() -> str:
    """Return the whole page."""
    return "\n".join([_INTRODUCTION, *_sections(), _NUTCH])


def _sections() -> Iterator[str]:
    for section, struct in SECTIONS.items():
        yield f"## [{section}]\n"
        yield f"{(struct.__doc__ or '').strip()}\n"
        for field in fields_of(section, struct):
            names = _nutch_names(field)
            told = f"**{code(field.name)}** = {_default(field)}: {_meaning(field)}"
            yield markdown_item(told + (f" Nutch: {names}." if names else ""))
        yield ""


def _default(field: Field) -> str:
    leader = code(field.setting.follows)
    if has_default_of_leader(field):
        return f"{code(written_default(field))} (as {leader})"
    return code(written_default(field)) + (f", or {leader} if set" if field.setting.follows else "")


def _meaning(field: Field) -> str:
    departs = f" Nutch's default differs: {field.setting.departs}." if field.setting.departs else ""
    formerly = f" Formerly {', '.join(map(code, field.setting.formerly))}." if field.setting.formerly else ""
    return f"{field.setting.doc} Accepts {accepts(field, brief=True)}.{departs}{formerly}"


def _nutch_names(field: Field) -> str:
    return ", ".join(map(code, field.setting.nutch)) or ""


def markdown_item(text: str) -> str:
    """Return an item of a Markdown list, in lines of bounded length.

    No line begins with what would start a list of its own:

    >>> print(markdown_item("x" * 110 + " up to 127. Then"))
    - xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx up
      to 127. Then
    """
    kept = re.sub(r" (?=(?:\d+[.)]|[-+*>]|#+)(?: |$))", "\0", text)
    lines = wrap(
        kept, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace("\0", " ")


def markdown_row(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def code(text: str) -> str:
    """Return a text as code."""
    return f"`{text}`"


def main(arguments: list[str]) -> None:
    """Write the page to the given file, by default docs/settings.md."""
    file = Path(arguments[0]) if arguments else PAGE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
