"""The shapes of structured answers: what `[answers.NAME]` says, how an answer is checked against
it, and how it reads. The built-in shapes are written the same way, in `core.built_in`."""

import json
import re
import string
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic import Field as Setting

from moot.core.wording import shortened, unreadable
from moot.core.writing import whole_words

LINE, TEXT, CITED, QUOTED = 240, 1500, 20, 6
Type = Literal["line", "text", "share", "date", "choice", "turns", "quotes", "table"]
Of = Literal["target", "challengers", "options"]
UNDECIDED = "undecided"
OTHER = "other"
"""A choice that is none of the options: its own words stand in another field."""
_MARKS = "\"'“”„‘’«» "
_ENDS = _MARKS + ".…"
_CITATION = re.compile(r"\s*\[\s*turn:?[^\]]{0,80}\]")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


FieldName = Annotated[str, Setting(pattern=r"^[a-z][A-Za-z0-9]{0,39}$")]
Words = Annotated[str, Setting(min_length=1, max_length=4000)]


def unset(value: object) -> bool:
    """What a file does not say is not written down, either: older debates know nothing of it."""
    return value is None or value is False or value in ((), {})


def _setting(default: Any = None, **more: Any) -> Any:
    """One that is not written down where it is not set."""
    return Setting(default=default, exclude_if=unset, **more)


class Field(_Part):
    """One field of an answer."""

    type: Type = "table"  # of the field or, with `list`, of each item
    help: Words | None = _setting()  # told to the model
    list: bool = _setting(default=False)
    min: int | None = _setting(ge=0, le=50)  # items of a list
    max: int | None = _setting(ge=1, le=50)
    length: int | None = _setting(ge=1, le=8000)  # characters of a line or a text
    optional: bool = _setting(default=False)  # it may be null; turns need not be cited
    choices: tuple[str, ...] = _setting((), strict=False, max_length=50)
    of: Of | None = _setting()  # what a choice is made from, where the debate knows it, beside them
    needs: Mapping[str, FieldName] = _setting({})  # the field that must be filled, by the choice
    rests_on: Literal["target"] | None = _setting()  # whose words it must be made of
    fields: Mapping[FieldName, "Field"] = _setting({})

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.type == "table") != bool(self.fields):
            raise ValueError("a table has fields, and nothing else has")
        if (self.type == "choice") != (bool(self.choices) or self.of is not None):
            raise ValueError('a choice needs choices = [...] or of = "target", and only a choice')
        if len(set(self.choices)) != len(self.choices) or not all(self.choices):
            raise ValueError("choices: each is written once, and none is empty")
        if not self.list and (self.min is not None or self.max is not None):
            raise ValueError("min and max count the items of a list: set list = true")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min is {self.min}, which is more than max, {self.max}")
        if self.needs and (self.type != "choice" or self.list):
            raise ValueError("needs is for a single choice: which field one of the choices needs")
        if self.optional and (self.list or self.type == "quotes"):
            raise ValueError("optional: a list may be empty anyway, unless min asks for items")
        if self.rests_on is not None and self.type not in ("line", "text"):
            raise ValueError("rests_on is for a line or a text")
        if self.length is not None and self.type not in ("line", "text"):
            raise ValueError("length is for a line or a text")
        if self.list and self.type in ("turns", "quotes"):
            raise ValueError(f"{self.type} is a list by itself")
        return self

    @property
    def required(self) -> bool:
        """Whether an answer must have it: a list may be left out unless `min` asks for items."""
        if self.type in ("turns", "quotes"):
            return False
        return bool(self.min) if self.list else not self.optional


_ITEM = {"item": Field(type="line")}  # what the template of a plain list may mention


class Answer(_Part):
    """The shape of an answer."""

    help: Words | None = _setting()
    fields: Mapping[FieldName, Field] = Setting(min_length=1, max_length=20)
    reads: Words | None = _setting()  # how the answer is spoken; see `spoken`
    otherwise: Words | None = _setting()  # what is spoken where that leaves nothing

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if _depth(self.fields) > 3:
            raise ValueError("fields: a table may hold tables, and these no more of them")
        for fields in (self.fields, *(field.fields for field in walk(self.fields))):
            for key, field in fields.items():
                if unknown := [name for name in field.needs.values() if name not in fields]:
                    raise ValueError(
                        f"fields.{key}.needs: there is no field {unknown[0]} beside it"
                    )
        _check_template(self.reads or "", self.fields)
        return self

    def has(self, name: str, *types: Type) -> bool:
        """Whether it has such a field, by itself and not in a list."""
        field = self.fields.get(name)
        return field is not None and not field.list and field.type in types

    def options_from(self) -> Iterator[Field]:
        """The fields that choose among the options that were stated."""
        return (field for field in walk(self.fields) if field.of == "options")

    @property
    def needs_options(self) -> bool:
        """Whether nobody could answer unless options were stated before."""
        return _needs_options(self.fields)

    @property
    def stand(self) -> str | None:
        """The field that says which option its speaker stands for."""
        if self.has("position", "line"):
            return "position"
        return "choice" if self.has("choice", "choice") else None

    @property
    def offers(self) -> tuple[str, ...]:
        """The options that it names itself, where a speaker chooses among these alone."""
        field = self.fields["choice"] if self.stand == "choice" else None
        if field is None or field.of is not None:
            return ()
        return tuple(one for one in field.choices if one not in (UNDECIDED, OTHER))

    @property
    def aims(self) -> bool:
        """Whether it is aimed at somebody, who must be known."""
        return any(field.of == "target" for field in walk(self.fields))


def walk(fields: Mapping[str, Field]) -> Iterator[Field]:
    for field in fields.values():
        yield field
        yield from walk(field.fields)


def _needs_options(fields: Mapping[str, Field]) -> bool:
    needed = [field for field in fields.values() if field.required]
    return any(
        _needs_options(field.fields)
        if field.fields
        else field.of == "options" and OTHER not in field.choices
        for field in needed
    )


def _depth(fields: Mapping[str, Field]) -> int:
    return 1 + max((_depth(field.fields) for field in fields.values() if field.fields), default=0)


# --- how an answer is checked ---


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


def _at_most(length: int) -> BeforeValidator:
    """Models overrun: a text or a list that is too long is cut, not refused."""

    def cut(value: object) -> object:
        if isinstance(value, str):
            return shortened(value, length)
        if isinstance(value, list | tuple):
            return value[:length]  # pyright: ignore[reportUnknownVariableType]
        return value

    return BeforeValidator(cut)


def _begun(length: int) -> BeforeValidator:
    """A quote that is too long is its beginning: an ellipsis would be no part of it."""
    return BeforeValidator(
        lambda value: (
            whole_words(value[:length]) if isinstance(value, str) and len(value) > length else value
        )
    )


def _share(value: object) -> object:
    """Models write confidence as 0.8, 80 or "80%"."""
    text = str(value).strip()
    percent = text.endswith("%")
    try:
        number = float(text.rstrip("% "))
    except ValueError:
        return value
    return number / 100 if percent or 1 < number <= 100 else number


def same(choice: str) -> str:
    """What choices have in common that nobody could tell apart: case, blanks and the way in which
    letters are encoded do not matter."""
    return " ".join(unicodedata.normalize("NFC", choice).casefold().split())


def _chosen(choices: Sequence[str]) -> BeforeValidator:
    """Models change the case of what they choose."""
    known = {same(choice): choice for choice in choices}
    return BeforeValidator(
        lambda value: known.get(same(value), value) if isinstance(value, str) else value
    )


def _type(name: str, field: Field) -> Any:
    match field.type:
        case "line" | "text":
            most = field.length or (LINE if field.type == "line" else TEXT)
            kind = Annotated[str, Setting(min_length=1, max_length=most), _at_most(most)]
        case "share":
            kind = Annotated[float, Setting(ge=0, le=1), BeforeValidator(_share)]
        case "date":
            kind = date
        case "choice" if field.choices and not field.of:
            kind = Annotated[Literal[field.choices], _chosen(field.choices)]
        case "choice":  # it is cut once it was compared with what is known: see `_cut`
            kind = Annotated[str, Setting(min_length=1, json_schema_extra={"maxLength": LINE})]
        case "turns":
            return Annotated[tuple[int, ...], Setting(max_length=CITED), _at_most(CITED)]
        case "quotes":
            line = Annotated[str, Setting(min_length=1, max_length=TEXT), _begun(TEXT)]
            return Annotated[tuple[line, ...], Setting(max_length=QUOTED), _at_most(QUOTED)]
        case "table":
            kind = _model(_titled(name, item=field.list), field.fields)
    if field.optional:
        return Annotated[kind | None, BeforeValidator(_blank)]
    if not field.list:
        return kind
    most = field.max or 10
    bounds = Setting(min_length=field.min or None, max_length=most)
    return Annotated[tuple[kind, ...], bounds, _at_most(most)]


def _blank(value: object) -> object:
    """Models leave a field out by writing nothing into it."""
    return None if isinstance(value, str) and not value.strip() else value


def _titled(name: str, *, item: bool) -> str:
    name = name[0].upper() + name[1:]
    return name.removesuffix("s") if item else name


def _model(name: str, fields: Mapping[str, Field]) -> type[BaseModel]:
    made: dict[str, Any] = {
        key: (
            _type(key, field),
            Setting(default=_default(field), description=field.help),
        )
        for key, field in fields.items()
    }
    return create_model(name, __base__=_Read, **made)


def _default(field: Field) -> Any:
    if field.required:
        return ...
    return () if field.list or field.type in ("turns", "quotes") else None


@lru_cache(maxsize=256)
def _compiled(name: str, answer: str) -> tuple[type[BaseModel], str]:
    """The model that checks an answer, and its JSON Schema."""
    shape = Answer.model_validate_json(answer, strict=False)
    model = _model(_titled(name, item=False), shape.fields)
    model.__doc__ = shape.help
    return model, json.dumps(model.model_json_schema())


def _of(name: str, answer: Answer) -> tuple[type[BaseModel], str]:
    return _compiled(name, answer.model_dump_json())


def schema(name: str, answer: Answer, known: Mapping[Of, Sequence[str]]) -> dict[str, Any]:
    """The JSON Schema that a model is held to. A choice can only be one of those that are
    `known`: the target of a challenge, who challenged, the options."""
    made = json.loads(_of(name, answer)[1])
    defs = made.get("$defs", {})

    def narrow(fields: Mapping[str, Field], table: dict[str, Any]) -> None:
        for key, field in fields.items():
            told = table["properties"][key]
            names = choices(key, field, known, answer)
            if names and field.list:
                told["items"] = {"type": "string", "enum": names}
            elif names and field.optional:
                told["anyOf"][0] = {"type": "string", "enum": names}
            elif names:
                help_ = {"description": field.help} if field.help else {}
                table["properties"][key] = {"type": "string", "enum": names, **help_}
            if field.fields:
                if field.list and (asked := _challengers(field, known)) is not None:
                    # one for each who challenged; none if nobody did
                    told["minItems"] = max(len(asked), field.min or 0)
                    told["maxItems"] = (field.max or 10) if asked else 0
                inner = told["anyOf"][0] if field.optional else told.get("items", told)
                narrow(field.fields, defs[str(inner["$ref"]).rpartition("/")[2]])

    narrow(answer.fields, made)
    return made


def choices(key: str, field: Field, known: Mapping[Of, Sequence[str]], answer: Answer) -> list[str]:
    """What a choice can be, as far as it follows from the debate; nothing if anything goes."""
    if field.of is None or field.of not in known:
        return []
    made = list(known[field.of])
    if not made and OTHER not in field.choices:
        return []  # nobody is known of whom it could be one
    more = field.choices
    if field.of == "options" and key == answer.stand and UNDECIDED not in more:
        more = (*more, UNDECIDED)
    taken = {name.casefold() for name in made}
    return [*made, *(name for name in more if name.casefold() not in taken)]


def names(answer: Answer) -> str:
    """The names of an answer's fields, for a model that is shown no schema."""
    return ", ".join(answer.fields)


def outline(fields: Mapping[str, Field]) -> str:
    """The fields in their order, with those of tables in braces and lists in brackets."""
    said: list[str] = []
    for name, field in fields.items():
        inner = f"{{{outline(field.fields)}}}" if field.fields else ""
        items = field.list or field.type in ("turns", "quotes")
        said.append(f"{name} [{inner or '…'}]" if items else f"{name} {inner}".rstrip())
    return ", ".join(said)


def read(
    name: str, answer: Answer, data: Mapping[str, Any], known: Mapping[Of, Sequence[str]]
) -> dict[str, Any]:
    """The answer in its canonical form. ValueError says what is wrong, in words for the model."""
    try:
        checked = _of(name, answer)[0].model_validate(_named(data, answer.fields))
    except ValidationError as error:
        raise ValueError(_first(error)) from None
    made = checked.model_dump(mode="json")
    _aim(made, answer.fields, known, answer)
    _cut(made, answer.fields, known)
    _check_needs(made, answer.fields)
    return made


def _cut(
    data: dict[str, Any], fields: Mapping[str, Field], known: Mapping[Of, Sequence[str]]
) -> None:
    """A choice that is none of those that are known is a line like any other: not too long."""
    for key, field in fields.items():
        if data[key] is None:
            continue
        if field.fields:
            for one in data[key] if field.list else [data[key]]:
                _cut(one, field.fields, known)
        elif field.of:
            whole = (*known.get(field.of, ()), *field.choices)
            items = data[key] if isinstance(data[key], list) else [data[key]]
            made = [one if one in whole else shortened(one, LINE) for one in items]
            data[key] = made if isinstance(data[key], list) else made[0]


def _check_needs(data: dict[str, Any], fields: Mapping[str, Field]) -> None:
    """What a choice needs is filled in; what only another choice needs is left out."""
    for key, field in fields.items():
        if field.fields and data[key] is not None:
            for one in data[key] if field.list else [data[key]]:
                _check_needs(one, field.fields)
        for choice, name in field.needs.items():
            if data[key] == choice and not data[name]:
                raise ValueError(f"{name}: fill it in, because {key} is {choice}")
            if data[key] != choice and fields[name].optional:
                data[name] = None


def _named(value: Any, fields: Mapping[str, Field]) -> Any:
    """By the names of the fields, however a model spells them: why_selected is whySelected."""
    if not isinstance(value, Mapping):
        return value
    spelled = {key.casefold(): key for key in fields}
    made: dict[str, Any] = {}
    for key, part in cast("Mapping[Any, Any]", value).items():
        known = spelled.get(str(key).replace("_", "").casefold())
        if known is None or known in made:
            continue
        inner = fields[known].fields
        if inner and isinstance(part, list | tuple):
            made[known] = [_named(item, inner) for item in cast("Sequence[Any]", part)]
        else:
            made[known] = _named(part, inner) if inner else part
    return made


def _aim(
    data: dict[str, Any],
    fields: Mapping[str, Field],
    known: Mapping[Of, Sequence[str]],
    answer: Answer,
) -> None:
    """What must be aimed at somebody is, and what must be one of the options is."""
    for key, field in fields.items():
        value = data[key]
        if value is None:
            continue
        if field.of == "options" and (names := choices(key, field, known, answer)):
            data[key] = _among(key, value, names)
        aimed = next((name for name, part in field.fields.items() if part.of == "target"), None)
        target = next(iter(known.get("target", ())), None)
        if field.list and aimed and target:
            kept = [one for one in value if target.casefold() in one[aimed].casefold()]
            if not kept:
                raise ValueError(f"{key}: none of them is aimed at {target}")
            data[key] = [{**one, aimed: target} for one in kept]
        elif field.of == "target" and target:
            data[key] = target
        elif field.list and (asked := _challengers(field, known)) is not None:
            data[key] = _answered(key, value, field, asked)
        elif field.fields and not field.list:
            _aim(value, field.fields, known, answer)
        elif field.fields:
            data[key] = _stated(value, field, known, answer)


def _challengers(field: Field, known: Mapping[Of, Sequence[str]]) -> Sequence[str] | None:
    """Who must be answered in a list of answers to challengers; None if it is something else, or
    nobody knows who challenged."""
    asked = known.get("challengers")
    if asked is None or not any(part.of == "challengers" for part in field.fields.values()):
        return None
    return asked[: field.max or 10] if asked or not field.min else None


def _answered(
    key: str, items: Sequence[dict[str, Any]], field: Field, asked: Sequence[str]
) -> list[dict[str, Any]]:
    """An answer to each challenger, and to nobody else."""
    who = next(name for name, part in field.fields.items() if part.of == "challengers")
    kept: list[dict[str, Any]] = []
    for one in items:
        said = str(one[who]).casefold()
        named = [name for name in asked if name.casefold() == said]
        named = named or [name for name in asked if name.casefold() in said]
        if named:
            kept.append({**one, who: max(named, key=len)})
    found = {one[who] for one in kept}
    if missing := [name for name in asked if name not in found]:
        raise ValueError(f"{key}: answer {' and '.join(missing)} too, who challenged you")
    return kept


def _stated(
    items: Sequence[dict[str, Any]],
    field: Field,
    known: Mapping[Of, Sequence[str]],
    answer: Answer,
) -> list[dict[str, Any]]:
    """The items of a list that are about options which somebody stated; the others are dropped,
    unless they are all there is."""
    kept: list[dict[str, Any]] = []
    for one in items:
        try:
            _aim(one, field.fields, known, answer)
        except ValueError:
            if field.required:
                raise
            continue
        kept.append(one)
    return kept


def _among(key: str, value: Any, options: Sequence[str]) -> Any:
    if isinstance(value, list):
        copied = [_copied(str(one), options) for one in cast("list[Any]", value)]
        return list(dict.fromkeys(option for option in copied if option is not None))
    if (found := _copied(str(value), options)) is None:
        raise ValueError(f"{key}: it must be one of {'; '.join(options)}, word for word")
    return found


def _copied(text: str, options: Sequence[str]) -> str | None:
    """The option that a text is a copy of; None if it is of none, or could be of two.

    Models change the case, the quotation marks and the full stop of what they copy. The fewer of
    these changes a copy needs, the better: .NET is not NET where somebody stated both.
    """
    if text in options:
        return text
    for before, after in (("", ""), (_MARKS, _MARKS), (_MARKS, _ENDS), (_ENDS, _ENDS)):
        spelled = _spelled(text, before, after)
        found = [option for option in options if _spelled(option, before, after) == spelled]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _spelled(option: str, before: str, after: str) -> str:
    plain = " ".join(option.casefold().split())
    return plain.lstrip(before).rstrip(after) or option


# --- whether a claim was made ---

_FOUNDED = 0.5
"""From this share of its letters on, in runs, a claim is taken for one that somebody made."""


def check_grounds(answer: Answer, data: Mapping[str, Any], target: str, said: str) -> None:
    """Refuse words that are put into the mouth of the target: most of a claim that rests on it must
    stand in what it said. Nothing is asked if the target was not heard."""
    if said.strip():
        _grounds(answer.fields, data, target, _runs(said))


def _grounds(
    fields: Mapping[str, Field], data: Mapping[str, Any], target: str, said: Mapping[int, set[str]]
) -> None:
    for key, field in fields.items():
        value = data.get(key)
        if value is None:
            continue
        items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
        for one in items:
            if field.fields:
                _grounds(field.fields, one, target, said)
            elif field.rests_on and not _founded(str(one), said):
                raise ValueError(
                    f"{key}: {target} did not say “{str(one)[:200]}”. Copy the claim from what "
                    f"{target} said, word for word"
                )


def check_language(answer: Answer, data: Mapping[str, Any], known: tuple[str, ...] = ()) -> None:
    """Refuse a field whose words are none. `known` are texts that were heard; what may be longer
    than any text, because it was asked for as it is, may be code as well."""
    _language(answer.fields, data, known)


def _language(fields: Mapping[str, Field], data: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key, field in fields.items():
        value = data.get(key)
        items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
        for one in items:
            if field.fields and one is not None:
                _language(field.fields, one, known)
            elif (
                field.type in ("line", "text")
                and one
                and (field.length or 0) <= TEXT
                and (wrong := unreadable(str(one), known))
            ):
                raise ValueError(f"{key}: {wrong}")


def _founded(claim: str, said: Mapping[int, set[str]]) -> bool:
    letters = _letters(claim)
    # where words stand without spaces, two signs say as much as four letters
    size = 2 if len(letters) > 12 * len(letters.split()) else 4
    if len(letters) < size:
        return True  # too short to tell
    runs = [letters[n : n + size] for n in range(len(letters) - size + 1)]
    return sum(run in said[size] for run in runs) >= _FOUNDED * len(runs)


def _runs(text: str) -> dict[int, set[str]]:
    letters = _letters(text)
    return {
        size: {letters[n : n + size] for n in range(len(letters) - size + 1)} for size in (2, 4)
    }


def _letters(text: str) -> str:
    """What is left of a text once case, signs and forms of letters do not matter."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = "".join(sign if sign.isalnum() else " " for sign in plain).split()
    return " ".join(words)


def _first(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False)
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'answer'}: {problem['msg']}"
        for problem in problems[:4]
    )


def tables(data: Mapping[str, Any] | None, name: str) -> list[Mapping[str, Any]]:
    """The tables that a field lists; none if it holds something else. A format's own answers may
    have fields that are called like those of the built-in ones."""
    value = (data or {}).get(name)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def lines(data: Mapping[str, Any] | None, name: str) -> list[str]:
    """The texts that a field lists; none if it holds something else."""
    value = (data or {}).get(name)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def numbers(data: Mapping[str, Any] | None, name: str) -> list[int]:
    """The numbers that a field lists, such as those of turns; none if it holds something else."""
    value = (data or {}).get(name)
    listed = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    return [one for one in listed if isinstance(one, int) and not isinstance(one, bool)]


def find(text: str) -> dict[str, Any]:
    """The JSON object in a reply that may wrap it in prose or a fence: the longest, if there are
    several. ValueError if there is none."""
    decoder = json.JSONDecoder()
    best: dict[str, Any] | None = None
    place, tries, longest = text.find("{"), 0, 0
    while place >= 0 and tries < 50:
        tries += 1
        try:
            found, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            if text[place + 1 : place + 50].lstrip()[:1] == '"':
                break  # an object that is broken or cut: what stands inside it is not the answer
            place = text.find("{", place + 1)
            continue
        if isinstance(found, dict) and end - place > longest:
            best, longest = found, end - place  # pyright: ignore[reportUnknownVariableType]
        place = text.find("{", end)
    if best is None:
        raise ValueError("the answer holds no complete JSON object")
    return best  # pyright: ignore[reportUnknownVariableType]


# --- how an answer reads ---


def spoken(answer: Answer, data: Mapping[str, Any], *, sure: bool = True) -> str:
    """An answer as it reads in a transcript, and as the others are told of it; unless `sure`, it
    does not say how sure its speaker is.

    `reads` is a text with `{field}` for what a field holds. `{field:template}` says the template
    once for each item of a list, or for a table, with the item's own fields in braces, or
    `{item}` where it has none. A paragraph in which every field is empty is left out, and so is
    such a line of an item's template.
    """
    template = answer.reads or "\n\n".join(_plain(key, part) for key, part in answer.fields.items())
    if not sure:
        for name in (key for key, field in answer.fields.items() if field.type == "share"):
            template = re.sub(rf"\s*\([^()]*\{{{name}\}}[^()]*\)", "", template)
            template = re.sub(rf"[^\n]*\{{{name}\}}[^\n]*", "", template)
    said = [_filled(part, answer.fields, data) for part in re.split(r"\n\s*\n", template.strip())]
    return "\n\n".join(text for text in said if text) or answer.otherwise or "Nothing was said."


def _plain(key: str, field: Field) -> str:
    """How a field is spoken where nobody says how."""
    return f"{{{key}:{_all(field)}}}" if field.fields else f"{_label(key)}: {{{key}}}"


def _label(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key).capitalize()


def _filled(template: str, fields: Mapping[str, Field], data: Mapping[str, Any]) -> str:
    said, named, empty = "", 0, 0
    for literal, name, spec, _ in string.Formatter().parse(template):
        said += literal
        if name is None:
            continue
        field, value = fields[name], data.get(name)
        if isinstance(value, str) and (own := fields.get(field.needs.get(value, ""))):
            value = value if own.list else data.get(field.needs[value]) or value
        words = _value(field, value, spec or "", cited_by=_bare(fields))
        named += 1
        empty += not words
        said += words
    return "" if named and named == empty else said


def _bare(fields: Mapping[str, Field]) -> bool:
    """Whether what is said is cited properly: what a model writes in that manner is no proof."""
    return any(field.type == "turns" for field in fields.values())


def _value(field: Field, value: Any, spec: str, *, cited_by: bool) -> str:
    if field.type == "turns":
        turns = _turns(value or ())
        return f"[{turns or 'no turn cited'}]" if turns or not field.optional else ""
    if value is None:
        return ""
    if field.type == "quotes":
        return ", ".join(one if one.startswith("[") else f"“{one}”" for one in value)
    if field.type == "share" and not field.list:
        return f"{value:.2f}"
    if field.fields:
        items = value if field.list else [value]
        each = (spec or _all(field)).splitlines()
        said = ([_filled(line, field.fields, one).rstrip() for line in each] for one in items)
        return "\n\n".join("\n".join(filter(None, lines)) for lines in said)
    if field.list and spec:
        return "\n".join(_filled(spec, _ITEM, {"item": str(one)}) for one in value)
    if field.list:
        return "; ".join(map(str, value))
    return bare(str(value)) if cited_by else str(value)


def _all(field: Field) -> str:
    return "; ".join(f"{_label(name)}: {{{name}}}" for name in field.fields)


def _check_template(template: str, fields: Mapping[str, Field]) -> None:
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"reads: a brace that is not closed: {error}") from None
    for _, name, spec, conversion in parts:
        if name is None:
            continue
        field = fields.get(name)
        if field is None or conversion:
            known = ", ".join(fields)
            raise ValueError(f"reads: {{{name}}} is not a field; there are {known}")
        if spec and not field.list and not field.fields:
            raise ValueError(f"reads: {{{name}:…}} is for a list or a table, which it is not")
        if spec:
            _check_template(spec, field.fields or _ITEM)


def bare(text: str) -> str:
    """A claim without what a model wrote in the manner of a citation."""
    return " ".join(_CITATION.sub("", text).split(" ")).strip() or text


def _turns(turns: Sequence[int]) -> str:
    return ", ".join(f"turn:{turn}" for turn in dict.fromkeys(turns))


def cited(text: str, turns: Sequence[int]) -> str:
    """A claim with the turns it rests on; what a model wrote in that manner itself is no proof."""
    return f"{bare(text)} [{_turns(turns) or 'no turn cited'}]"
