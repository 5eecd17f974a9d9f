"""Passages, their digest, their ranking, and what of them a prompt holds."""

import random

from hypothesis import given
from hypothesis import strategies as st

from moot.core.quoting import normal
from moot.core.ranking import Index
from moot.core.sources import Passage, digest, source, split
from moot.wire import source_file


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=3000))
def test_no_word_of_a_text_is_lost_and_no_passage_is_long(text: str) -> None:
    passages = split([(None, text)])
    joined = normal("".join(passage.text for passage in passages)).replace(" ", "")
    assert joined == normal(text).replace(" ", "")
    assert all(len(passage.text) <= 1000 for passage in passages)
    assert [passage.number for passage in passages] == list(range(1, len(passages) + 1))


def test_a_heading_and_a_page_begin_a_passage() -> None:
    passages = split([(1, "Intro.\n\n# One\n\nText."), (2, "More.")])
    assert [(one.text, one.page) for one in passages] == [
        ("Intro.", 1),
        ("# One\n\nText.", 1),
        ("More.", 2),
    ]


LINES = st.lists(
    st.sampled_from(
        ["## S1.1", "\\## S2.3 · page 1", "---", "", "words", "\\", "## S1.2 · page 9"]
    ),
    min_size=1,
    max_size=8,
).map("\n".join)


@given(st.lists(st.tuples(st.none() | st.integers(1, 9), LINES), min_size=1, max_size=4))
def test_a_file_gives_its_passages_back(pages: list[tuple[int | None, str]]) -> None:
    passages = split(pages)
    one = source('A "title"\\', "docs/a.md", "markdown", "0" * 64, passages)
    assert source_file.passages(source_file.document(one)) == passages


def test_the_digest_is_of_text_and_page() -> None:
    one, other = (Passage(1, "a", 1),), (Passage(1, "a", 2),)
    assert digest(one) != digest(other)


def test_ranking_finds_rare_words_and_is_the_same_each_time() -> None:
    chance = random.Random(3)
    common = [f"word{n}" for n in range(50)]
    text = [" ".join(chance.choices(common, k=60)) for _ in range(300)]
    text[200] += " the zebra crossing"
    text[100] += " 停電のとき"
    made = source("t", "t", "text", "0" * 64, tuple(Passage(n, t) for n, t in enumerate(text, 1)))
    index = Index([made])
    assert index.ranked("a Zebra, word1?")[0] == 200
    assert index.ranked("停電") == [100]
    assert index.ranked("word1 word2") == Index([made]).ranked("word1 word2")
    assert index.ranked("unheard") == []
