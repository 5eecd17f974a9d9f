"""The tables, all named debate_…, whatever else the file holds. Changed only by a migration."""

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

formats = Table(
    "debate_formats",  # each set of rules once, however many debates run by it
    metadata,
    Column("digest", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("spec", Text, nullable=False),  # JSON
)

runs = Table(
    "debate_runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("motion", Text, nullable=False),
    Column("format", Text, nullable=False),
    Column("format_digest", Text, nullable=False),
    Column("participants", Text, nullable=False),  # JSON, as are host, options, limits, warnings
    Column("host", Text),
    Column("options", Text, nullable=False),
    Column("limits", Text, nullable=False),
    Column("on_failure", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("number", BigInteger, nullable=False, server_default="0"),  # its place in lists
    Column("artifact_root", Text, nullable=False),  # below the home
    Column("brief", Text, nullable=False, server_default="{}"),  # JSON: what a council is asked for
    # all that changes as the debate goes on
    Column("status", Text, nullable=False),
    Column("degraded", Integer, nullable=False),
    Column("warnings", Text, nullable=False),
    Column("stop_reason", Text),
    Column("stop_requested_at", Text),
    Column("wanted", Text),
    Column("failure", Text),  # JSON
    Column("next_round", Integer),
    Column("next_stage", Text),
    Column("next_actor", Text),
    Column("next_target", Text),
    Column("wave_done", Integer, nullable=False),
    Column("round", Integer),
    Column("stage", Text),
    Column("turns", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("last_seq", Integer, nullable=False),
    Column("files_seq", Integer, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("cost_usd", Float, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("estimated", Integer, nullable=False),
    Column("open_calls", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("lease_owner", Text),
    Column("lease_until", Float, nullable=False),
    Column("started_at", Text),
    Column("ended_at", Text),
    Column("updated_at", Text, nullable=False),
    Column("phases", Text, nullable=False, server_default="[]"),  # JSON: a council's transitions
    Column("consensus_score", Float),
    Column("confidence_score", Float),
    Column("selected_option", Text),
    Column("deaths", Integer, nullable=False, server_default="0"),
    Column("tries", Text, nullable=False, server_default="[]"),  # JSON
    Column("not_before", Float, nullable=False, server_default="0"),
    Column("losses", Integer, nullable=False, server_default="0"),
    Column("stalls", Integer, nullable=False, server_default="0"),
    Column("received", Text),  # JSON: the request as it came, where moot's own form differs
    postgresql_with={"fillfactor": 70},
)
# Every list is a range of one of these, or a merge of several. None holds what a turn changes.
Index("debate_runs_number", runs.c.number, unique=True)
Index("debate_runs_status", runs.c.status, runs.c.number)
Index("debate_runs_format", runs.c.format, runs.c.number)
Index("debate_runs_format_status", runs.c.format, runs.c.status, runs.c.number)
Index(
    "debate_runs_unfinished",
    runs.c.id,
    sqlite_where=text("status IN ('queued', 'running', 'ending')"),
    postgresql_where=text("status IN ('queued', 'running', 'ending')"),
)
Index(
    "debate_runs_unfiled",
    runs.c.id,
    sqlite_where=text("ended_at IS NOT NULL AND files_seq = 0"),
    postgresql_where=text("ended_at IS NOT NULL AND files_seq = 0"),
)
Index("debate_runs_leased", runs.c.lease_owner)

keys = Table(
    "debate_keys",  # requests that may come twice, and the debate that each of them made
    metadata,
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),  # of all that was asked for
    Column("debate_id", Text, nullable=False),
    Column("created_at", Text, nullable=False),
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
for _dialect, _sql in SEARCH.items():
    event.listen(metadata, "after_create", DDL(_sql).execute_if(dialect=_dialect))

turns = Table(
    "debate_turns",
    metadata,
    Column("id", Key, primary_key=True),
    Column("debate_id", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("round", Integer, nullable=False),
    Column("stage", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("target", Text),
    Column("instruction", Text),
    Column("text", Text, nullable=False),
    Column("data", Text),  # JSON
    Column("status", Text, nullable=False),
    Column("error_code", Text),
    Column("model", Text, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("cost_usd", Float, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("estimated", Integer, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("committed_at", Text, nullable=False),
)
Index("debate_turns_seq", turns.c.debate_id, turns.c.seq, unique=True)
# The last wall: whatever goes wrong above, nobody speaks twice in a round.
SPOKEN = "kind IN ('speech', 'summary', 'verdict')"
Index(
    "debate_turns_once",
    turns.c.debate_id,
    turns.c.round,
    turns.c.actor,
    unique=True,
    sqlite_where=text(SPOKEN),
    postgresql_where=text(SPOKEN),
)
Index(
    "debate_turns_cue_once",
    turns.c.debate_id,
    turns.c.round,
    turns.c.actor,
    turns.c.target,
    unique=True,
    sqlite_where=text("kind = 'cue'"),
    postgresql_where=text("kind = 'cue'"),
)
# What each role said, with its challenges and revisions in columns, for whoever queries by hand.
ROLE_TURNS = {
    "sqlite": """
        CREATE VIEW debate_role_turns AS
        SELECT debate_id, seq, round, stage, name AS role, target AS target_role, status,
               json_extract(data, '$.position') AS position,
               json_extract(data, '$.claim') AS claim,
               json_extract(data, '$.confidence') AS confidence,
               json_extract(data, '$.challenges') AS challenges,
               json_extract(data, '$.revisions') AS revisions,
               error_code, model, text, committed_at
        FROM debate_turns""",
    "postgresql": """
        CREATE VIEW debate_role_turns AS
        SELECT debate_id, seq, round, stage, name AS role, target AS target_role, status,
               CAST(data AS json) ->> 'position' AS position,
               CAST(data AS json) ->> 'claim' AS claim,
               CAST(CAST(data AS json) ->> 'confidence' AS double precision) AS confidence,
               CAST(data AS json) -> 'challenges' AS challenges,
               CAST(data AS json) -> 'revisions' AS revisions,
               error_code, model, text, committed_at
        FROM debate_turns""",
}
for _dialect, _sql in ROLE_TURNS.items():
    event.listen(turns, "after_create", DDL(_sql).execute_if(dialect=_dialect))

events = Table(
    "debate_events",
    metadata,
    Column("id", Key, primary_key=True),
    Column("debate_id", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("type", Text, nullable=False),  # turn (its row has the same seq) or status
    Column("data", Text),  # JSON of a status
)
Index("debate_events_seq", events.c.debate_id, events.c.seq, unique=True)

attempts = Table(
    "debate_attempts",
    metadata,
    Column("id", Key, primary_key=True),
    Column("debate_id", Text, nullable=False),
    Column("n", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("round", Integer, nullable=False),
    Column("stage", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("target", Text),
    Column("model", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("error_code", Text),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("cost_usd", Float, nullable=False),
    Column("estimated", Integer, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text),
    Column("owner", Text),  # the process that made the call
)
Index("debate_attempts_n", attempts.c.debate_id, attempts.c.n, unique=True)
LOST = "outcome IN ('started', 'unknown')"
Index(
    "debate_attempts_lost",
    attempts.c.owner,
    sqlite_where=text(LOST),
    postgresql_where=text(LOST),
)

actions = Table(
    "debate_actions",
    metadata,
    Column("key", Key, primary_key=True),
    Column("debate_id", Text, nullable=False),
    Column("id", Text, nullable=False),  # A1, A2 …
    Column("action", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("due", Text, nullable=False),
    Column("status", Text, nullable=False),
)
Index("debate_actions_id", actions.c.debate_id, actions.c.id, unique=True)

records = Table(
    "debate_records",  # what was written back, for lists and searches; the files are the record
    metadata,
    Column("path", Text, primary_key=True),  # below the home
    Column("debate_id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("created_at", Text, nullable=False),
)
Index("debate_records_newest", records.c.created_at, records.c.path)

agents = Table(
    "debate_agents",  # saved personas
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("bio", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("stance", Text, nullable=False),
    Column("voice", Text, nullable=False),  # JSON
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
)

stations = Table(
    "debate_stations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("about", Text, nullable=False),
    Column("public", Integer, nullable=False),
    Column("format", Text, nullable=False),
    Column("options", Text, nullable=False),  # JSON, as are limits, motions, agents
    Column("limits", Text, nullable=False),
    Column("on_failure", Text, nullable=False),
    Column("zone", Text, nullable=False),
    Column("cron", Text),
    Column("missed", Text, nullable=False),
    Column("motions", Text, nullable=False),
    Column("agents", Text, nullable=False),
    Column("seats", Integer),
    # all that changes as it airs
    Column("on_air", Text),
    Column("free_at", Float, nullable=False),
    Column("next_slot", Float),
    Column("wake", Float),
    Column("made", Integer, nullable=False),
    Column("skipped", Integer, nullable=False),
    Column("trouble", Text),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
)
Index("debate_stations_wake", stations.c.wake)
Index("debate_stations_on_air", stations.c.on_air)

conversations = Table(
    "debate_conversations",  # which debates stand in a station's programme, and when
    metadata,
    Column("debate_id", Text, primary_key=True),
    Column("station_id", Text, nullable=False),
    Column("due", Float, nullable=False),
    Column("called", Integer, nullable=False),
    Column("waiting", Integer, nullable=False),
    Column("aired_at", Float),
    Column("agents", Text, nullable=False),  # JSON, by seat
)
Index(
    "debate_conversations_waiting",
    conversations.c.station_id,
    conversations.c.due,
    sqlite_where=text("waiting = 1"),
    postgresql_where=text("waiting = 1"),
)
Index("debate_conversations_aired", conversations.c.station_id, conversations.c.aired_at)

reports = Table(
    "debate_reports",  # what a model wrote, or tried to write, of debates that have ended
    metadata,
    Column("debate_id", Text, primary_key=True),
    Column("state", Text, nullable=False),  # making, made, failed
    Column("method", Text, nullable=False),  # extraction, model
    Column("model", Text),
    Column("summary", Text, nullable=False),
    Column("reading", Text),  # JSON: what the model wrote
    Column("error", Text),  # why the last try failed
    Column("tries", Integer, nullable=False),
    Column("until", Float, nullable=False),  # of making: when another may try
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("cost_usd", Float, nullable=False),
    Column("made_at", Text, nullable=False),
)
Index(
    "debate_reports_making",
    reports.c.until,
    sqlite_where=text("state = 'making'"),
    postgresql_where=text("state = 'making'"),
)
