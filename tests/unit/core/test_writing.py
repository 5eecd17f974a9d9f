"""Words and sentences, in every script."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.clean import clean
from moot.core.writing import clipped, sentences, words

WORDS = {
    "en": ["schools", "should", "not", "ban", "phones", "today"],
    "de": ["Schulen", "dürfen", "größere", "Prüfungen", "übrigens", "Straße"],
    "hi": ["स्कूलों", "को", "स्मार्टफ़ोन", "पर", "प्रतिबंध", "क्योंकि"],
    "ar": ["يجب", "على", "المدارس", "حظر", "الهواتف", "لأنَّ"],
    "ru": ["школы", "должны", "запретить", "телефоны", "потому", "что"],
    "ko": ["학교는", "휴대폰을", "금지해야", "합니다", "왜냐하면", "모두"],
}
STOPS = {"hi": "।", "ar": "؟"}


@st.composite
def speeches(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A speech in one of these languages, and its sentences."""
    language = draw(st.sampled_from(sorted(WORDS)))
    spoken = st.lists(st.sampled_from(WORDS[language]), min_size=1, max_size=12).map(" ".join)
    said = [f"{one}{STOPS.get(language, '.')}" for one in draw(st.lists(spoken, min_size=1))]
    return " ".join(said), said


@given(speeches())
def test_a_speech_is_its_sentences(speech: tuple[str, list[str]]) -> None:
    text, said = speech
    assert sentences(text) == said
    assert [part for one in said for part in words(one)] == words(text)


@given(speeches(), st.data())
def test_wherever_the_tokens_ran_out_it_ends_between_words(
    speech: tuple[str, list[str]], data: st.DataObject
) -> None:
    text, _ = speech
    stopped = text[: data.draw(st.integers(1, len(text)))]
    kept = clean(stopped, "Ada", ["Ben"], cut=True)
    spoken = kept.removesuffix(" …").split()
    alone = len(stopped.split()) == 1  # there is nothing else to end at
    assert alone or spoken == text.split()[: len(spoken)]
    assert kept[-1] in ".।؟…"


@given(speeches(), st.integers(1, 40))
def test_a_clip_ends_between_words(speech: tuple[str, list[str]], count: int) -> None:
    text, _ = speech
    kept = clipped(text, count)
    assert len(kept.removesuffix(" …").split()) <= count
    assert kept == text or kept.endswith(" …")
    whole = kept.removesuffix(" …").split()
    assert [one.rstrip(".।؟") for one in whole] == [
        one.rstrip(".।؟") for one in text.split()[: len(whole)]
    ]


@given(st.text(), st.integers(1, 40))
def test_a_clip_of_anything_is_its_beginning(text: str, count: int) -> None:
    kept = clipped(text, count)
    assert kept == text or text.startswith(kept.removesuffix("…").rstrip())
    assert not any(unicodedata.category(char) == "Cs" for char in kept) or kept in text + "…"


def test_a_script_without_spaces_is_clipped_too() -> None:
    """Thirty-five words of Chinese are not all that there is up to the next space."""
    text = "学校应该禁止学生使用智能手机，" * 40
    assert 40 < len(clipped(text, 35)) < 80
    assert clipped(text, 35).endswith("…")
    assert len(clipped("โรงเรียนควรห้ามใช้โทรศัพท์" * 40, 35)) < 200


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don’t stop.", ["don’t", "stop"]),
        ("हिन्दी में", ["हनद", "म"]),  # without vowel signs, but whole
        ("手机很好", ["手机", "机很", "很好"]),
        ("GPT好", ["gpt", "好"]),
        ("", []),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Dr. Who said e.g. this. And that?", ["Dr. Who said e.g. this.", "And that?"]),
        ("一。“二！”三", ["一。", "“二！”", "三"]),
        ("3.5 is more than 3. No.", ["3.5 is more than 3. No."]),
        ("Should we? No. It costs.", ["Should we?", "No.", "It costs."]),
        ("By 2030. Then more.", ["By 2030.", "Then more."]),
        ("ما هذا؟ لا.", ["ما هذا؟", "لا."]),
        ("हाँ।नहीं॥", ["हाँ।", "नहीं॥"]),
    ],
)
def test_sentences(text: str, found: list[str]) -> None:
    assert sentences(text) == found
