"""Addresses that cannot work are refused at once, in a sentence that shows no password."""

import pytest

from moot.bootstrap import load_settings
from moot.errors import InputError
from moot.settings import Settings

WRONG = [
    ("MOOT_DATABASE_URL", "mysql://me:hunter22@h/x", "begins with postgresql://"),
    ("MOOT_DATABASE_URL", "postgresql://me:hunter@22@h/x", "written %40"),
    ("MOOT_DATABASE_URL", "postgresql://me:hunter22@h:abc/x", "port"),
    ("MOOT_BROKER_URL", "http://h", "redis:// or rediss:// or amqp:// or amqps://"),
    ("MOOT_BROKER_URL", "redis://h:99999/0", "port"),
    ("MOOT_BROKER_URL", "redis://:hunter22@h/abc", "number of a Redis database"),
    ("MOOT_BUS_URL", "amqp://h", "begins with redis://"),
]


@pytest.mark.parametrize(("name", "url", "words"), WRONG)
def test_a_wrong_address(monkeypatch: pytest.MonkeyPatch, name: str, url: str, words: str) -> None:
    monkeypatch.setenv(name, url)
    with pytest.raises(InputError) as caught:
        load_settings()
    assert name in caught.value.message
    assert words in caught.value.message
    assert "hunter" not in caught.value.message


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("MOOT_DATABASE_URL", " postgres://me:p%40ss@[::1]:5432/x?sslmode=require "),
        ("MOOT_BROKER_URL", "redis://127.0.0.1"),
        ("MOOT_BROKER_URL", "rediss://:secret@h:6380/3"),
        ("MOOT_BROKER_URL", "amqp://me:secret@h//"),
    ],
)
def test_a_right_address(monkeypatch: pytest.MonkeyPatch, name: str, url: str) -> None:
    monkeypatch.setenv(name, url)
    assert load_settings()


def test_passwords_in_addresses_are_kept_out_of_logs() -> None:
    settings = Settings(
        database_url="postgresql://me:opensesame@h/x",  # type: ignore[arg-type]
        broker_url="redis://:shibboleth@h/0",  # type: ignore[arg-type]
    )
    assert {"opensesame", "shibboleth"} <= set(settings.secrets())
    assert "opensesame" not in repr(settings)
