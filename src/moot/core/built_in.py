"""The answers that every format can ask for. Their file is written as a format would write its own;
in each of them the reasons come before the conclusion."""

import tomllib
from collections.abc import Mapping
from importlib import resources

from moot.core.answers import Answer

_FILE = resources.files("moot.core").joinpath("built_in.toml").read_text("utf-8")

BUILT_IN: Mapping[str, Answer] = {
    name: Answer.model_validate(table, strict=False) for name, table in tomllib.loads(_FILE).items()
}
