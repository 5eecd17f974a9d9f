"""What is language, and where a text that is too long ends."""

import pytest

from moot.core import answers
from moot.core.built_in import BUILT_IN
from moot.core.wording import ended, shortened, unreadable

HEARD = ("The risk of downtime is what the team fears, for it would cost a day.",)


@pytest.mark.parametrize(
    "text",
    [
        "theriskofdowntime,as",
        "theriskofdowntime",
        "We move now. Butitisnotclear,whether the data stays whole.",
        "…",
        "?!?!?!?!",
        "{ } [ ] ; ; = =",
        "no no no no no no no no",
        "aaaaaaaaaaaaaaaaaa",
        "x" * 50,
        "a" + "bcdefgh" * 8,
    ],
)
def test_what_is_not_language_is_told_why(text: str) -> None:
    assert unreadable(text, HEARD)


@pytest.mark.parametrize(
    "text",
    [
        "Yes",
        "5",
        "Postgres 18, with logical replication",
        "No: the risk of downtime is real, however,we can plan for it.",
        "Arbeitnehmerüberlassungsgesetz",
        "Rechtsschutzversicherungsgesellschaften zahlen das nicht.",
        "Donaudampfschifffahrtsgesellschaft",
        "https://example.com/a/very/long/path,with=commas&more=theriskofdowntime,as",
        "src/moot/core.wording.py,tests/unit/core/test_language.py",
        "DEBATE_ERR_PROVIDER_UNAVAILABLE",
        "我们应该迁移到新的数据库，因为停机风险很低而且团队已经准备好了。",
        "ควรย้ายไปยังฐานข้อมูลใหม่เพราะมีความเสี่ยงต่ำและทีมพร้อมแล้วในตอนนี้",
        "データベースの移行は、停止時間を短くするための計画が必要です。",
        "हमें नए डेटाबेस में जाना चाहिए, क्योंकि जोखिम कम है।",
        "نعم، يجب أن ننتقل إلى قاعدة البيانات الجديدة.",
        "データ",
        "a² + b² = c²",
        "Very, very, very, very good",
        "1,000,000,000 rows",
    ],
)
def test_what_people_write_is_language(text: str) -> None:
    assert unreadable(text, HEARD) is None


def test_a_field_that_is_not_language_is_no_answer() -> None:
    data = {
        "claim": "We can move.",
        "rationale": "The team is ready.",
        "risks": ["theriskofdowntime,as"],
        "position": "Move now",
        "confidence": 0.7,
    }
    with pytest.raises(ValueError, match=r"risks: .*'theriskofdowntime,as' run together"):
        answers.check_language(BUILT_IN["position"], data, HEARD)
    answers.check_language(BUILT_IN["position"], {**data, "risks": ["The risk of downtime"]})


def test_work_that_was_asked_for_may_be_code() -> None:
    answers.check_language(BUILT_IN["verdict"], {"work": "{ } [ ] ; ; = = aaaaaaaaaaaaaaaa"})


@pytest.mark.parametrize(
    ("text", "most", "left"),
    [
        ("It is short.", 12, "It is short."),
        ("The risk of downtime is too high", 20, "The risk of…"),
        ("The risk of downtime, as we know", 24, "The risk of downtime…"),
        ("We move now. The risk is", 16, "We move now."),
        ("停机风险很低而且团队已经准备好了", 9, "停机风险很低而且…"),
    ],
)
def test_what_is_too_long_ends_with_a_whole_word(text: str, most: int, left: str) -> None:
    assert shortened(text, most) == left
    assert len(left) <= most


def test_one_word_alone_is_cut_where_it_must_be() -> None:
    assert ended("a" * 60) == "a" * 60 + "…"
