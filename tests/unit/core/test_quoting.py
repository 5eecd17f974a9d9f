"""Planted quotes: each kind is judged as it is, whatever it is planted in."""

import random
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.stress import STRESS, examples

from moot.core.quoting import Shelf, cited, collapsed, marked, normal, problem, quotes
from moot.core.sources import Passage, Source, source

MANY = 1000 if STRESS else 270
WORDS = (
    "ledger", "cost", "café", "naïve", "résumé", "migration", "downtime",
    "ﬁle", "server", "customer", "quarterly", "½", "budget", "writes",
    "latency", "planning", "risk", "owner", "Zürich", "protocol", "weather",
    "people", "measure", "half", "review",
)  # fmt: skip


def _text(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(count)).capitalize() + "."


def library(seed: int = 1) -> tuple[Source, ...]:
    chance = random.Random(seed)
    return tuple(
        source(
            f"Doc {n}", "text", "text", "0" * 64,
            tuple(Passage(p, _text(chance, 90)) for p in range(1, 21)), place=n,
        )
        for n in (1, 2)
    )  # fmt: skip


def _exact(text: str, chance: random.Random) -> str:
    parts = text.split(" ")
    start = chance.randrange(len(parts) - 12)
    return " ".join(parts[start : start + chance.randint(4, 10)])


def planted(kind: str, shelf: tuple[Source, ...], chance: random.Random) -> tuple[str, str, bool]:
    """A reference, the words, and whether they are a quote of it."""
    one = shelf[0]
    place = chance.randrange(20)
    ref, text = f"S1.{place + 1}", one.text[place].text
    words = _exact(text, chance)
    match kind:
        case "exact":
            return ref, words, True
        case "white space":
            return ref, words.replace(" ", chance.choice(["\n", "  ", "\t", "\u00a0"])), True
        case "Unicode form":
            return ref, unicodedata.normalize(chance.choice(["NFD", "NFKC", "NFKD"]), words), True
        case "one word changed":
            parts = words.split(" ")
            parts[chance.randrange(len(parts))] = "elsewhere"
            return ref, " ".join(parts), False
        case "stitched":
            return ref, f"{text[:25]} {text[-25:]}", False
        case "ellipsis":
            return ref, f"{text[:20]} … {text[-20:]}", False
        case "too short":
            return ref, text[: chance.randint(1, 11)].strip(), False
        case "another passage":
            return f"S1.{(place + 1) % 20 + 1}", words + " " + _exact(text, chance), False
        case "another source":
            return f"S2.{place + 1}", text[10:60], False
        case _:
            return ref, " ", False


KINDS = [
    "exact", "white space", "Unicode form", "one word changed", "stitched", "ellipsis",
    "too short", "another passage", "another source", "empty",
]  # fmt: skip


def test_planted_quotes_are_judged_right() -> None:
    shelf, chance = library(), random.Random(7)
    desk, wrong = Shelf(shelf, {}), list[str]()
    for n in range(MANY):
        kind = KINDS[n % len(KINDS)]
        ref, words, right = planted(kind, shelf, chance)
        done = desk.checked(f'It is so [{ref} "{words}"], as I said.')
        kept = list(quotes(done.value))
        judged = bool(kept) and not marked(done.value)
        if judged is not right or bool(done.failed) is right:
            wrong.append(f"{kind}: {words!r}")
        if not right:  # no reference to it is kept
            assert not kept
            assert ref not in cited(done.value)
            assert len(marked(done.value)) == 1
    assert len(wrong) <= MANY // 100, wrong[:5]


def test_a_quote_may_come_in_many_spellings() -> None:
    desk = Shelf(library(), {3: ["We shall not move the ledger before spring."]})
    passage = library()[0].text[0].text
    for text in (
        f"[S1.1 “{passage[:40]}”]", f"[S1.1: '{passage[:40]}']", f"[ S1.1, «{passage[:40]}» ]",
        f'"{passage[:40]}" [S1.1]', '[3 "not move the ledger"]', '[turn 3 "not move the ledger"]',
    ):  # fmt: skip
        done = desk.checked(text)
        assert not done.failed, text
        assert len(list(quotes(done.value))) == 1
        assert desk.checked(done.value).value == done.value  # once more changes nothing


@pytest.mark.parametrize(
    "text",
    [
        '[S1.1 "never written there', '[S9.1 "of a source that is not there"]',
        '[99 "of a turn that is not there"]', '[S1.1 "never written',
        '"never written there at all" [S1.2]',
    ],
)  # fmt: skip
def test_what_cannot_be_checked_is_marked(text: str) -> None:
    done = Shelf(library(), {}).checked(f"First. {text}\nNext line.")
    assert len(done.failed) == 1
    assert len(marked(done.value)) == 1
    assert not list(quotes(done.value))
    assert done.value.endswith("Next line.")


def test_quotes_in_answers() -> None:
    shelf = library()
    passage = shelf[0].text[4].text
    desk = Shelf(shelf, {2: ["The pilot ran for three weeks."]})
    reason = {
        "text": f'Because [S1.5 "{passage[:30]}"].',
        "turns": [2],
        "quotes": [
            "The pilot ran for",
            f'[S1.5 "{passage[5:40].strip()}"]',
            passage[8:50].strip(),
            "nobody said it",
        ],
    }
    done = desk.checked({"reasons": [reason], "choice": "Go"})
    made = done.value["reasons"][0]
    assert made["quotes"] == [
        "The pilot ran for",
        f'[S1.5 "{passage[5:40].strip()}"]',
        f'[S1.5 "{passage[8:50].strip()}"]',
        '[unverified "nobody said it"]',
    ]
    assert len(done.failed) == 1
    assert made["text"] == reason["text"]


@pytest.mark.parametrize(
    "quoted",
    [
        "> {}", "Speaker B: {}", "> Speaker B: {}", "[7] Speaker B:\n> {}", "Speaker B:\n> {}",
        "[7] {}", ">> {}",
    ],
)  # fmt: skip
def test_what_a_prompt_sets_before_words_is_no_part_of_a_quote(quoted: str) -> None:
    real, fake = "We pay twice for it now.", "We pay nothing for it now."
    reason = {"text": "It is so.", "turns": [7], "quotes": [quoted.format(real)]}
    done = DESK.checked({"reasons": [reason]})
    assert not done.failed
    assert done.value["reasons"][0]["quotes"] == [real]
    inline = DESK.checked(f'As [7 "{quoted.format(real)}"] says.')
    assert (inline.value, inline.failed) == (f'As [7 "{real}"] says.', [])
    reason["quotes"] = [quoted.format(fake)]
    done = DESK.checked({"reasons": [reason]})
    assert len(done.failed) == 1
    assert marked(done.value["reasons"][0]["quotes"][0])


def test_the_marks_of_lines_are_no_part_of_a_quote() -> None:
    desk = Shelf((), {3: ["We shall not move\n\nthe ledger before spring."]})
    reason = {"turns": [3], "quotes": ["> We shall not move\n>\n> the ledger before spring."]}
    assert not desk.checked({"reasons": [reason]}).failed


def test_white_space_and_form_alone_may_differ() -> None:
    assert normal("a\u00a0 b\n ﬁ") == "a b fi"
    assert normal("A") != normal("a")


REAL, FAKE = "the ledger moves before winter", "the ledger stays as it was"
DESK = Shelf(
    (source("R", "r", "text", "0" * 64, (Passage(1, f"In short, {REAL}, and Ada owns it."),)),),
    {7: ["We pay twice for it now.", f'They say [unverified "{FAKE}"] so often.']},
)
SPELLINGS = (
    '[S1.1 "{}"]', '"{}" [S1.1]', '“{}” (S1.1)', '[S1.1] "{}"', '[S1.1]: “{}”', '(S1.1: "{}")',
    '[S1.1, S2.4 "{}"]', '"{}" [S9.9; S1.1]', '[S1.1, p. 3: "{}"]', '[S1.1 says “{}”]',
    '[S1.1 – "{}"]', '(see S1.1: "{}")', '[S1.1, lines 3-5: "{}"]', '[S1.1 *"{}"*]', '[s1.1 "{}"]',
    '[S1.1 in its second paragraph reads "{}"]', '[S1.1 "{}", emphasis added]', '[S1 "{}"]',
    'S1.1 says: “{}”', '[S1.1] clearly states that "{}"', '[source S1.1 「{}」]', '[S1.1 ＂{}＂]',
    '[S1.1–S1.2 "{}"]', '[S1.1 and S2.4 "{}"]', '["{}", S1.1]', '"{}" (see S1.1, p. 3)',
    '"{}" ([S1.1])', '"{}." [S1.1]', '{{S1.1 "{}"}}', '【S1.1 "{}"】', '"{}" [S1]',
)  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_each_way_to_write_a_quote_is_checked(spelling: str) -> None:
    right, wrong = DESK.checked(f"So {spelling.format(REAL)}!"), spelling.format(FAKE)
    if "." not in spelling.partition("}")[2][:1]:  # the full stop is not there
        assert not right.failed
        assert f'[S1.1 "{REAL}"]' in right.value
    failed = DESK.checked(f"So {wrong}!")
    assert len(failed.failed) == 1
    assert marked(failed.value) in ([FAKE], [f"{FAKE}."])
    assert not list(quotes(failed.value))
    assert not cited(failed.value)
    listed = DESK.checked({"quotes": [spelling.format(FAKE)]})
    assert len(listed.failed) == 1
    assert listed.value["quotes"][0].startswith("[unverified ")


@pytest.mark.parametrize(
    "spelling", ['"{}" [7]', "“{}” [turn:7]", '"{}" (turn 7)', '[turn 7 "{}"]', '"{}". [7]']
)
def test_each_way_to_quote_a_turn_is_checked(spelling: str) -> None:
    right = DESK.checked(spelling.format("We pay twice for it"))
    assert (right.value, right.failed) == ('[7 "We pay twice for it"]', [])
    assert marked(DESK.checked(spelling.format(FAKE)).value) == [FAKE]


@pytest.mark.parametrize(
    "text",
    [
        'It is called "a matter of months" [2024].',  # there is no such turn
        'They keep it in S3 with "eleven nines of durability", no less.',
        'The "quite short" one (see S1.1) stands.',
        'As "Ada and all the others" know, (S1.1) is old.',
    ],
)
def test_what_is_no_quote_stays_as_it_is(text: str) -> None:
    assert DESK.checked(text).value == text


def test_what_copies_change_may_differ() -> None:
    """Line breaks in scripts without spaces, and how quotation marks and dashes are drawn."""
    passage = "Ada’s “plan” for 2019–2021 is un‑changed: 台帳は冬の前に\n移行します。"
    desk = Shelf((source("R", "r", "text", "0" * 64, (Passage(1, passage),)),), {})
    for words in (
        'Ada\'s "plan" for 2019-2021',
        "is un-changed: 台帳は",
        "台帳は冬の前に移行します。",
    ):
        done = desk.checked(f'[S1.1 "{words}"]')
        assert not done.failed, words
        assert list(quotes(done.value))
    assert desk.checked('[S1.1 "plan for 2019–2021 is"]').failed


def test_the_length_of_a_quote_is_that_of_its_characters() -> None:
    desk = Shelf((source("R", "r", "text", "0" * 64, (Passage(1, "½ owner meant the ﬁle."),)),), {})
    assert desk.checked('[S1.1 "½ owner mea"]').failed  # eleven, though "1⁄2 owner mea" has more
    assert not desk.checked('[S1.1 "½ owner mean"]').failed
    assert desk.checked({"quotes": ["½ owner mea"]}).failed


def test_the_speaker_is_told_where_the_words_stand() -> None:
    shelf = library()
    done = Shelf(shelf, {}).checked(
        f'[S1.3 "{shelf[1].text[4].text[:40]}"] [S1.3 "nobody ever said it"]'
    )
    assert "is not in passage S1.3 but in passage S2.5;" in problem(done.failed)
    assert "said it” is not in passage S1.3. A quote" in problem(done.failed)


def test_listed_words_are_found_wherever_they_stand() -> None:
    shelf = library()
    words = [one.text[place].text[:60].strip() for one in shelf for place in (0, 7, 19)]
    made = Shelf(shelf, {}).checked({"quotes": words}).value["quotes"]
    places = ("S1.1", "S1.8", "S1.20", "S2.1", "S2.8", "S2.20")
    assert made == [f'[{ref} "{said}"]' for ref, said in zip(places, words, strict=True)]


PIECES = st.lists(
    st.sampled_from([
        *(one.format(words) for one in SPELLINGS for words in (REAL, FAKE)),
        "[S1.1 ", "[S1.1]", '"', "“", "]", ")", "(", "[", "[7 ", '[7 "', '[unverified "', " and ",
        "\n\n", "\u200b", REAL, FAKE, '"]', "S1.1", "…", "[turn:7]", '[7 "twice for it now"]',
    ]),
    max_size=9,
).map("".join)  # fmt: skip


@given(PIECES)
@example(f'[7 "([S1.1 says “{REAL}”]')
@example('[7 "(S1.1')
@settings(max_examples=examples(1500), deadline=None)
def test_what_was_checked_holds_only_quotes_that_hold(text: str) -> None:
    done = DESK.checked(text).value
    for quote in quotes(done):
        assert quote.whole
        assert DESK.holds(quote.ref, quote.words)
        assert "\n" not in quote.words
    assert not DESK.checked(done).failed  # once more finds nothing that was let through


def test_a_failed_quote_does_not_pass_because_a_turn_said_it() -> None:
    assert not DESK.checked('[7 "We pay twice for it"]').failed
    assert len(DESK.checked(f'[7 "{FAKE}"]').failed) == 1


def test_pieces_of_a_text_keep_the_mark() -> None:
    """A report takes sentences out of what was said."""
    two = "Ada owns the ledger now. Nobody else may ever write to it again."
    assert collapsed(f'So [unverified "{two}"] it is.') == "So [unverified quote] it is."
    assert collapsed(f'So [S1.1 "{two}"] it is.') == "So [S1.1] it is."
    assert collapsed(f'So [S1.1 "{REAL}"] it is.') == f'So [S1.1 "{REAL}"] it is.'


def test_checking_one_quote_does_not_read_all_that_was_said() -> None:
    read: list[int] = []

    class Said(dict[int, list[str]]):
        def get(self, number: int, default: object = None) -> list[str]:
            read.append(number)
            return self[number]

    shelf = Shelf((), Said({n: [f"Nobody would have said {n} of these."] for n in range(100)}))
    assert shelf.checked("Nobody quotes anything here.").failed == []
    assert read == []
    assert shelf.checked('So it is [turn 7: "would have said 7 of these"].').failed == []
    assert set(read) == {7}
