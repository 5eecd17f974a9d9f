"""The language of a text, as far as its letters and its small words tell."""

import re
from collections.abc import Iterable

NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "cs": "Czech", "de": "German",
    "el": "Greek", "en": "English", "es": "Spanish", "fa": "Persian", "fr": "French",
    "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hy": "Armenian", "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "ka": "Georgian", "km": "Khmer", "kn": "Kannada",
    "ko": "Korean", "lo": "Lao", "ml": "Malayalam", "mr": "Marathi", "my": "Burmese",
    "ne": "Nepali", "nl": "Dutch", "pa": "Punjabi", "pl": "Polish", "pt": "Portuguese",
    "ru": "Russian", "si": "Sinhala", "sr": "Serbian", "sv": "Swedish", "ta": "Tamil",
    "te": "Telugu", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu",
    "vi": "Vietnamese", "zh": "Chinese", "am": "Amharic",
}  # fmt: skip
_SCRIPTS = (  # letters, and the languages that are written in them: the likeliest first
    ("\u3040-\u30ff", ("ja",)),
    ("\uac00-\ud7af\u1100-\u11ff", ("ko",)),
    ("\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff", ("zh", "ja")),
    ("\u0679\u0688\u0691\u06ba\u06d2\u06c1", ("ur",)),
    ("\u067e\u0686\u0698\u06af\u06a9\u06cc", ("fa", "ur")),
    ("\u0600-\u06ff\u0750-\u077f", ("ar", "fa", "ur")),
    ("\u0900-\u097f", ("hi", "mr", "ne")),
    ("\u0456\u0457\u0454\u0491", ("uk",)),
    ("\u0400-\u04ff", ("ru", "bg", "sr", "uk")),
    ("\u0370-\u03ff", ("el",)),
    ("\u0530-\u058f", ("hy",)),
    ("\u0590-\u05ff", ("he",)),
    ("\u0980-\u09ff", ("bn",)),
    ("\u0a00-\u0a7f", ("pa",)),
    ("\u0a80-\u0aff", ("gu",)),
    ("\u0b80-\u0bff", ("ta",)),
    ("\u0c00-\u0c7f", ("te",)),
    ("\u0c80-\u0cff", ("kn",)),
    ("\u0d00-\u0d7f", ("ml",)),
    ("\u0d80-\u0dff", ("si",)),
    ("\u0e00-\u0e7f", ("th",)),
    ("\u0e80-\u0eff", ("lo",)),
    ("\u1000-\u109f", ("my",)),
    ("\u10a0-\u10ff", ("ka",)),
    ("\u1200-\u137f", ("am",)),
    ("\u1780-\u17ff", ("km",)),
)
_SMALL = {
    "en": "the of and to is are should would do does we our be by for with or not it that than a "
    "in on what which why how can could must will has more best better worth it's",
    "de": "der die das den dem des ein eine einen und oder ist sind sollte sollten soll wir nicht "
    "mit für auf von zu werden wird statt als unsere müssen können dürfen",
    "fr": "le la les l des du un une et ou est sont devrait doit faut nous pour dans sur avec pas "
    "que au aux ne t on",
    "es": "el los las un una y o es son debería deberían debe deben para por con no que del al en "
    "se la",
    "pt": "o os as um uma e ou é são deveria deveriam deve devem para por com não que do da dos "
    "das em no na",
    "it": "il lo gli un una e o è sono dovrebbe dovrebbero deve per con non che del della dei di "
    "in nelle si la",
    "nl": "de het een en of is zijn moet moeten zou we wij niet met voor op van te worden onze",
    "sv": "och eller är en ett ska bör vi inte med för på av att det den som",
    "pl": "i lub czy jest są powinno powinniśmy nie z na w do że się dla",
    "cs": "a nebo je jsou měli bychom by se ne s na v do že pro",
    "tr": "ve veya mı mi mu mü bir için ile bu değil olmalı gerekir",
    "vi": "có nên không là và hoặc của cho với chúng ta các những được",
    "id": "apakah dan atau yang di ke dari untuk dengan tidak harus kita adalah",
}
_SPELT = {"ß": "de", "ñ": "es", "¿": "es", "ã": "pt", "õ": "pt", "ł": "pl", "ğ": "tr", "ı": "tr",
          "ř": "cs", "ě": "cs", "ơ": "vi", "ư": "vi", "å": "sv"}  # fmt: skip
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_WORD = re.compile(r"[^\W\d_]+")
_SHARE = 0.2  # of the letters, from which on a script is not only that of a name


def languages(text: str) -> tuple[str, ...]:
    """The languages that a text may be in, the likeliest first; none if that is not clear."""
    text = text[:4000]
    latin = len(_LATIN.findall(text))
    found = [(len(re.findall(f"[{letters}]", text)), codes) for letters, codes in _SCRIPTS]
    others = sum(count for count, codes in found if len(codes) > 1 or codes[0] not in ("ur", "uk"))
    if others and others >= (others + latin) * _SHARE:
        return _written(found, others)
    return _spoken(text) if latin else ()


def _written(found: Iterable[tuple[int, tuple[str, ...]]], letters: int) -> tuple[str, ...]:
    """By its script. The letters that few languages have are looked for first, and a few of them
    tell."""
    told = [(count, codes) for count, codes in found if count]
    rare = (codes for count, codes in told if count >= letters * 0.04)
    return next(rare, max(told)[1])


def _spoken(text: str) -> tuple[str, ...]:
    """By its small words, of which the longer ones tell more. Two languages that share what there
    is are not told apart."""
    said = _WORD.findall(text.casefold())
    hits = {
        code: sum(1 + (len(word) > 4) for word in said if word in known)
        for code, known in _KNOWN.items()
    }
    for letter, code in _SPELT.items():
        hits[code] += 2 * (letter in text.casefold())
    best, second = sorted(hits.values())[:-3:-1]
    if best < 2 or best == second:
        return ()
    return (max(hits, key=lambda code: hits[code]),)


_KNOWN = {code: frozenset(small.split()) for code, small in _SMALL.items()}


def named(codes: Iterable[str]) -> str:
    """Languages by their English names."""
    names = [NAMES.get(code, code) for code in codes]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
