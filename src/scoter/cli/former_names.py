"""Options and their values that were renamed: for one version they work by their former names, with a warning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from scoter.cli.invocation import Invocation
from scoter.cli.output import note
from scoter.errors import UsageError


def warn_of_former_name(former: str, present: str) -> None:
    """Print that something has another name now."""
    note(f"{former} is now {present}. The former name will stop working in the next version.")


class CommandWithFormerOptions(click.Command):
    """A command some of whose options had other names; ``formerly`` has their present ones."""

    def __init__(self, *arguments: Any, formerly: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.formerly = formerly

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        invocation = ctx.find_object(Invocation)
        is_silent = invocation is not None and invocation.quiet  # as where an order of the REST API is checked
        return super().parse_args(ctx, list(self._by_present_names(args, is_silent)))

    def _by_present_names(self, words: Sequence[str], is_silent: bool) -> Iterator[str]:
        options = words[: words.index("--")] if "--" in words else words
        given = {word.partition("=")[0] for word in options}
        for word in options:
            name, equals, value = word.partition("=")
            present = self.formerly.get(name)
            if present in given:
                raise UsageError(f"is now {present}, which is given too", where=name, hint=f"Remove {name}.")
            if present is not None and not is_silent:
                warn_of_former_name(name, present)
            yield f"{present or name}{equals}{value}"
        yield from words[len(options) :]


class ChoiceWithFormerValues(click.Choice[str]):
    """A choice some of whose values had other names; ``formerly`` has their present ones."""

    def __init__(self, choices: Sequence[str], formerly: Mapping[str, str]) -> None:
        super().__init__(choices)
        self._formerly = formerly

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        present = self._formerly.get(value)
        if present is not None and param is not None:
            warn_of_former_name(f"{param.opts[0]} {value}", f"{param.opts[0]} {present}")
        return super().convert(present or value, param, ctx)
