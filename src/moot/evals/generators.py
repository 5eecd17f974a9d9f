"""Generators: questions made from a seed, and the verifiers that mark the answers to them.

They are code of a package on PyPI, and run in a process of their own (`generator_process`). What
they made is written down once, so that an eval asks the same questions when it goes on.
"""

import hashlib
import os
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, Field

from moot.errors import InputError, StorageError
from moot.evals import datasets
from moot.evals.datasets import Dataset, Item, Made
from moot.evals.generator_process import GeneratorProcess, LostError
from moot.evals.public_sets import Archive, Say, fetched
from moot.models.local.download import SourceError
from moot.models.local.places import PYPI

PREFIX = "gym:"
USUAL = 100  # questions, if nobody says how many
MOST = 1000  # that are made from one seed
FULL = 1.0  # what a verifier gives for an answer that is right
_QUESTION, _ANSWER = 3500, 200  # characters
_FIRST_SEED = 1


class Package(Archive):
    """The package that the generators are in."""

    version: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Generator(BaseModel):
    """A kind of question."""

    name: str = Field(pattern=r"^[a-z0-9_]{1,40}$")  # it becomes part of a file's name
    module: str
    title: str

    @property
    def dataset(self) -> str:
        """The name by which an eval is given it."""
        return PREFIX + self.name


class _Catalogue(BaseModel):
    package: Package
    generator: tuple[Generator, ...]


@cache
def catalogue() -> _Catalogue:
    text = files("moot.evals").joinpath("generators.toml").read_text("utf-8")
    return _Catalogue.model_validate(tomllib.loads(text))


def names(given: str) -> bool:
    """Whether a dataset's name is that of a generator."""
    return given.startswith(PREFIX)


class Gym:
    """The generators, run from the package's wheel in `folder`, and what they made."""

    def __init__(self, folder: Path, index: str = PYPI, say: Say = lambda _: None) -> None:
        self.folder = folder
        self.index = index
        self._say = say
        self._processes: dict[tuple[str, int], GeneratorProcess] = {}

    def load(self, given: str, count: int | None) -> Dataset:
        """The first questions of `gym:NAME` or `gym:NAME,seed=N`."""
        generator, seed = _parsed(given)
        wanted = USUAL if count is None else count
        if wanted > MOST:
            raise InputError(f"--items: a seed gives at most {MOST:,}; take another.", "items")
        path = self.folder / f"gym-{generator.name}-{seed}.jsonl"
        made = datasets.load(path).items if path.exists() else ()
        if len(made) < wanted:
            self.check(made)
            made = (*made, *self._more(generator, seed, made, wanted - len(made)))
            _write(path, made)
        name = PREFIX + generator.name + ("" if seed == _FIRST_SEED else f",seed={seed}")
        return Dataset(name, made[:wanted])

    def check(self, items: Iterable[Item]) -> None:
        """Refuse, before anything is paid, questions whose answers could not be marked here."""
        for item in items:
            if item.made is None:
                continue
            found = self._made(item.made)
            if not found or (found.question, found.answer) != (item.question, item.answer):
                raise InputError(
                    f"{item.id}: {catalogue().package.package} makes another question here than "
                    "the dataset has, so its answers cannot be marked.",
                    "dataset",
                )

    def is_right(self, item: Item, answer: str) -> bool:
        """Whether the question's own verifier gives full marks. An answer on which it fails, or
        takes too long, is wrong."""
        if item.made is None:
            raise ValueError(f"{item.id} was not made by a generator")
        try:
            score = self._process(item.made).ask(item.made.index, answer.strip())
        except LostError:
            return False
        return score is not None and score >= FULL

    def close(self) -> None:
        for process in self._processes.values():
            process.close()

    def _more(
        self, generator: Generator, seed: int, before: tuple[Item, ...], count: int
    ) -> Iterator[Item]:
        """The next questions, without those that are there, or that no debate could ask."""
        known = {item.question for item in before}
        version = catalogue().package.version
        self._say(f"{generator.name}: making {count:,} questions.")
        last = before[-1].made if before else None
        for index in range(last.index + 1 if last else 0, MOST):
            if len(known) == len(before) + count:
                return
            made = Made(generator=generator.name, version=version, seed=seed, index=index)
            item = self._made(made)
            if item and item.question not in known:
                known.add(item.question)
                yield item
        if len(known) < len(before) + count:
            self._say(f"{generator.name} has only {len(known):,} questions with seed {seed}.")

    def _made(self, made: Made) -> Item | None:
        try:
            return _item(made, self._process(made).ask(made.index))
        except LostError:
            return None

    def _process(self, made: Made) -> GeneratorProcess:
        generator, package = _known(made.generator), catalogue().package
        if made.version != package.version:
            raise InputError(
                f"These questions were made by {package.package} {made.version}; this moot has the "
                f"verifiers of {package.version}. Take another seed.",
                "dataset",
            )
        where = made.generator, made.seed
        if where not in self._processes:
            self._processes[where] = GeneratorProcess(
                self._wheel(), generator.module, made.seed, MOST
            )
        return self._processes[where]

    def _wheel(self) -> Path:
        package = catalogue().package
        path = self.folder / package.file
        if not _is(path, package):
            instead = "Once it is there, no network is needed."
            with fetched(
                package, package.package, self.folder, self.index, self._say, instead
            ) as part:
                if not _is(part, package):
                    raise SourceError(f"{package.file} is not the file that moot knows.")
                part.replace(path)
        return path


def _parsed(given: str) -> tuple[Generator, int]:
    name, _, rest = given.removeprefix(PREFIX).partition(",")
    seed = rest.removeprefix("seed=")
    if rest and not (rest.startswith("seed=") and seed.isascii() and seed.isdigit()):
        raise InputError(f"{given}: write {PREFIX}NAME or {PREFIX}NAME,seed=N.", "dataset")
    if len(seed) > 9:
        raise InputError(f"{given}: a seed has at most nine digits.", "dataset")
    return _known(name), int(seed or _FIRST_SEED)


def _known(name: str) -> Generator:
    found = next((one for one in catalogue().generator if one.name == name), None)
    if found is None:
        said = f"There is no generator {name!r}; `moot eval list` shows them."
        raise InputError(said, "dataset")
    return found


def _item(made: Made, told: object) -> Item | None:
    """A question whose answer is one short line, for that is what a debate answers."""
    match told:
        case [str(question), str(answer)]:
            question = question.strip()
            if not question or len(question) > _QUESTION:
                return None
            if not answer.strip() or len(answer) > _ANSWER or len(answer.splitlines()) > 1:
                return None
            id_ = f"{made.generator}-{made.seed}-{made.index}"
            return Item(id=id_, question=question, answer=answer, made=made)
        case _:
            return None


def _is(path: Path, package: Package) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == package.sha256
    except OSError:
        return False


def _write(path: Path, items: tuple[Item, ...]) -> None:
    """All of them, or what was there before."""
    text = "".join(item.model_dump_json(exclude_defaults=True) + "\n" for item in items)
    part = path.with_name(f"{path.name}-{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, "utf-8")
        part.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.") from None
