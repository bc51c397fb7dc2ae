from collections.abc import Callable

def check(library: str, root: int) -> bool: ...
def walk(
    root: int,
    body: int,
    kinds: bytes,
    after: bytes,
    inline: bytes,
    names: tuple[int, ...],
    lists: tuple[list[tuple[str, str, str, str]], list[tuple[str, str]], list[str]],
    agents: tuple[str, ...],
    sources: dict[int, tuple[str, ...]],
    functions: tuple[
        Callable[[int, int, dict[str, str | None], str], str], Callable[[str, int], str], Callable[[str], str]
    ],
    wiki: dict[int, str],
    with_text: bool,
) -> tuple[list[tuple[int, str, list[str]]], str]: ...
