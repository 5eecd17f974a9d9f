"""A schema as OpenAI takes it to the letter."""

from moot.models.payload import strict

TABLE = {
    "title": "Answer",
    "type": "object",
    "properties": {
        "claim": {"type": "string", "minLength": 1, "maxLength": 240, "title": "Claim"},
        "remark": {"type": "string", "description": "If any.", "default": ""},
        "other": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "risks": {"type": "array", "items": {"$ref": "#/$defs/Risk"}, "default": []},
        "least": {"type": "array", "minItems": 1, "items": {"type": "integer"}},
        "title": {"$ref": "#/$defs/Risk"},
    },
    "required": ["claim"],
    "$defs": {"Risk": {"type": "object", "properties": {"default": {"enum": ["high", "low"]}}}},
}
NULL = {"type": "null"}


def test_every_field_is_required_and_what_could_be_left_out_can_be_null() -> None:
    made = strict(TABLE)
    fields = made["properties"]
    assert made["required"] == ["claim", "remark", "other", "risks", "least", "title"]
    assert made["additionalProperties"] is False
    assert fields["claim"] == {"type": "string"}
    assert fields["remark"] == {"anyOf": [{"type": "string"}, NULL], "description": "If any."}
    assert fields["other"] == {"anyOf": [{"type": "string"}, NULL]}
    assert fields["risks"] == {"type": "array", "items": {"$ref": "#/$defs/Risk"}}, "may be empty"
    assert fields["least"]["anyOf"][1] == NULL, "may not be empty, so it may be null"
    assert fields["title"] == {"anyOf": [{"$ref": "#/$defs/Risk"}, NULL]}, "a field of that name"


def test_tables_inside_are_as_strict_and_the_schema_itself_stays_as_it_was() -> None:
    risk = strict(TABLE)["$defs"]["Risk"]
    assert (risk["required"], risk["additionalProperties"]) == (["default"], False)
    assert risk["properties"]["default"] == {"anyOf": [{"enum": ["high", "low"]}, NULL]}
    assert "additionalProperties" not in TABLE
    assert strict(strict(TABLE)) == strict(TABLE)
