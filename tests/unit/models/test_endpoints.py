"""The user's own endpoints: what a file may say and what not, and that no entry hides another."""

from pathlib import Path

import pytest

from moot.errors import InputError
from moot.models.endpoints import FILE, load
from moot.models.providers import VENDORS, Providers
from moot.models.router import Router
from moot.models.understudy import Understudy
from moot.settings import Settings

GOOD = """
[corp]
base_url = "https://llm.corp.example/v1/"
key_env = "CORP_LLM_KEY"
models = ["big", "small"]
window = 32000
[corp.prices]
big = {input = 2.0, output = 8.0}

[attic]
base_url = "http://127.0.0.1:9999/v1"
"""


def write(home: Path, text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    (home / FILE).write_bytes(data)


def test_an_endpoint_is_a_provider_like_any_other(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    table = load(tmp_path)
    assert not table.problems
    assert table.normalize("corp") == ("corp:big", None)
    assert table.normalize("Corp:small") == ("corp:small", None)
    assert table.normalize("attic") == ("attic", None), "its server is asked what it has"
    assert (table["corp"].local, table["attic"].local) == (False, True)
    cards = Router(Providers(table=table), Understudy())
    big, small = cards.card("corp:big"), cards.card("corp:small")
    assert (big.window, big.input_price, big.output_price) == (32_000, 2e-6, 8e-6)
    assert (small.window, small.input_price, small.output_price) == (32_000, None, None)
    keyed = Providers({"corp": "k"}, table=table)
    assert keyed.defaults() == ("corp:big",), "who has a key is never given the understudy"
    assert Providers({"corp": "k", "openai": "k"}, table=table).defaults()[0].startswith("openai:")
    assert cards.card("attic:tiny").input_price == 0.0, "a server that needs no key costs nothing"
    write(tmp_path, GOOD.replace("corp.example/v1/", "corp.example"))
    assert load(tmp_path)["corp"].address == table["corp"].address, "a bare host means its /v1"


def test_a_file_that_cannot_be_read_is_told_of_where_its_endpoint_is_named(tmp_path: Path) -> None:
    write(tmp_path, GOOD + "[broken")
    with pytest.raises(InputError, match=r"providers\.toml cannot be read"):
        load(tmp_path).normalize("corp")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-5", "openai:gpt-5"),
        ("Claude-Opus-4", "claude:Claude-Opus-4"),
        ("grok-4", "xai:grok-4"),
    ],
)
def test_a_model_without_its_provider_is_recognized(name: str, meant: str) -> None:
    with pytest.raises(InputError, match=f"Do you mean {meant}"):
        VENDORS.normalize(name)


def test_a_key_is_read_from_the_variable_that_the_file_names_and_is_masked(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    settings = Settings.model_validate({"home": tmp_path, "CORP_LLM_KEY": "sk-canary-7f3a"})
    assert "sk-canary-7f3a" in settings.secrets()
    assert "sk-canary" not in repr(settings)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("[corp]\nkey_env = 'K'", "base_url"),
        ("[corp]\nbase_url = 'ftp://x/v1'", "http://"),
        ("[corp]\nbase_url = 'https://u:p@x/v1'", "no password"),
        ("[corp]\nbase_url = 'https://x/v1'\nkey_env = 'sk-live-123'", "not the key itself"),
        ("[corp]\nbase_url = 'https://x/v1'\nkey = 'sk'", "key"),
        ("[corp]\nbase_url = 'https://x'\nprices = {b = {input = -1, output = 2}}", "prices.b"),
        ("corp = 3", "is a table"),
        ("[openai]\nbase_url = 'https://x/v1'", "moot knows"),
        ("[grok]\nbase_url = 'https://x/v1'", "moot knows"),
        ("['Two words']\nbase_url = 'https://x/v1'", "a name is"),
    ],
)  # fmt: skip
def test_an_entry_that_is_wrong_says_so_and_hides_no_other(
    tmp_path: Path, entry: str, told: str
) -> None:
    write(tmp_path, f"{entry}\n[fine]\nbase_url = 'https://y/v1'\n")
    table = load(tmp_path)
    ((name, said),) = table.problems.items()
    assert told in said
    assert FILE in said
    assert table.find("fine")
    assert table.rows.keys() >= VENDORS.rows.keys()
    if not VENDORS.find(name):
        with pytest.raises(InputError, match=FILE):
            table.normalize(name)


@pytest.mark.parametrize("text", [b"[", b"\xff", b"x = 1\n" * 50_000])
def test_a_file_that_cannot_be_read_leaves_the_known_providers(tmp_path: Path, text: bytes) -> None:
    write(tmp_path, text)
    table = load(tmp_path)
    assert table.problems
    assert table.rows == VENDORS.rows
