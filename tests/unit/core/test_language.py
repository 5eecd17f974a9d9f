"""Which language a motion is in: by its letters, or by its small words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.language import NAMES, languages, named


@pytest.mark.parametrize(
    ("motion", "code"),
    [
        ("Should we ship on Fridays?", "en"),
        ("Sollten Schulen Smartphones verbieten?", "de"),
        ("Ist PostgreSQL besser als MySQL?", "de"),
        ("Faut-il interdire les smartphones à l’école ?", "fr"),
        ("¿Deberían las escuelas prohibir los móviles?", "es"),
        ("As escolas devem proibir os telemóveis?", "pt"),
        ("Le scuole dovrebbero vietare gli smartphone?", "it"),
        ("Moeten scholen telefoons verbieden?", "nl"),
        ("Okullar telefonları yasaklamalı mı?", "tr"),
        ("学校应该禁止学生使用智能手机吗？", "zh"),
        ("我们应该使用 Kubernetes 吗？", "zh"),
        ("学校でスマホを禁止すべきか", "ja"),
        ("학교에서 스마트폰을 금지해야 합니까?", "ko"),
        ("هل يجب على المدارس حظر الهواتف الذكية؟", "ar"),
        ("آیا مدارس باید تلفن‌های هوشمند را ممنوع کنند؟", "fa"),
        ("کیا اسکولوں میں فون پر پابندی ہونی چاہیے؟", "ur"),
        ("क्या स्कूलों को स्मार्टफ़ोन पर प्रतिबंध लगाना चाहिए?", "hi"),
        ("Стоит ли запретить телефоны?", "ru"),
        ("Чи потрібно забороняти смартфони у школі, і якщо так, то які її класи?", "uk"),
        ("โรงเรียนควรห้ามใช้โทรศัพท์หรือไม่", "th"),
        ("האם לאסור טלפונים?", "he"),
    ],
)
def test_the_likeliest_language(motion: str, code: str) -> None:
    assert languages(motion)[0] == code


@pytest.mark.parametrize(
    "motion", ["", "42?", "Rust vs Go", "Tabs or spaces?", "C++", "🙂", "Die Hard: Film!"]
)
def test_what_is_not_clear_is_not_guessed(motion: str) -> None:
    assert languages(motion) == ()


def test_a_foreign_word_in_a_motion_does_not_change_its_language() -> None:
    assert languages("Should every restaurant that serves 麻婆豆腐 print it in Chinese?") == ("en",)


@given(st.text(max_size=200))
def test_any_text_has_languages_with_a_name_or_none(text: str) -> None:
    assert all(code in NAMES for code in languages(text))


def test_names() -> None:
    assert named(["de"]) == "German"
    assert named(["de", "zh", "ar"]) == "German, Chinese and Arabic"
