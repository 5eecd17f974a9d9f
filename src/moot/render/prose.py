"""What of a text is prose, and which of its sentences can stand alone as a claim.

Models write tables, code, HTML, headings, quotations and greetings between their sentences. None of
these is a speaker's point.
"""

import re
from collections.abc import Iterator, Sequence

LONGEST = 45  # words of a claim that is quoted whole
SHORTEST = 5

_FENCES = ("```", "~~~")
_TAG = re.compile(r"<[A-Za-z/!?][^<>\n]{0,400}>?")
_HTML = re.compile(r"<(/?[A-Za-z][A-Za-z0-9-]*|!|\?)")
_VERBATIM = {"script", "style", "pre", "textarea"}  # HTML that ends with its own closing tag
_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_UNDERLINE = re.compile(r"(?:=+|-+)$")  # below a heading
_BOLD = re.compile(r"(?:\*\*|__)[^*_]+(?:\*\*|__)[:：]?$")
_ITEM = re.compile(r"(?:[-*+•]|\(?\d{1,3}[.)])\s+")
_IMAGE = re.compile(r"!\[[^\]\n]{0,200}\]\([^)\n]{0,400}\)")
_LINK = re.compile(r"\[([^\[\]\n]{1,200})\]\([^)\s]{1,400}\)")
_EMPHASIS = re.compile(
    r"(\*{1,3}|(?<!\w)_{1,3})(?=\S)([^*_\n]{1,400}?)(?<=\S)(?:\*{1,3}|_{1,3}(?!\w))"
)

_CLOSED = re.compile(r"[.!…。！｡][\"'”’»)\]」』）]*$")
_ASKS = re.compile(r"[?？][\"'”’»)\]」』）]*$")
_QUOTATION = re.compile(
    "[“„«「『][^”“»」』]{12,}[”“»」』]|\"[^\"]{12,}\"|(?<!\\w)'[^']{24,}'(?!\\w)"
)
_CODE = re.compile(r"[{}]|=>|==|!=|&&|\|\||\(\)|;\s*$|::|://|\\\w|^\s*[$>]\s|`")
_GREETING = re.compile(
    r"(?:(?:well|and|so|first(?: of all)?|again|oh)[,:]?\s+)?"
    r"(?:(?:i|we)(?:'d|’d| would)? (?:like to |want to |wish to )?)?"
    r"(?:thanks?(?: you)?|thankful|grateful|hello|hi|hey|dear|welcome|greetings|"
    r"good (?:morning|afternoon|evening|day|luck)|ladies and gentlemen|"
    r"it is (?:an honou?r|a pleasure)|(?:i|we) appreciate|congratulations|cheers|goodbye|"
    r"danke|vielen dank|guten (?:tag|morgen|abend)|hallo|liebe|sehr geehrte|meine damen|willkommen|"
    r"merci|bonjour|bonsoir|chers|mesdames|gracias|hola|buenos|buenas|estimad\w+|señor\w*|"
    r"grazie|ciao|obrigad\w+|olá)\b"
    r"|(?:sure|certainly|of course|absolutely)[!.,]"
    r"|(?:谢谢|感谢|大家好|你好|您好|各位|ありがとう|こんにちは|皆さん|감사|안녕)",
    re.IGNORECASE,
)
_ABOUT_THE_SPEECH = re.compile(
    r"(?:now,? |so,? |first,? |today,? )?"
    r"(?:let me\b|let us (?:begin|start|turn)|let's (?:begin|start|turn)|"
    r"(?:i|we)(?: will|'ll|’ll| shall| am going to| want to| would like to)(?: now)? "
    r"(?:argue|begin|start|show|explain|address|discuss|present|make|turn|respond|focus|speak)|"
    r"(?:my|the) (?:first|second|third|next|last|final|main|opening|closing) "
    r"(?:point|argument|reason|speech|statement|remark)s? (?:is|are)\W*$|"
    r"here (?:is|are) (?:my|the|three|two|some)|in (?:this|my) (?:speech|statement|rebuttal|turn)|"
    r"as an? (?:ai|language model)\b|this concludes|that concludes)",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(
    r"(?:(?:as )?(?:you|he|she|they|my (?:opponent|colleague|friend)|the other side|[A-Z]\w+) "
    r"(?:just )?(?:said|says|say|claims?|claimed|argues?|argued|asserts?|asserted|mentions?|"
    r"mentioned|suggests?|suggested|points? out|pointed out|asks?|asked)\b|"
    r"(?:i|we) (?:\w+ )?(?:dis)?agree\b)",
    re.IGNORECASE,
)
_LEANING = re.compile(
    r"(?:this|that|these|those|it|they|he|she|and|but|so|or|also|then|thus|hence|however|therefore|"
    r"moreover|furthermore|second(?:ly)?|third(?:ly)?|finally|instead|yet|still|for example)\b",
    re.IGNORECASE,
)
_ARGUES = re.compile(
    r"\b(?:because|should|must|cannot|can't|need|needs|would|will|means|leads?|costs?|causes?|"
    r"better|worse|more|less|risks?|only if|unless|weil|soll\w*|muss|parce que|doit|porque|debe)\b",
    re.IGNORECASE,
)


def paragraphs(text: str) -> Iterator[str]:
    """The prose of a text, a paragraph or an item of a list at a time, without its markup. An item
    that does not end like a sentence is a scrap."""
    for lines in _blocks(text.split("\n")):
        item = _ITEM.match(lines[0])
        plain = " ".join(" ".join(lines).split())
        plain = _unmarked(_ITEM.sub("", plain, count=1) if item else plain)
        if plain and not (item and not _CLOSED.search(plain)):
            yield plain


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines that belong together; those of code, tables, HTML, headings and quotations are gone."""
    block: list[str] = []
    until: str | None = None  # what ends the part that is left out; "": a blank line
    for line in lines:
        bare = line.strip()
        if until is not None:
            ends = not bare if not until else until in bare.lower()
            until = None if ends else until
            continue
        until = _left_out(bare)
        underlined = bool(block) and _UNDERLINE.fullmatch(bare) is not None
        begins = _ITEM.match(bare)
        if until is None and bare and not _aside(bare) and not underlined:
            if begins and block:
                yield block
                block = []
            block.append(bare)
            continue
        if block and not underlined:
            yield block
        block = []
    if block:
        yield block


def _left_out(bare: str) -> str | None:
    """What ends a part that is left out from this line on; None if it is no such line."""
    if bare.startswith(_FENCES):
        return None if bare[:3] in bare[3:].lstrip(bare[0]) else bare[:3]
    if not (found := _HTML.match(bare)):
        return None
    name = found[1].lower()
    closing = f"</{name}"
    if name in _VERBATIM:
        return None if closing in bare.lower() else closing
    return ""


def _aside(bare: str) -> bool:
    """Whether a line is a heading, a quotation, or a row of a table."""
    if bare.startswith((">", "|", *_FENCES)) or bare.count("|") > 1 or _HTML.match(bare):
        return True
    return bool(_HEADING.match(bare) or _BOLD.fullmatch(bare)) or bare.endswith((":", "："))


def _unmarked(text: str) -> str:
    text = _LINK.sub(r"\1", _IMAGE.sub("", text))
    return _EMPHASIS.sub(r"\2", text).replace("**", "").strip()


def standing(sentence: str, words: float) -> int:
    """How well a sentence of so many words stands alone: 2 as a claim, 1 if there is no better, 0
    not at all."""
    if words < 2 or _ASKS.search(sentence):
        return 0
    if _GREETING.match(sentence) or _ABOUT_THE_SPEECH.match(sentence):
        return 0
    if _TAG.search(sentence) or _CODE.search(sentence) or _QUOTATION.search(sentence):
        return 0
    if not SHORTEST <= words <= LONGEST:
        return 1
    whole = _CLOSED.search(sentence) and not sentence[0].islower() and sentence[0] not in "(["
    return 2 if whole else 1


def quotations(sentence: str) -> list[str]:
    """What a sentence takes from others, without the marks."""
    return [found[1:-1] for found in _QUOTATION.findall(sentence)]


def weight(sentence: str) -> float:
    """How likely a sentence is a claim of its speaker's own that needs nothing before it."""
    told = 0.4 if _OF_OTHERS.match(sentence) else 1.0
    told *= 0.7 if _LEANING.match(sentence) else 1.0
    return told * (1.2 if _ARGUES.search(sentence) else 1.0)
