"""What is committed is what the speaker said: one voice, nothing hidden, and fast on any input."""

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.work import growth

from moot.core.clean import MAX_DEPTH, clean, one_line, visible

OTHERS = ("Bob", "Grace Hopper")


def cleaned(text: str, cut: bool = False) -> str:
    return clean(text, "Ada", OTHERS, cut)


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("a\x00b\x07c\td", "abc\td"),
        (
            "one\r\ntwo\rthree\u2028four\u2029five\x85six\vseven\feight",
            "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight",
        ),
        ("one\n \n\t\n\ntwo  \n", "one\n\ntwo"),
        ("safe \u202eesrever\u202c text\u200b\ufeff", "safe esrever text"),
        ("hid\U000e0041\U000e0042den", "hidden"),
        ("red \x1b[31malert\x1b[0m now", "red alert now"),
        ("half \ud83d gone, whole \ud83d\ude00 mended", "half  gone, whole 😀 mended"),
        ("👩\u200d💻 stays, a\u200db does not", "👩\u200d💻 stays, ab does not"),
        ("می\u200cروم", "می\u200cروم"),
        ("❤\ufe0f\ufe0f\ufe0f and 1\ufe0f\u20e3 and x\ufe0f", "❤\ufe0f and 1\ufe0f\u20e3 and x"),
    ],
)
def test_hidden_characters_go(raw: str, kept: str) -> None:
    assert cleaned(raw) == kept


def test_no_control_or_format_character_survives() -> None:
    visible = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs") and code not in visible:
            assert cleaned(f"a{chr(code)}b") in ("ab", "a\nb", "a\tb"), hex(code)


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("<think>secret</think>Answer.", "Answer."),
        ("<THINKING>\nsecret\n</THINKING>\n\nAnswer.", "Answer."),
        ("One <reasoning>secret</reasoning> two.", "One two."),
        ("[THINK]secret[/THINK]Answer.", "Answer."),
        ("secret\n</think>\nAnswer.", "Answer."),
        ("<think>a <think> b</think> Answer.", "Answer."),
        ("<think>a <reflection>b</reflection> c</think> Answer.", "Answer."),
        ("<think>never closed", ""),
        ("Answer.\n<think>afterthought", "Answer."),
        ("<th<think>x</think>ink>Answer.", "<th ink>Answer."),
        ("2 < 3 and <b>bold</b>", "2 < 3 and <b>bold</b>"),
    ],
)
def test_reasoning_goes(raw: str, kept: str) -> None:
    assert cleaned(raw) == kept


@pytest.mark.parametrize(
    "label",
    [
        "Ada:",
        "ada:",
        "ADA :",
        "**Ada:**",
        "**Ada**:",
        "*Ada*:",
        "__Ada__:",
        "Ada (pro):",
        "[Ada]:",
        "**[Ada]:**",
        "**Ada** (pro):",
        "## Ada\n",
        "### **Ada**\n",
        "**Ada**\n",
        "[Ada]\n",
        "Ada:\n\n",
        "Ada: Ada:",
        "**Ada:** Ada (con):",
        "Ada (opening, round 1) said:",
        "[12] Ada:",
        "**[12] Ada:**",
        "Ada\uff1a",
    ],
)
def test_the_own_name_goes(label: str) -> None:
    assert cleaned(f"{label} Tests pay off.") == "Tests pay off."


@pytest.mark.parametrize(
    "text",
    [
        "Ada is my name.",
        "I heard Bob: he said no.",
        "Bob says: no.",
        "Bobby: is nobody here.",
        "Bob, your point is weak.",
        "> Bob: that is a quotation",
        "Note: this matters.\n\n- cost: high",
        '"Yes", I said, and "no".',
        "It's the others' turn",
        "Code:\n\n```\nx = 1\n```",
    ],
)
def test_ordinary_prose_stays(text: str) -> None:
    assert cleaned(text) == text


@pytest.mark.parametrize(
    "label", ["Bob:", "**Bob:**", "[Bob]:", "[7] Bob:", "## Bob\n", "bob (con):", "Grace  Hopper:"]
)
def test_lines_for_somebody_else_go(label: str) -> None:
    assert cleaned(f"My point.\n\n{label} I disagree.\nStill me.") == "My point."
    assert cleaned(f"My point.\n{label} No.\nAda: Yes.\nReally.") == "My point.\n\nYes.\nReally."
    assert cleaned(f"{label} I disagree.") == ""
    assert cleaned(f"{label} I disagree.\n\nAda: I do not.") == "I do not."


def test_who_shares_a_name_keeps_the_words() -> None:
    assert clean("Ada: hello", "Ada", ["ada", "Bob"]) == "hello"
    assert clean("Ada Lovelace: hello", "Ada", ["Ada Lovelace"]) == ""
    assert clean("Bob: hello", "", ["Bob", ""]) == ""
    assert clean("Groß: hallo", "Groß", []) == "hallo"
    assert clean("*: hello", "*", ["**"]) == "*: hello"


@pytest.mark.parametrize(
    "raw",
    [
        "```\nHello.\n```",
        "```text\nHello.\n```",
        "“Hello.”",
        '"Hello."',
        "„Hello.“",
        "**Ada: Hello.**",
        'Ada: "Hello."',
        '"Ada: Hello."',
        "```\nAda: “Hello.”\n```",
        '"Hello."\n\nBob: Bye.',
    ],
)
def test_wrappings_go(raw: str) -> None:
    assert cleaned(raw) in ("Hello.", "**Hello.**")


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("One is here. Two is here. Three is", "One is here. Two is here."),
        ("Short. Then a tail that never finds its", "Short. Then a tail that never finds …"),
        ("no sentence at al", "no sentence at …"),
        ("Donaudampfschifffahrt", "Donaudampfschifffahrt …"),
        ("It was whole.", "It was whole."),
        ("“It was whole.” And", "It was whole."),
        ("It grew by 3.5 per cent, e.g. he", "It grew by 3.5 per cent, e.g. …"),
        ("Das gilt seit dem 3. Mai, z. B. in", "Das gilt seit dem 3. Mai, z. B. …"),
        ("一。二。三", "一。二。"),
        ("他们说好吗?我们说好!然", "他们说好吗?我们说好!"),
        ("我们不应该这样做，因", "我们不应该这样做，因…"),
        ("हाँ। यह सही है। लेकिन", "हाँ। यह सही है।"),
        ("यह सही नहीं है क्योंकि बच्", "यह सही नहीं है क्योंकि …"),
        ("هل هذا صحيح؟ نعم، لأن الأط", "هل هذا صحيح؟ نعم، لأن …"),
        ("لماذا نمنع الهواتف في المدارس؟ لأ", "لماذا نمنع الهواتف في المدارس؟"),
        ("کیا یہ ٹھیک ہے۔ ہاں۔ لی", "کیا یہ ٹھیک ہے۔ ہاں۔"),
        ("", ""),
        ("<think>no end", ""),
    ],
)
def test_a_cut_reply_ends_well(raw: str, kept: str) -> None:
    assert cleaned(raw, cut=True) == kept


PIECES = st.sampled_from(
    [
        "Ada",
        "Bob",
        "ada:",
        "Ada:",
        "Bob:",
        "**",
        "*",
        "_",
        ":",
        " ",
        "\n",
        "\n\n\n",
        "#",
        "## ",
        "[",
        "]",
        "(pro)",
        "<think>",
        "</think>",
        "<th",
        "ink>",
        "```",
        "```\n",
        "\n```",
        '"',
        "'",
        "“",
        "”",
        "„",
        "«",
        "»",
        "said",
        "Hello",
        "क्योंकि ",
        "हाँ।",
        "؟",
        "因为",
        "。",
        "เพราะ",
        "\ufffd",
        ".",
        "! ",
        "…",
        "\u200d",
        "\ufe0f",
        "é",
        "👩",
        "\u202e",
        "\x1b[",
        "\ud83d",
        "\ude00",
        "\r",
        "1",
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=80), st.booleans())
@example('"""\n**Bob**"\n**Bob**"', False)
@example('"Hello." World and on', True)
@example("**Ada: [Ada]**", False)
def test_cleaning_twice_changes_nothing(text: str, cut: bool) -> None:
    once = cleaned(text, cut)
    assert cleaned(once, cut) == once
    assert cleaned(once) == once
    assert once == once.strip()


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        " ",
        "\n",
        "a\n",
        " \n",
        "<",
        "<think>",
        "</think>",
        "<think></think>",
        "Ada: ",
        "Ada:\n",
        "Bob:\n",
        "**Ada: ",
        "Bob: x\nAda: y\n",
        "#",
        "*",
        "_[",
        "```\n",
        '"',
        "“",
        "“”",
        '"\n**Bob**',
        "\u200d",
        "👩\u200d",
        "\ufe0f",
        "\x1b[1",
        "\x00",
        "\ud83d",
        "(",
        "Ada (",
        ".",
        ". ",
        "…",
        "\u202e",
    ],
)
def test_what_is_longer_takes_as_much_longer_to_clean(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    assert growth(lambda size: cleaned(text[:size], cut=True), len(text)) < 40


def test_a_structured_answer_is_cleaned_to_its_names_and_no_deeper_than_any_is() -> None:
    assert visible({"a\u200b": ["x\x00", {"b": "\ud800y"}]}) == {"a": ["x", {"b": "y"}]}
    deep: object = "x"
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert visible(deep)
    for wrapped in ([deep], {"a": deep}):
        with pytest.raises(ValueError, match="nested"):
            visible(wrapped)


def test_one_line() -> None:
    assert one_line("  Ada\r\n\tLovelace\u202e \x00", 80) == "Ada Lovelace"
    assert one_line("Ada Lovelace", 4) == "Ada"
    assert one_line("👩\u200d💻", 2) == "👩"
    assert one_line("\n\u200b", 10) == ""


@given(st.text(max_size=60), st.integers(0, 40))
def test_one_line_is_short_and_stable(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert one_line(line, limit) == line
