"""The tables, all named debate_…, whatever else the file holds. Changed only by a migration."""

from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    event,
    text,
)

metadata = MetaData()
Key = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers INTEGER keys by itself


def _some(kind: Any, names: str, *, nullable: bool = False) -> list[Column[Any]]:
    return [Column(name, kind, nullable=nullable) for name in names.split()]


def _texts(names: str) -> list[Column[Any]]:
    return _some(Text, names)


def _perhaps(names: str) -> list[Column[Any]]:
    """Texts that may be missing."""
    return _some(Text, names, nullable=True)


def _integers(names: str) -> list[Column[Any]]:
    return _some(Integer, names)


def _thinking() -> Column[Any]:
    """Which came later: a worker of a version before does not write it."""
    return Column("thinking_tokens", Integer, nullable=False, server_default="0")


def _partial(name: str, where: str, *columns: Column[Any], unique: bool = False) -> None:
    """An index of the rows of which that is true."""
    condition = text(where)
    Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def _made_with(owner: Table | MetaData, statements: dict[str, str]) -> None:
    """Run a statement of the dialect's own once the tables are made."""
    for dialect, sql in statements.items():
        event.listen(owner, "after_create", DDL(sql).execute_if(dialect=dialect))


formats = Table(
    "debate_formats",  # each set of rules once, however many debates run by it
    metadata,
    Column("digest", Text, primary_key=True),
    *_texts("name spec"),  # spec is JSON
)

runs = Table(
    "debate_runs",
    metadata,
    Column("id", Text, primary_key=True),
    *_texts("motion format format_digest on_failure created_at"),
    *_texts("participants options limits"),  # JSON
    *_perhaps("host received"),  # JSON; received: the request as it came, if moot's form differs
    Column("number", BigInteger, nullable=False, server_default="0"),  # its place in lists
    Column("artifact_root", Text, nullable=False),  # below the home
    Column("brief", Text, nullable=False, server_default="{}"),  # JSON: what a council is asked for
    # all that changes as the debate goes on
    *_texts("status updated_at warnings"),  # warnings is JSON
    *_perhaps("stop_reason stop_requested_at wanted started_at ended_at"),
    *_perhaps("failure"),  # JSON
    Column("next_round", Integer),
    *_perhaps("next_stage next_actor next_target"),
    Column("round", Integer),
    *_perhaps("stage"),
    *_integers("wave_done turns total last_seq files_seq degraded"),
    *_integers("input_tokens output_tokens calls estimated open_calls fence"),
    Column("cost_usd", Float, nullable=False),
    *_perhaps("lease_owner"),
    Column("lease_until", Float, nullable=False),
    Column("phases", Text, nullable=False, server_default="[]"),  # JSON: a council's transitions
    Column("consensus_score", Float),
    Column("confidence_score", Float),
    *_perhaps("selected_option outcome jury forked_from"),  # the last two are JSON
    *_perhaps("sources hide_sources_from"),  # JSON; of the sources all but their texts
    _thinking(),
    Column("tries", Text, nullable=False, server_default="[]"),  # JSON
    Column("not_before", Float, nullable=False, server_default="0"),
    Column("deaths", Integer, nullable=False, server_default="0"),
    Column("losses", Integer, nullable=False, server_default="0"),
    Column("stalls", Integer, nullable=False, server_default="0"),
    *_perhaps("waiting_for"),  # the human seat that it waits for
    Column("title", Text, nullable=False, server_default=""),
    Column("tags", Text, nullable=False, server_default="[]"),  # JSON
    Column("archived", Integer, nullable=False, server_default="0"),
    postgresql_with={"fillfactor": 70},
)
# Every list is a range of one of these, or a merge of several. None holds what a turn changes.
Index("debate_runs_number", runs.c.number, unique=True)
Index("debate_runs_status", runs.c.status, runs.c.number)
Index("debate_runs_format", runs.c.format, runs.c.number)
Index("debate_runs_format_status", runs.c.format, runs.c.status, runs.c.number)
_partial("debate_runs_outcome", "outcome IS NOT NULL", runs.c.outcome, runs.c.number)
_partial("debate_runs_unfinished", "status IN ('queued', 'running', 'ending')", runs.c.id)
_partial("debate_runs_unfiled", "ended_at IS NOT NULL AND files_seq = 0", runs.c.id)
Index("debate_runs_leased", runs.c.lease_owner)
_partial("debate_runs_archived", "archived = 1", runs.c.number)
_partial("debate_runs_titled", "title <> ''", runs.c.number)

tags = Table(
    "debate_tags",  # which debates people have tagged with what
    metadata,
    Column("tag", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # of the debate
)
Index("debate_tags_number", tags.c.number)

keys = Table(
    "debate_keys",  # requests that may come twice, and the debate that each of them made
    metadata,
    Column("key", Text, primary_key=True),
    *_texts("digest debate_id created_at"),  # the digest is of all that was asked for
)

# The words of every debate, by its number. What a word is, search.py says, so that it is the same
# on every database: here they are kept as they come. A list of debates per beginning of a word,
# up to ten letters, is what lets a search for a common word begin with the newest.
SEARCH = {
    "sqlite": """
        CREATE VIRTUAL TABLE debate_search USING fts5(
            words, content='', columnsize=0, detail=none, tokenize='ascii',
            prefix='1 2 3 4 5 6 7 8 9 10'
        )""",
    "postgresql": """
        CREATE TABLE debate_search (number BIGINT PRIMARY KEY, words TSVECTOR NOT NULL);
        CREATE INDEX debate_search_words ON debate_search USING gin (words)""",
}
_made_with(metadata, SEARCH)

# All words of the debates that have come to rest, what was said in them too: see said.py. Only
# words of three letters and more are found by their beginning, and it is the common ones that need
# a list of debates per beginning.
SAID = {
    "sqlite": """
        CREATE VIRTUAL TABLE debate_said USING fts5(
            words, content='', columnsize=0, detail=none, tokenize='ascii', prefix='3 4 5 6'
        )""",
    "postgresql": """
        CREATE TABLE debate_said (number BIGINT PRIMARY KEY, words TSVECTOR NOT NULL);
        CREATE INDEX debate_said_words ON debate_said USING gin (words)""",
}
_made_with(metadata, SAID)

models = Table(
    "debate_models",  # who sits or spoke in which debate
    metadata,
    Column("model", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # of the debate
)

lines = Table(
    "debate_lines",  # what lists show of a debate at rest, and how far its words are in debate_said
    metadata,
    Column("debate_id", Text, primary_key=True),
    *_integers("seq"),
    *_texts("support"),  # how many stood for what was selected
)

indexed = Table(
    "debate_indexed",  # up to which entry of the log debates were looked at for their words
    metadata,
    Column("name", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
)

turns = Table(
    "debate_turns",
    metadata,
    Column("id", Key, primary_key=True),
    *_texts("debate_id stage actor name kind text status model started_at committed_at"),
    *_perhaps("target instruction error_code data"),  # data is JSON
    *_integers("seq round input_tokens output_tokens calls estimated"),
    Column("cost_usd", Float, nullable=False),
    _thinking(),
    Column("number", Integer),  # what it is cited by; of turns from before it is their seq
)
Index("debate_turns_seq", turns.c.debate_id, turns.c.seq, unique=True)
_numbered = (turns.c.debate_id, turns.c.number)
_partial("debate_turns_number", "number IS NOT NULL", *_numbered, unique=True)
# The last wall: whatever goes wrong above, nobody speaks twice in a round.
_slot = (turns.c.debate_id, turns.c.round, turns.c.actor)
_partial("debate_turns_once", "kind IN ('speech', 'summary', 'verdict')", *_slot, unique=True)
_partial("debate_turns_cue_once", "kind = 'cue'", *_slot, turns.c.target, unique=True)
# What each role said, with its challenges and revisions in columns, for whoever queries by hand.
_ROLE_TURNS = """
    CREATE VIEW debate_role_turns AS
    SELECT debate_id, seq, COALESCE(number, seq) AS number, round, stage, name AS role,
           target AS target_role, status, {}, error_code, model, text, committed_at
    FROM debate_turns"""
ROLE_TURNS = {
    "sqlite": _ROLE_TURNS.format("""
           json_extract(data, '$.position') AS position,
           json_extract(data, '$.claim') AS claim,
           json_extract(data, '$.confidence') AS confidence,
           json_extract(data, '$.challenges') AS challenges,
           json_extract(data, '$.revisions') AS revisions"""),
    "postgresql": _ROLE_TURNS.format("""
           CAST(data AS json) ->> 'position' AS position,
           CAST(data AS json) ->> 'claim' AS claim,
           CAST(CAST(data AS json) ->> 'confidence' AS double precision) AS confidence,
           CAST(data AS json) -> 'challenges' AS challenges,
           CAST(data AS json) -> 'revisions' AS revisions"""),
}
_made_with(turns, ROLE_TURNS)

events = Table(
    "debate_events",
    metadata,
    Column("id", Key, primary_key=True),
    *_texts("debate_id type"),  # type: turn (its row has the same seq), or another
    *_integers("seq"),
    *_perhaps("data"),  # JSON of what is not a turn
)
Index("debate_events_seq", events.c.debate_id, events.c.seq, unique=True)
# SQLite gives the highest ids again once their rows are gone: what comes next must be looked at.
ID_GIVEN_BACK = {
    "sqlite": """
        CREATE TRIGGER debate_events_given_back AFTER DELETE ON debate_events
        WHEN OLD.id > coalesce((SELECT max(id) FROM debate_events), 0)
        BEGIN UPDATE debate_indexed SET position = OLD.id - 1 WHERE position >= OLD.id; END"""
}
_made_with(metadata, ID_GIVEN_BACK)

attempts = Table(
    "debate_attempts",
    metadata,
    Column("id", Key, primary_key=True),
    *_texts("debate_id stage actor model outcome started_at"),
    *_perhaps("target error_code ended_at"),
    *_perhaps("owner"),  # the process that made the call
    *_integers("n fence round input_tokens output_tokens estimated"),
    Column("cost_usd", Float, nullable=False),
    _thinking(),
)
Index("debate_attempts_n", attempts.c.debate_id, attempts.c.n, unique=True)
_partial("debate_attempts_lost", "outcome IN ('started', 'unknown')", attempts.c.owner)

actions = Table(
    "debate_actions",
    metadata,
    Column("key", Key, primary_key=True),
    *_texts("debate_id id action owner due status"),  # ids are A1, A2 …
)
Index("debate_actions_id", actions.c.debate_id, actions.c.id, unique=True)

records = Table(
    "debate_records",  # what was written back, for lists and searches; the files are the record
    metadata,
    Column("path", Text, primary_key=True),  # below the home
    *_texts("debate_id type title text created_at"),
)
Index("debate_records_newest", records.c.created_at, records.c.path)

agents = Table(
    "debate_agents",  # saved personas
    metadata,
    Column("id", Text, primary_key=True),
    *_texts("name bio model stance voice created_at updated_at"),  # voice is JSON
)

stations = Table(
    "debate_stations",
    metadata,
    Column("id", Text, primary_key=True),
    *_texts("name about format on_failure zone missed created_at updated_at"),
    *_texts("options limits motions agents"),  # JSON
    *_integers("public"),
    *_perhaps("cron"),
    Column("seats", Integer),
    # all that changes as it airs
    *_perhaps("on_air trouble"),
    Column("free_at", Float, nullable=False),
    Column("next_slot", Float),
    Column("wake", Float),
    *_integers("made skipped"),
)
Index("debate_stations_wake", stations.c.wake)
Index("debate_stations_on_air", stations.c.on_air)

conversations = Table(
    "debate_conversations",  # which debates stand in a station's programme, and when
    metadata,
    Column("debate_id", Text, primary_key=True),
    *_texts("station_id agents"),  # agents is JSON, by seat
    *_integers("called waiting"),
    Column("due", Float, nullable=False),
    Column("aired_at", Float),
)
_of_station = conversations.c.station_id
_partial("debate_conversations_waiting", "waiting = 1", _of_station, conversations.c.due)
Index("debate_conversations_aired", _of_station, conversations.c.aired_at)

source_texts = Table(
    "debate_source_texts",  # the texts of sources, each once, however many debates read it
    metadata,
    Column("sha256", Text, primary_key=True),
    *_texts("passages"),  # JSON
)

source_uses = Table(
    "debate_source_uses",  # which debate reads which text
    metadata,
    Column("sha256", Text, primary_key=True),
    Column("debate_id", Text, primary_key=True),
)
Index("debate_source_uses_debate", source_uses.c.debate_id)

uploads = Table(
    "debate_uploads",  # sources that were sent, and that a debate may read
    metadata,
    Column("id", Text, primary_key=True),
    *_texts("source sha256 created_at"),  # source is JSON, sha256 that of its text
)

hindsight = Table(
    "debate_hindsight",  # what people noted of decisions later
    metadata,
    Column("debate_id", Text, primary_key=True),
    *_texts("hindsight at forecasts"),  # right, wrong, mixed; forecasts is JSON
)

deleted = Table(
    "debate_deleted",  # debates that somebody deleted: only what is left to do is known of them
    metadata,
    Column("debate_id", Text, primary_key=True),
    *_texts("at"),
    *_integers("record files"),  # whether the record goes, too; whether files may be left
)
_partial("debate_deleted_left", "files = 1", deleted.c.debate_id)

links = Table(
    "debate_links",  # who may read a debate, or speak for a seat of it, by a link
    metadata,
    Column("id", Text, primary_key=True),
    *_texts("debate_id token_hash created_at"),
    *_perhaps("seat"),
)
Index("debate_links_debate", links.c.debate_id)
Index("debate_links_token", links.c.token_hash, unique=True)

deliveries = Table(
    "debate_deliveries",  # what programs elsewhere are told of debates, and how that went
    metadata,
    Column("id", Text, primary_key=True),
    *_texts("hook debate_id type body state created_at"),  # waiting, delivered, given_up
    *_perhaps("error delivered_at"),
    *_integers("tries"),
    Column("status", Integer),  # of the last answer
    Column("next_at", Float, nullable=False),
)
_partial("debate_deliveries_waiting", "state = 'waiting'", deliveries.c.next_at)
Index("debate_deliveries_newest", deliveries.c.created_at, deliveries.c.id)

reports = Table(
    "debate_reports",  # what a model wrote, or tried to write, of debates that have ended
    metadata,
    Column("debate_id", Text, primary_key=True),
    *_texts("state method summary made_at"),  # making, made, failed; extraction, model
    *_perhaps("model error"),  # error: why the last try failed
    *_perhaps("reading"),  # JSON: what the model wrote
    *_integers("tries input_tokens output_tokens"),
    Column("until", Float, nullable=False),  # of making: when another may try
    Column("cost_usd", Float, nullable=False),
    Column("calls", Integer, nullable=False, server_default="0"),
    Column("estimated", Integer, nullable=False, server_default="0"),
    _thinking(),
)
_partial("debate_reports_making", "state = 'making'", reports.c.until)

followups = Table(
    "debate_followups",  # what people asked about debates that had ended, and what was answered
    metadata,
    Column("debate_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # 1, 2, 3 … in the debate
    *_texts("question model status answer asked_at"),  # asking, answered, failed
    *_perhaps("error_code error answered_at"),
    *_perhaps("owner key"),  # the process that asks; the Idempotency-Key that it came with
    *_integers("verified failed unpriced local calls estimated input_tokens output_tokens"),
    *_integers("attempt tries filed"),
    Column("cost_usd", Float, nullable=False),
    Column("until", Float, nullable=False),  # of asking: when another process may try
    _thinking(),
)
_partial("debate_followups_key", "key IS NOT NULL", followups.c.key, unique=True)
_partial("debate_followups_left", "status = 'asking' OR filed = 0", followups.c.debate_id)
