from __future__ import annotations

from scoter.compose import Service, Stage, guard


class Note:
    """A filter that records when it is entered and left."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self.name, self.notes = name, notes

    async def __call__(self, request: int, service: Service[int, int], /) -> int:
        self.notes.append(f"{self.name} in")
        answer = await service(request)
        self.notes.append(f"{self.name} out")
        return answer


async def double(number: int) -> int:
    return number * 2


async def text(number: int) -> str:
    return str(number)


async def test_first_filter_is_the_outermost() -> None:
    notes: list[str] = []

    answer = await guard(double, Note("first", notes), Note("second", notes))(21)

    assert answer == 42
    assert notes == ["first in", "second in", "second out", "first out"]


async def test_filter_may_answer_without_calling_the_service() -> None:
    asked: list[int] = []

    async def service(number: int) -> int:
        asked.append(number)
        return number

    async def small(request: int, service: Service[int, int], /) -> int:
        return 0 if request < 10 else await service(request)

    guarded = guard(service, small)

    assert [await guarded(5), await guarded(15)] == [0, 15]
    assert asked == [15]


async def test_stages_run_in_order() -> None:
    pipeline = Stage(double) >> double >> text

    assert await pipeline(3) == "12"
