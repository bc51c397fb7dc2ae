"""Print a script for shell completion, and answer its questions.

The script of a shell runs ``scoter`` with an environment variable at every press of Tab; ``main`` then calls
``complete``.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

VARIABLE = "_SCOTER_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print a script that makes a shell complete commands, options and file names.

    \b
    Example:
      source <(scoter completion bash)      # in ~/.bashrc
      source <(scoter completion zsh)       # in ~/.zshrc, after compinit
      scoter completion fish > ~/.config/fish/completions/scoter.fish
    """
    click.echo(_shell(shell, click.get_current_context().find_root().command).source())


def complete(instruction: str, group: click.Command, obj: object) -> int:
    """Print the completions of the command line that the shell describes; return the exit code."""
    shell, _, action = instruction.partition("_")
    if shell not in SHELLS or action != "complete":
        return 1
    click.echo(_shell(shell, group, obj).complete())
    return 0


def _shell(name: str, group: click.Command, obj: object = None) -> ShellComplete:
    found = get_completion_class(name)
    assert found is not None  # noqa: S101 - click has all of SHELLS

    class WithFiles(found):  # type: ignore[valid-type, misc]
        """Completes file names where nothing else fits, as shells do without a script."""

        def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
            items: list[CompletionItem[str]] = super().get_completions(args, incomplete)
            is_path = args and not incomplete.startswith("-")
            return items or ([CompletionItem(incomplete, type="file")] if is_path else [])

    shell: ShellComplete = WithFiles(group, {"obj": obj}, "scoter", VARIABLE)
    return shell
