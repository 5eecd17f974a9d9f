"""Speeches that were made before are known again, and new ones are left alone."""

import pytest
from tests.unit.core.test_prompts import debate_of, steps_of, turn_of

from moot.core.debate import Turn
from moot.core.echo import likeness, repeats
from moot.core.writing import sentences

MOTION = "Should the town close its high street to cars at the weekend?"
SPEECH = (
    "Closing the street costs the shops their Saturday, which is the day they live from. "
    "The council has no plan for what the bakers should do instead."
)
ANSWER = "Fewer cars make room for tables, and tables sell more coffee than parking ever did."


def made(*texts: str, **changes: str) -> list[Turn]:
    steps = [(now, wave.steps[0]) for now, wave in steps_of(debate_of("duel", "Ada Ben", turns=20))]
    return [turn_of(*at, text, **changes) for at, text in zip(steps, texts, strict=False)]


@pytest.mark.parametrize(
    "again",
    [
        SPEECH,
        SPEECH.upper(),
        "As I said before: " + SPEECH,
        SPEECH.replace("costs", "takes from").replace("bakers", "butchers"),
        f"I do not agree. {SPEECH.split('. ')[1]}",  # one sentence of it, behind something new
        "It should not be done, because the council has no plan for what bakers should do instead!",
    ],
)
def test_a_speech_that_was_made_before_is_known_again(again: str) -> None:
    assert repeats(again, MOTION, made(SPEECH, ANSWER))
    assert repeats(again, MOTION, made(ANSWER, SPEECH))  # another's words are no new point either


@pytest.mark.parametrize(
    "new",
    [
        "What the shops lose on Saturday they win on Sunday, as three other towns have found.",
        "The town should close its high street to cars at the weekend, because buses need room.",
        "The town should not close its high street to cars at the weekend, because Ada is wrong.",
        "No.",
        "",
    ],
)
def test_a_new_one_is_not(new: str) -> None:
    thesis = "The town should close its high street to cars at the weekend, because it is loud."
    assert not repeats(new, MOTION, made(SPEECH, ANSWER, thesis))


def test_only_what_was_said_as_a_speech_counts() -> None:
    assert not repeats(SPEECH, MOTION, made(SPEECH, status="failed"))
    assert not repeats(SPEECH, MOTION, made(SPEECH, kind="cue"))
    assert not repeats(SPEECH, MOTION, [])


def test_likeness_is_a_share() -> None:
    assert likeness(SPEECH, SPEECH) == 1.0
    assert likeness(SPEECH, "zebra quagga") == 0.0
    assert likeness("a b c d", "a, b! x y") == 0.5
    assert likeness("word " * 100_000, "word " * 100_000) == 1.0  # and at once


FOREIGN = {
    "zh": (
        "学校应该禁止学生使用智能手机吗？",
        "禁止手机会让孩子在紧急情况下联系不到父母。老师也失去了一个很好的教学工具。",
        "没有手机，课堂上的注意力明显提高，考试成绩也更好。",
    ),
    "hi": (
        "क्या स्कूलों को स्मार्टफ़ोन पर प्रतिबंध लगाना चाहिए?",
        "बच्चे आपात स्थिति में अपने माता-पिता से बात नहीं कर पाएँगे। शिक्षक भी पढ़ाने का एक अच्छा साधन खो देंगे।",
        "कक्षा में ध्यान बढ़ता है और परीक्षा के परिणाम पहले से बेहतर हो जाते हैं।",
    ),
    "ar": (
        "هل يجب على المدارس حظر الهواتف الذكية؟",
        "لن يستطيع الأطفال الاتصال بأهلهم عند الخطر. وسيفقد المعلمون أداة جيدة للشرح داخل الفصل.",
        "يزداد التركيز في الفصل وتتحسن نتائج الامتحانات بعد إبعاد الأجهزة عن الطلاب.",
    ),
}


@pytest.mark.parametrize("language", FOREIGN)
def test_it_is_known_again_in_any_script(language: str) -> None:
    motion, speech, other = FOREIGN[language]
    assert repeats(speech, motion, made(speech, other))
    last = next(part for part in reversed(sentences(speech)))
    assert repeats(f"{other} {last}", motion, made(speech)), "a sentence of it"
    assert not repeats(other, motion, made(speech))
    assert not repeats(motion, motion, made(speech, other))
