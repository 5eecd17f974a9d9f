"""What `moot gate` does, for a Python program: a jury answers yes or no."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from moot.bridge import wait_for
from moot.core.debate import Debate
from moot.core.seating import as_source, with_model
from moot.engine.service import Service
from moot.outcome import gate
from moot.outcome.gate import Answer, Policy, Ruling
from moot.ports.model_call import Speaker
from moot.python import Document, Finished, Stream
from moot.settings import Settings


@dataclass(frozen=True, slots=True, repr=False)
class Judged(Finished):
    """A debate about a question, and how its jury answered."""

    ruling: Ruling

    @property
    def answer(self) -> Answer:
        """`yes`, `no` or `undecided`."""
        return self.ruling.answer

    @property
    def why(self) -> str:
        """In a sentence."""
        return self.ruling.why

    def __repr__(self) -> str:
        return f"<moot judge {self.debate.id}: {self.answer}. {self.why}>"

    def _repr_html_(self) -> str:
        answer = f"<h4>{self.answer.capitalize()}</h4><p>{escape(self.why)}</p>"
        return f"<div>{answer}{Finished._repr_html_(self)}</div>"


async def ajudge(
    question: str,
    *,
    jury: int | None = None,
    jurors: Sequence[str] = (),
    passes: Sequence[str] = (),
    format: str = gate.FORMAT,  # noqa: A002  the word of the contract
    model: str | None = None,
    max_cost_usd: float | None = None,
    max_total_tokens: int | None = None,
    sources: Sequence[Document] = (),
    allow_secrets: bool = False,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> Judged:
    """`moot.judge` for async code."""
    given = {
        "question": question, "jury": jury, "jurors": jurors, "passes": passes, "format": format,
        "max_cost_usd": max_cost_usd, "max_total_tokens": max_total_tokens,
    }  # fmt: skip
    wanted = gate.policy(given)
    read: dict[str, Any] = {
        "sources": [as_source(one) for one in sources],
        "allow_secrets": allow_secrets,
    }

    async def begin(service: Service) -> Debate:
        rules = gate.format_of(wanted, await service.formats())
        asked: dict[str, Any] = {**wanted.asked(), **read}
        asked = with_model(asked, rules, model) if rules and model else asked
        return await service.create(wanted.question, **asked)

    held = await Stream(begin, settings, speaker).to_the_end()
    return _judged(held, wanted)


def judge(
    question: str,
    *,
    jury: int | None = None,
    jurors: Sequence[str] = (),
    passes: Sequence[str] = (),
    format: str = gate.FORMAT,  # noqa: A002  the word of the contract
    model: str | None = None,
    max_cost_usd: float | None = None,
    max_total_tokens: int | None = None,
    sources: Sequence[Document] = (),
    allow_secrets: bool = False,
    settings: Settings | None = None,
    speaker: Speaker | None = None,
) -> Judged:
    """Have a jury answer a question with yes or no, as `moot gate` does.

        judged = moot.judge("Is this note free of promises?", sources=["note.md"])
        print(judged.answer, judged.why)

    One side argues for yes, one for no, and the jury decides: `answer` is yes, no or undecided.
    `jury` is the number of jurors, by default 3, and `jurors` are their models; `model` is for
    every seat that names none. With `passes=["decided", "contested"]` a bare majority is enough.
    `sources` are files, folders and addresses, or dicts with a `title` and a `text`. It works in a
    script and in a notebook; `await moot.ajudge(…)` is for async code.
    """
    return wait_for(
        ajudge(
            question, jury=jury, jurors=jurors, passes=passes, format=format, model=model,
            max_cost_usd=max_cost_usd, max_total_tokens=max_total_tokens, sources=sources,
            allow_secrets=allow_secrets, settings=settings, speaker=speaker,
        )
    )  # fmt: skip


def _judged(held: Finished, wanted: Policy) -> Judged:
    said = gate.ruling(held.debate, held.turns, wanted)
    return Judged(held.debate, held.turns, held.folder, said)
