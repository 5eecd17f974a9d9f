"""The ways in which models write a quote with its reference, brought into one: `[S1.14 "…"]`.

`(see S1.14: "…")`, `"…" [S1.14]`, `[S1.14] states that "…"` and the like quote as well, and what is
not brought into the one form would go unchecked.
"""

import re
from collections.abc import Callable, Sequence

SHORTEST = 12
LONGEST = 4000
UNVERIFIED = "unverified"
Pick = Callable[[Sequence[str], str], tuple[str, Sequence[str]] | None]
"""Of some references the one that holds the words, or else the first; and the others. None if they
refer to nothing that can be quoted."""

_SIGNS = '"“”„«»「」『』‹›＂'
_STOPS = rf"{_SIGNS}\[\](){{}}【】\n"  # no aside of a quote goes over them
_PASSAGE = r"[Ss][0-9]{1,3}\.[0-9]{1,6}"
_SOURCE = r"[Ss][0-9]{1,3}"
_AND = r"\s{0,3}(?:[,;&–-]|and|or|to)\s{0,3}"
_LIST = rf"(?<![\w.]){_PASSAGE}(?:{_AND}{_PASSAGE}){{0,5}}(?!\w|\.\w)"
_EMPHASIS = r"[*_\\]{0,3}"
_NO_OTHER = rf"(?![^{_SIGNS}\n]*\[(?:{UNVERIFIED}|{_PASSAGE}|[0-9]{{1,6}} ))(?!\s*[\])])"
_WORDS = (
    rf"{_EMPHASIS}[{_SIGNS}]{_NO_OTHER}"
    rf"(?P<words>(?:[^{_SIGNS}\n]|\n(?!\s*\n)){{{SHORTEST},{LONGEST}}})[{_SIGNS}]{_EMPHASIS}"
)
_SAYS = (
    r"says|said|states|stated|reads|notes|noted|writes|wrote|claims|warns|confirms|explains|reports"
    r"|adds|adding|that|it|also|explicitly|clearly"
)
_INSIDE = re.compile(
    rf"[\[(【{{](?P<lead>[^{_STOPS}]{{0,40}}?)(?P<refs>{_LIST})(?P<between>[^{_STOPS}]{{0,60}}?)"
    rf"{_WORDS}(?P<tail>[^{_STOPS}]{{0,40}})[\])】}}]"
)
_WHOLE = re.compile(rf"\[\s?(?P<refs>{_SOURCE})[\s:,]{{0,3}}{_WORDS}\s?\]")
_FLIPPED = re.compile(
    rf"[\[(【{{]\s?{_WORDS}[\s,;:–—-]{{1,4}}(?P<lead>[^{_STOPS}]{{0,20}}?)(?P<refs>{_LIST})"
    r"(?P<tail>\s?)[\])】}]"
)
_BEHIND = re.compile(
    rf"{_WORDS}[.,;:]?\s{{0,4}}[\[(【]{{1,2}}(?P<lead>[^{_STOPS}]{{0,30}}?)"
    rf"(?P<refs>{_LIST}|(?<=\[){_SOURCE}(?=\]))(?P<tail>[^{_STOPS}]{{0,30}})[\])】]{{1,2}}"
)
_TURN = re.compile(
    rf"{_WORDS}[.,;:]?\s{{0,4}}(?:\[(?:[Tt]urn[: ]\s?)?(?P<turn>[0-9]{{1,6}})\]"
    r"|\([Tt]urn[: ]\s?(?P<said>[0-9]{1,6})\))"
)
_AHEAD = re.compile(
    rf"(?:[\[(【](?P<boxed>{_LIST}|(?<=\[){_SOURCE}(?=\]))[\])】]|(?<![\[(])(?P<bare>{_LIST}))"
    rf"(?P<between>(?:[\s:,–—-]|\b(?:{_SAYS})\b){{0,10}}){_WORDS}"
)
_NOISE = re.compile(r"(?i)\b(?:see|sources?|passages?|from|in|cf|pp?|pages?|lines?|[0-9]+)\b")


def unified(text: str, pick: Pick) -> str:
    """A text in which every quote has the one form, as far as it says what it is of."""

    def inside(said: re.Match[str]) -> str:
        if not (quote := _quote(said, pick)):
            return said[0]
        lead, between, tail = said["lead"], said["between"], said["tail"]
        if _tells(between):
            return f"{lead}{said['refs']}{between.rstrip()} {quote}{tail}"
        if _tells(lead) or _tells(tail):
            return f"({lead.rstrip()} {quote}{tail})".replace("( ", "(")
        return quote

    def beside(said: re.Match[str]) -> str:
        if not (quote := _quote(said, pick)):
            return said[0]
        lead, tail = said["lead"], said["tail"]
        told = _tells(lead) or _tells(tail)
        return f"{quote} ({lead}{said['refs']}{tail})" if told else quote

    def ahead(said: re.Match[str]) -> str:
        refs, between = said["boxed"] or said["bare"], said["between"]
        if not (quote := _quote(said, pick, refs)):
            return said[0]
        return f"{refs}{between.rstrip()} {quote}" if _tells(between) else quote

    def whole(said: re.Match[str]) -> str:
        return _quote(said, pick) or said[0]

    def turn(said: re.Match[str]) -> str:
        return _quote(said, pick, said["turn"] or said["said"]) or said[0]

    for pattern, made in (
        (_INSIDE, inside), (_WHOLE, whole), (_FLIPPED, beside), (_BEHIND, beside), (_TURN, turn),
        (_AHEAD, ahead),
    ):  # fmt: skip
        text = pattern.sub(made, text)
    return text


def _quote(said: re.Match[str], pick: Pick, refs: str = "") -> str:
    """The quote in the one form, and what else was cited for it; "" if it cites nothing."""
    named = re.findall(rf"{_SOURCE}(?:\.[0-9]{{1,6}})?|[0-9]{{1,6}}", refs or said["refs"])
    words = said["words"].rstrip("\\")
    found = pick(list(dict.fromkeys(one.upper() for one in named)), words)
    if found is None:
        return ""
    ref, others = found
    return f'[{ref} "{words}"]' + "".join(f" [{one}]" for one in others)


def _tells(aside: str) -> bool:
    """Whether words beside a reference say more than where to look."""
    return any(map(str.isalpha, _NOISE.sub("", aside)))
