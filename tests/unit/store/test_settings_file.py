"""The user's settings: what the file may hold, and who wins."""

from pathlib import Path

import pytest

from moot.bootstrap import router
from moot.errors import InputError, StorageError
from moot.models.providers import VENDORS
from moot.settings import Settings
from moot.store.settings_file import PreferencesFile

normalize = VENDORS.normalize


@pytest.fixture
def kept(tmp_path: Path) -> PreferencesFile:
    return PreferencesFile(tmp_path, VENDORS.normalize)


def test_what_is_put_is_read_by_every_process(kept: PreferencesFile, tmp_path: Path) -> None:
    assert kept.get().models == ()
    other = PreferencesFile(tmp_path, VENDORS.normalize)
    assert not other.get().limits
    made = kept.put({"models": ["claude", " openai:gpt "], "limits": {"max_cost_usd": 2}})
    assert made.models == ("claude", "openai:gpt")
    assert other.get() == made == PreferencesFile(tmp_path, VENDORS.normalize).get()
    assert kept.put({}).models == ()
    assert other.get().models == ()


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("api_key = 'sk-1'", "api_key", "There is no setting 'api_key'"),
        ("[limits]\nmax_turns = 3", "limits.max_turns", "There is no limit 'max_turns'"),
        ("[limits]\nmax_cost_usd = nan", "limits.max_cost_usd", "must lie within 0..1,000,000"),
        ("[limits]\nmax_turn_tokens = true", "limits.max_turn_tokens", "must be a whole number"),
        ("models = ['cluade']", "models[0]", "the nearest is claude"),
        ("models = [3]", "models[0]", 'A model is "provider:name"'),
        ("models = 'claude'", "models", "must be a list"),
        ("limits = 3", "limits", "must be a table"),
        ("models = ", "settings.toml", "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused(
    kept: PreferencesFile, tmp_path: Path, text: str, field: str, words: str
) -> None:
    (tmp_path / "settings.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        kept.get()
    assert caught.value.field == field
    assert str(tmp_path / "settings.toml") in caught.value.message
    assert words in caught.value.message


def test_nothing_is_written_unless_all_of_it_is_right(
    kept: PreferencesFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kept.put({"models": ["claude"]})
    with pytest.raises(InputError):
        kept.put({"models": ["openai"], "limits": {"max_turn_seconds": 1}})
    assert kept.get() == before

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match="No space left on device"):
        kept.put({"models": ["openai"]})
    assert kept.get() == before
    assert [path.name for path in tmp_path.iterdir()] == ["settings.toml"]


def test_the_environment_wins(kept: PreferencesFile, tmp_path: Path) -> None:
    kept.put({"models": ["openai:a", "claude:b"]})
    key = {"provider_keys": {"GEMINI_API_KEY": "k"}}
    assert router(Settings(home=tmp_path, **key)).defaults() == ("openai:a", "claude:b")  # pyright: ignore[reportArgumentType]
    assert router(Settings(home=tmp_path, model="gemini:c", **key)).defaults() == ("gemini:c",)  # pyright: ignore[reportArgumentType]
    kept.put({})
    assert router(Settings(home=tmp_path, **key)).defaults()[0].startswith("gemini:")  # pyright: ignore[reportArgumentType]
