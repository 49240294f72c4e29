"""`// gpuport-lint: allow(GPL003) reason` on the line of a finding or on the line above."""

from __future__ import annotations

import re

from ._reader import WARNING, Finding, Source, tokenize
from .rules import RULES

_MARK = "gpuport-lint"
_ALLOW = re.compile(r"gpuport-lint:\s*allow\(([^)]*)\)[ \t]*:?[ \t]*([^\n]*)")


class Allowance:
    """One comment: the rules it names, and the lines it speaks for."""

    def __init__(self, rules: set[str], offset: int, lines: set[int]) -> None:
        self.rules = rules
        self.offset = offset
        self.lines = lines
        self.used: set[str] = set()

    def covers(self, finding: Finding) -> bool:
        if finding.rule not in self.rules or finding.line not in self.lines:
            return False
        self.used.add(finding.rule)
        return True


def apply(source: Source, findings: list[Finding]) -> list[Finding]:
    """The findings that stay, with those about the suppressions themselves."""
    if _MARK not in source.code:
        return findings
    allowances: list[Allowance] = []
    faults: list[Finding] = []
    for kind, text, start in tokenize(source.code):
        if kind == "comment" and _MARK in text:
            _read(source, text, start, allowances, faults)
    kept = [f for f in findings if not [a for a in allowances if a.covers(f)]]
    for allowance in allowances:
        for rule in sorted(allowance.rules - allowance.used):
            faults.append(
                _finding(source, "GPL901", allowance.offset, f"allow({rule}) suppresses nothing")
            )
    return kept + faults


def _read(
    source: Source, text: str, start: int, allowances: list[Allowance], faults: list[Finding]
) -> None:
    at = start + text.index(_MARK)
    match = _ALLOW.search(text)
    if match is None:
        faults.append(
            _finding(source, "GPL900", at, "a suppression is written allow(RULE) and a reason")
        )
        return
    rules = {rule.strip() for rule in match[1].split(",") if rule.strip()}
    reason = match[2].removesuffix("*/").strip()
    unknown = sorted(rule for rule in rules if rule not in RULES)
    if unknown or not rules:
        faults.append(
            _finding(source, "GPL900", at, f"there is no rule {', '.join(unknown) or 'named'}")
        )
        rules -= set(unknown)
    if not re.search(r"\w", reason):
        faults.append(_finding(source, "GPL900", at, "allow() without a reason suppresses nothing"))
        return
    if rules:
        allowances.append(Allowance(rules, at, _lines(source, text, start)))


def _lines(source: Source, text: str, start: int) -> set[int]:
    """The line of the comment; where it stands alone, the next line with code on it."""
    first = source.position(start)[0]
    line_start = source.code.rfind("\n", 0, start) + 1
    if source.code[line_start:start].strip():
        return {first}
    end = start + len(text)
    rest = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL).match(source.code, end)
    after = rest.end() if rest else end
    return {first, source.position(min(after, max(0, len(source.code) - 1)))[0]}


def _finding(source: Source, rule: str, offset: int, message: str) -> Finding:
    line, column, text = source.position(offset)
    return Finding(
        rule, WARNING, source.name, line, column, message, RULES[rule].change, text, len(_MARK)
    )
