"""The layouts of a debate's files.

A folder keeps the layout that it was written in, so that its pages are made again to the byte.
1: rounds are counted through the whole debate. 2: places have names, and a report says why a debate
that is over has no closing summary. 3: a verdict has its speaker's name, seats without a side have
none, a vote is a main point, and answers of any shape are read by their fields. 4: a debate with a
verdict shows that first, and the ballots of a jury stand by round and juror, each with its order.
5: a report begins with what is at issue, the best points, what was conceded and what stays open,
its figures are behind a fold, and only prose is picked from what was said. 6: of a contested
outcome, the undecided and quotes that failed, a verdict says no more than is known. 7: what a
report says that was spent has the calls for the report in it, and a transcript says of which calls
its figure is.
"""

LAYOUTS = (1, 2, 3, 4, 5, 6, 7)
LAYOUT = LAYOUTS[-1]  # add one when the same debate would be written differently
