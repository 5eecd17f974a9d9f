"""Signed calls: from whoever has the secret, of now, and each good once."""

import base64
import hashlib
import hmac
import re

import pytest

from moot.api.problems import ProblemError
from moot.api.signing import TOLERANCE_SECONDS, Signed, verify
from moot.bootstrap import load_settings
from moot.errors import InputError
from moot.settings import Settings

KEY = b"sixteen bytes or more"
NOW = 1_790_000_000
BODY = b'{"conversation":"debate_20261115_120000_abc234"}'


def sign(
    key: bytes = KEY,
    id_: str = "msg_1",
    at: int | str = NOW,
    body: bytes = BODY,
    version: str = "v1",
) -> Signed:
    """By the letter of Standard Webhooks, with nothing of ours."""
    mac = hmac.new(key, b"%s.%s.%s" % (id_.encode(), str(at).encode(), body), hashlib.sha256)
    return Signed(id_, str(at), f"{version},{base64.b64encode(mac.digest()).decode()}")


def refused(signed: Signed, body: bytes = BODY, key: bytes = KEY, now: float = NOW) -> str:
    with pytest.raises(ProblemError) as caught:
        verify(key, signed, body, now)
    assert caught.value.status_code == 401
    assert caught.value.code == "HTTP_ERR_SIGNATURE"
    return caught.value.detail


def test_a_vector_of_the_standard() -> None:
    """The example that Standard Webhooks' own libraries are tested with."""
    written = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    settings = Settings(hook_secret=written)  # type: ignore[arg-type]
    assert settings.hook_key
    signed = Signed(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "1614265330",
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    )
    assert verify(settings.hook_key, signed, b'{"test": 2432232314}', 1614265330.5)


def test_what_is_right_passes_and_each_signature_has_its_mark() -> None:
    mark = verify(KEY, sign(), BODY, NOW)
    assert verify(KEY, sign(), BODY, NOW + 9) == mark, "the same call is known again"
    others = [sign(id_="msg_2"), sign(at=NOW + 1)]
    assert len({mark, *(verify(KEY, other, BODY, NOW) for other in others)}) == 3
    assert verify(KEY, sign(body=b"{}"), b"{}", NOW) != mark
    assert re.fullmatch(r"hook [0-9a-f]{64}", mark), "no Idempotency-Key can be that"


def test_one_of_several_signatures_is_enough() -> None:
    right, other = sign().signature, sign(b"the secret before this").signature
    for several in (
        f"{other} {right}",
        f"{right} {other}",
        f"v1a,{right[3:]} {right}",
        f"x {right}",
    ):
        mark = verify(KEY, Signed("msg_1", str(NOW), several), BODY, NOW)
        assert mark == verify(KEY, sign(), BODY, NOW), "however it is dressed, it is used once"


def test_forged() -> None:
    right = sign()
    encoded = right.signature.removeprefix("v1,")
    hexed = base64.b64decode(encoded).hex()
    for wrong in (
        "v1,", "v1", encoded, f"v2,{encoded}", f"v1a,{encoded}", f"V1,{encoded}", f"v1,{hexed}",
        f"v1,{encoded[:-1]}", f"v1,{encoded[:-4]}", f"v1,{encoded[4:]}", f"v1,{encoded}AAAA",
        f"v1,{encoded.swapcase()}", f"v1,,{encoded}", f"v1, {encoded}", "v1,====", "v1,\xff\xfe",
        "v1," + "A" * 43 + "=", " ".join([f"v1,{encoded[::-1]}"] * 40),
    ):  # fmt: skip
        assert "not one of this body" in refused(Signed("msg_1", str(NOW), wrong)), wrong
    for signed in (
        sign(b"another secret, as long"),
        sign(b""),
        sign(KEY + b"\n"),
        Signed("msg_2", right.timestamp, right.signature),
        Signed(right.id, str(NOW + 1), right.signature),
        Signed(right.id, f"0{NOW}", right.signature),
    ):
        assert "not one of this body" in refused(signed)
    for body in (BODY + b" ", BODY[:-1], b"", BODY.replace(b"abc234", b"abc235")):
        assert "not one of this body" in refused(right, body)


def test_missing_or_misshapen() -> None:
    right = sign()
    for signed in (
        Signed("", right.timestamp, right.signature),
        Signed(right.id, "", right.signature),
        Signed(right.id, right.timestamp, ""),
        Signed("", "", ""),
    ):
        assert "not signed" in refused(signed)
    for at in ("now", "-1", "1.5", "１２３", f" {NOW}", f"{NOW}\n", "9" * 40, "0x10", "1e9"):
        assert "webhook-timestamp" in refused(sign(at=at)), at
    for id_ in ("a.b", "a b", "a\n", "é", "x" * 256, "msg_1\x00"):
        assert "webhook-id" in refused(sign(id_=id_)), id_


def test_no_part_slips_into_another() -> None:
    """`a` at 1 with `2.{…}`, and `a.1` at 2 with `{…}`, have the same bytes under the signature."""
    whole = sign(id_="a", at=NOW, body=b"%d.{}" % NOW)
    assert "webhook-id" in refused(Signed(f"a.{NOW}", str(NOW), whole.signature), b"{}")


def test_late_and_early() -> None:
    for away in (-TOLERANCE_SECONDS, 0, TOLERANCE_SECONDS):
        assert verify(KEY, sign(at=NOW + away), BODY, NOW)
    assert "301 s behind" in refused(sign(at=NOW - TOLERANCE_SECONDS - 1))
    assert "301 s ahead" in refused(sign(at=NOW + TOLERANCE_SECONDS + 1))
    assert "behind" in refused(sign(), now=NOW + TOLERANCE_SECONDS + 0.1)
    assert "behind" in refused(sign(at=0))
    assert "ahead" in refused(sign(at="9" * 12))


def test_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for good, key in (
        ("sixteen letters!", b"sixteen letters!"),
        ("whsec_" + base64.b64encode(b"k" * 24).decode(), b"k" * 24),
        ("whsec-" + "x" * 16, b"whsec-" + b"x" * 16),
    ):
        settings = Settings(hook_secret=good)  # type: ignore[arg-type]
        assert settings.hook_key == key
        assert good in settings.secrets()
        assert good not in repr(settings)
    assert Settings(hook_secret=None).hook_key is None
    assert Settings(hook_secret="").hook_key is None  # type: ignore[arg-type]
    for bad in (
        "hunter22",
        "x" * 15,
        "whsec_",
        "whsec_hunter22",
        "whsec_hunter22!not-base64-at-all",
    ):
        monkeypatch.setenv("MOOT_HOOK_SECRET", bad)
        with pytest.raises(InputError, match="MOOT_HOOK_SECRET: ") as caught:
            load_settings()
        assert "Base64" in caught.value.message
        assert "hunter" not in caught.value.message
