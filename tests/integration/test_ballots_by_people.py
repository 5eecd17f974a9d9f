"""People as jurors and judges, and wherever an answer has fields: they fill a form."""

from typing import Any

import pytest

from moot.core.form import Asked, FormField
from moot.engine.service import Service
from moot.errors import InputError, StateError
from moot.ports.debate_store import Once
from moot.settings import Settings
from moot.store.reindex import examine
from tests.integration.juries import jury_speaker
from tests.virtual import engine, go

CAST = [{"name": "Ada", "stance": "pro"}, {"name": "Ben", "stance": "con"}]


def fill(fields: tuple[FormField, ...], cited: int, **given: Any) -> dict[str, Any]:
    """A form, filled as its fields say."""
    return {one.name: given.get(one.name, _value(one, cited, given)) for one in fields}


def _value(field: FormField, cited: int, given: dict[str, Any]) -> Any:
    made: Any = {
        "line": "So it is",
        "text": "It holds, because it was shown.",
        "share": 0.8,
        "date": "2030-01-31",
        "turns": [cited],
        "quotes": [],
    }.get(field.type)
    if field.type == "choice":
        made = next((one for one in field.choices if one != "undecided"), "Ship it")
    if field.type == "table":
        made = fill(field.fields, cited, **given)
    return [made] if field.list and field.type not in ("turns", "quotes") else made


async def voted_out(service: Service, debate_id: str, seen: list[Asked]) -> Any:
    """Fill forms until the debate is over; the choice is the first by its name, in every order."""
    while (debate := await service.wait(debate_id)).waiting_for:
        asked = await service.asked(debate_id)
        assert asked is not None
        assert asked.seat == debate.waiting_for
        assert asked.fields
        seen.append(asked)
        turns = await service.turns(debate_id)
        cited = next((one.number for one in turns if one.kind == "speech"), 1)
        options = next((one.choices for one in asked.fields if one.name == "choice"), ())
        given: dict[str, Any] = {"choice": min(options)} if options else {}
        target = next((one.choices[0] for table in asked.fields for one in table.fields
                       if one.name == "targetRole" and one.choices), None)  # fmt: skip
        if target:  # a challenge copies what it is aimed at
            theirs = next(one for one in turns if one.name == target)
            given["claim"] = (theirs.data or {})["claim"]
        answer = fill(asked.fields, cited, **given)
        with pytest.raises(InputError, match="fields"):
            await service.say(debate_id, "In plain words.", seat=asked.seat)
        await service.say(debate_id, answer=answer, seat=asked.seat)
    return debate


def test_a_person_is_a_juror_among_models(settings: Settings) -> None:
    """It reads blind, votes as often as the others do, and its vote counts as theirs do."""

    async def work() -> None:
        async with engine(settings, jury_speaker()) as service:
            made = await service.create(
                "Ship it?", format="duel", participants=CAST, limits={"max_turns": 2},
                jury={"size": 3, "models": ["human"]},
            )  # fmt: skip
            seen: list[Asked] = []
            ended = await voted_out(service, made.id, seen)
            assert (ended.status, ended.degraded) == ("completed", False)
            assert [one.reading for one in seen] == ["alone", "spoken", "swapped"]
            orders = [one.choices for asked in seen[1:] for one in asked.fields or ()
                      if one.name == "choice"]  # fmt: skip
            assert orders[0] != orders[1]
            assert set(orders[0]) == set(orders[1])
            assert seen[0].read == ""
            for asked in seen[1:]:
                assert asked.read
                assert "Speaker A" in asked.read
                assert not any(name in asked.read for name in ("Ada", "Ben"))
            verdict = await service.verdict(made.id)
            juror = verdict["jury"]["jurors"][0]
            assert (juror["model"], juror["flipped"], verdict["jury"]["asked"]) == (
                "human", False, 3
            )  # fmt: skip
            assert juror["choice"] == juror["swapped"] == "Against the motion"
            assert verdict["jury"]["valid"] == 3
            people = [one for one in await service.turns(made.id) if one.model == "human"]
            assert {one.kind for one in people} == {"verdict"}
        assert examine(settings.home, settings.database, made.id).issues == ()

    go(work())


@pytest.mark.parametrize("role", ["Judge", "Critic"])
def test_a_person_takes_a_role_of_a_council(settings: Settings, role: str) -> None:
    async def work() -> None:
        async with engine(settings, jury_speaker()) as service:
            seats = [{"role": role, "model_provider": "human"}]
            asked = {"problem": "Ship it?", "output_type": "decision", "participants": seats}
            made = await service.council(asked)
            seen: list[Asked] = []
            ended = await voted_out(service, made.id, seen)
            assert ended.status == "completed", ended.failure
            assert len(seen) == (4 if role == "Judge" else 3)
            packet = await service.packet(made.id)
            theirs = next(one for one in packet["participants"] if one["role"] == role)
            assert theirs["modelProvider"] == "human"
        assert examine(settings.home, settings.database, made.id).issues == ()

    go(work())


def test_what_is_wrong_with_a_ballot_is_said_and_nothing_is_kept(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, jury_speaker()) as service:
            made = await service.create(
                "Ship it?", format="duel", participants=CAST, limits={"max_turns": 2},
                jury={"size": 1, "models": ["human"], "baseline": False, "swap": False},
            )  # fmt: skip
            waiting = await service.wait(made.id)
            asked = await service.asked(made.id)
            assert asked
            assert asked.fields
            good = fill(asked.fields, 1)
            seat: Any = {"seat": asked.seat}
            for wrong in (
                {}, {**good, "confidence": "much"}, {**good, "choice": "Neither"},
                {**good, "choice": "undecided", "questions": []},
            ):  # fmt: skip
                with pytest.raises(InputError) as error:
                    await service.say(made.id, answer=wrong, **seat)
                assert error.value.field == "answer"
            with pytest.raises(InputError):
                await service.say(made.id, "Both.", answer=good, **seat)
            with pytest.raises(InputError):
                await service.asked(made.id, seat="ada")
            assert await service.get(made.id) == waiting
            noted = await service.say(made.id, "While the jury is out.")  # words alone are a note
            assert noted.waiting_for == asked.seat
            assert (await service.turns(made.id))[-1].kind == "note"
            once = Once("mine", "digest")
            await service.say(made.id, answer=good, once=once)
            await service.say(made.id, answer=good, once=once)  # its reply was lost
            with pytest.raises(StateError):
                await service.say(made.id, answer=good, **seat)
            assert (await service.wait(made.id)).status == "completed"
            assert await service.asked(made.id) is None
        assert examine(settings.home, settings.database, made.id).issues == ()

    go(work())


def test_a_speaker_is_told_what_it_is_asked(settings: Settings) -> None:
    async def work() -> None:
        async with engine(settings, jury_speaker()) as service:
            seats = [{"name": "Me", "model": "human"}, {"name": "Ben"}]
            made = await service.create("m", format="duel", participants=seats)
            await service.wait(made.id)
            asked = await service.asked(made.id, seat="me")
            assert asked
            assert (asked.name, asked.fields, asked.read) == ("Me", None, None)
            assert asked.ask
            with pytest.raises(InputError, match="plain words"):
                await service.say(made.id, answer={"x": 1}, seat="me")

    go(work())
