"""Domain rules in a compacted topic (``ports.DomainRuleStore``). Every process reads all of them at its start."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scoter.config.sections.cluster import KafkaClusterSettings
from scoter.errors import StoreUnavailable
from scoter.live.api.records import DomainRule
from scoter.live.kafka.consumer import ReceivedMessage
from scoter.live.kafka.faults import FAULTS, FaultKind
from scoter.live.kafka.kafka import KafkaSender, OutgoingMessage, TopicNames
from scoter.live.kafka.messages import UnreadableMessage, rule_values
from scoter.live.kafka.topic_reader import TopicTail


class KafkaRules:
    """The rules of a service. ``start`` it before use; ``on_change`` is called with each rule that changes."""

    def __init__(
        self,
        settings: KafkaClusterSettings,
        name: str,
        sender: KafkaSender | None = None,
        on_change: Callable[[DomainRule], None] = lambda rule: None,
    ) -> None:
        """Without a sender, rules can be read only."""
        self._topic = TopicNames(settings.prefix).rules
        self._sender = sender
        self.on_change = on_change
        self._rules: dict[str, DomainRule] = {}
        self._tail = TopicTail(settings, self._topic, 0, self._receive, name=f"{name}-rules", from_start=True)

    async def start(self) -> None:
        """Read all rules, and continue to read changes."""
        await self._tail.start()

    async def close(self) -> None:
        await self._tail.close()

    def get(self, domain: str) -> DomainRule | None:
        """Return the rule of a registered domain, if any."""
        return self._rules.get(domain)

    def all(self) -> Sequence[DomainRule]:
        """Return all rules, sorted by domain."""
        return [self._rules[domain] for domain in sorted(self._rules)]

    async def put(self, rule: DomainRule) -> None:
        """Replace the rule of a domain; a rule without settings removes it. Other processes follow within a second."""
        if self._sender is None:
            raise StoreUnavailable("rules can be changed by api processes only")
        is_empty = rule == DomainRule(domain=rule.domain)
        value = None if is_empty else rule_values.encode(rule)
        await self._sender.send([OutgoingMessage(self._topic, value, rule.domain.encode(), 0)])
        self._set(rule)

    def _receive(self, messages: Sequence[ReceivedMessage]) -> None:
        for message in messages:
            domain = (message.key or b"").decode(errors="replace")
            if message.value is None:
                self._set(DomainRule(domain=domain))
                continue
            try:
                self._set(rule_values.decode(message.value))
            except UnreadableMessage as error:
                FAULTS.note(
                    "kafka", FaultKind.UNREADABLE, f"unreadable rule of {domain!r}: {error}", about=f"rule of {domain}"
                )

    def _set(self, rule: DomainRule) -> None:
        if rule == DomainRule(domain=rule.domain):
            changed = self._rules.pop(rule.domain, None) is not None
        else:
            changed = self._rules.get(rule.domain) != rule
            self._rules[rule.domain] = rule
        if changed:
            self.on_change(rule)
