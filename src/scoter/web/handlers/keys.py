"""API keys, made and revoked while the service runs."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from scoter.api import KeyInfo, KeyList, KeyOrder, NewKey
from scoter.live.memory.access import MOST_KEYS, ApiKey, ApiKeys
from scoter.web.asgi import Call, Reply
from scoter.web.keys import Scope
from scoter.web.problems import problem
from scoter.web.routes import Answer, Response, Route

_PATH: Final = "/v1/keys"
# A token is shown once: nothing between here and there may keep it.
_UNKEPT: Final = ((b"cache-control", b"no-store"),)


class Keys:
    """Shows, makes and revokes keys, for those who show one with the scope ``admin``."""

    def __init__(self, keys: ApiKeys) -> None:
        self._keys = keys

    def routes(self) -> list[Route]:
        return [
            Route(
                method="GET",
                path=_PATH,
                run=self.show,
                told="List the API keys.",
                scope=Scope.ADMIN,
                shows_key=True,
                responses={200: Response("Every key, without its token.", KeyList)},
            ),
            Route(
                method="POST",
                path=_PATH,
                run=self.make,
                told="Make an API key; its token is shown this once.",
                scope=Scope.ADMIN,
                shows_key=True,
                body=KeyOrder,
                responses={201: Response("The key, with its token.", NewKey)},
                problems=(409,),
            ),
            Route(
                method="DELETE",
                path=_PATH + "/{id}",
                run=self.revoke,
                told="Revoke an API key: from now on it lets nobody in.",
                scope=Scope.ADMIN,
                shows_key=True,
                responses={200: Response("The key that was revoked.", KeyInfo)},
            ),
        ]

    async def show(self, call: Call[None]) -> Answer:
        await self._keys.note_uses()
        return Reply(msgspec.json.encode(KeyList([KeyInfo(**_facts(key)) for key in self._keys.all()])))

    async def make(self, call: Call[KeyOrder]) -> Answer:
        order = call.body
        if len(self._keys.all()) >= MOST_KEYS:
            return problem(409, "too-many-keys", f"There are {MOST_KEYS:,} keys already.", "Revoke some of them.")
        key, token = await self._keys.create(order.name, tuple(dict.fromkeys(order.scopes)), order.rate)
        return Reply(msgspec.json.encode(NewKey(**_facts(key), token=token)), 201, headers=_UNKEPT)

    async def revoke(self, call: Call[None]) -> Answer:
        identity = call.path["id"]
        found = next((key for key in self._keys.all() if key.id == identity), None)
        if found is None or not await self._keys.revoke(identity):
            return problem(404, "no-such-key", "There is no such key.")
        return Reply(msgspec.json.encode(KeyInfo(**_facts(found))))


def _facts(key: ApiKey) -> dict[str, Any]:
    names = ("id", "name", "scopes", "rate", "created", "last_used")
    return {name: getattr(key, name) for name in names}
