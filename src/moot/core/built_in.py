"""The answers that every format can ask for, written as a format would write its own. In each of
them the reasons come before the conclusion."""

import tomllib
from collections.abc import Mapping

from moot.core.answers import Answer

_FILE = '''
[position]
help = "Where a speaker stands, before it has heard the others."
reads = """
Position: {position} (confidence {confidence})

{claim}

{rationale}

{risks:Risk: {item}}
"""
[position.fields]
claim = {type = "text", help = "Your claim, in one or two sentences."}
rationale = {type = "text", help = "Why."}
risks = {type = "line", list = true, max = 6}
position = {type = "line", help = "The option you stand for, in a few words."}
confidence = {type = "share", help = "How sure you are, from 0 to 1."}

[challenge]
help = "What a speaker asks of the one it is set against."
reads = "{challenges:To {targetRole}, on “{claim}”: {question}}"
[challenge.fields.challenges]
list = true
min = 1
max = 4
[challenge.fields.challenges.fields]
targetRole = {type = "choice", of = "target", help = "Whom you challenge."}
claim = {type = "text", help = "The claim of theirs that it is aimed at."}
question = {type = "text", help = "What the target must answer."}

[revision]
help = "Where a speaker stands once it was challenged."
reads = """
{responses:To {sourceRole}: {response}}

{revisions:{change} Because: {reason}}

Position now: {position} (confidence {confidence})

{claim}
"""
[revision.fields.responses]
list = true
max = 8
[revision.fields.responses.fields]
sourceRole = {type = "choice", of = "challengers", help = "Who challenged you."}
response = {type = "text", help = "Your answer."}
[revision.fields.revisions]
list = true
min = 1
max = 6
[revision.fields.revisions.fields]
change = {type = "text", help = "What changed in your position, or that nothing did."}
reason = {type = "text", help = "Why."}
[revision.fields.claim]
type = "text"
help = "Your claim now, in one or two sentences."
[revision.fields.position]
type = "line"
help = "The option you stand for now, in a few words."
[revision.fields.confidence]
type = "share"
help = "How sure you are now, from 0 to 1."

[reading]
help = "Where they agree, where they do not, and which positions differ only in wording."
reads = """
{agreements:Agreed: {text} {turns}}

{disagreements:Open: {text} {turns}}

{same:The same option, “{option}”: {wordings}}
"""
otherwise = "Nothing was agreed, and nothing disputed."
[reading.fields.agreements]
list = true
max = 8
[reading.fields.agreements.fields]
text = {type = "text"}
turns = {type = "turns", help = "The numbers of the turns that it rests on."}
[reading.fields.disagreements]
list = true
max = 8
[reading.fields.disagreements.fields]
text = {type = "text"}
turns = {type = "turns", help = "The numbers of the turns that it rests on."}
[reading.fields.same]
list = true
max = 10
[reading.fields.same.fields.wordings]
type = "line"
list = true
max = 10
help = "The positions, word for word, that mean this same option."
[reading.fields.same.fields.option]
type = "line"
help = "One name for the option."

[verdict]
help = "What is decided, why, against what, and what follows."
reads = """
Decision: {selectedOption}

{whySelected:{text} {turns}}

{rejectedOptions:Rejected, {option}: {reason} {turns}}

{risks:Risk ({severity}): {risk} {turns} Mitigation: {mitigation}}

{nextActions:Next: {action} ({owner}, by {due})}
"""
[verdict.fields.whySelected]
list = true
min = 1
max = 8
[verdict.fields.whySelected.fields]
text = {type = "text"}
turns = {type = "turns", help = "The numbers of the turns that it rests on."}
[verdict.fields.rejectedOptions]
list = true
max = 8
[verdict.fields.rejectedOptions.fields]
option = {type = "line"}
reason = {type = "text"}
turns = {type = "turns"}
[verdict.fields.selectedOption]
type = "line"
[verdict.fields.risks]
list = true
max = 10
[verdict.fields.risks.fields]
risk = {type = "text"}
severity = {type = "choice", choices = ["high", "medium", "low"]}
mitigation = {type = "text"}
turns = {type = "turns"}
[verdict.fields.nextActions]
list = true
min = 1
max = 10
[verdict.fields.nextActions.fields]
action = {type = "text"}
owner = {type = "line"}
due = {type = "date", help = "YYYY-MM-DD"}
turns = {type = "turns"}

[ballot]
help = "A vote, with its reasons and the best reason against it."
reads = """
{reasons:{text} {quotes} {turns}}

{against:Against it: {text} {turns}}

Vote: {choice} (confidence {confidence})

It would change with this: {wouldChange}

{questions:Open: {item}}
"""
[ballot.fields.reasons]
list = true
min = 1
max = 6
[ballot.fields.reasons.fields]
text = {type = "text"}
turns = {type = "turns", help = "The numbers of the turns that it rests on."}
quotes = {type = "quotes", help = "Words of these turns, copied exactly."}
[ballot.fields.against]
help = "The best reason against your own choice."
[ballot.fields.against.fields]
text = {type = "text"}
turns = {type = "turns"}
[ballot.fields.choice]
type = "choice"
of = "options"
help = "The option you vote for, or undecided."
[ballot.fields.confidence]
type = "share"
help = "How sure you are, from 0 to 1."
[ballot.fields.wouldChange]
type = "text"
help = "The fact that would change your vote."
[ballot.fields.questions]
type = "line"
list = true
max = 6
help = "What must be known first; at least one if you are undecided."
'''

BUILT_IN: Mapping[str, Answer] = {
    name: Answer.model_validate(table, strict=False) for name, table in tomllib.loads(_FILE).items()
}
