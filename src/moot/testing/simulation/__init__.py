"""Many processes, their database, files, network and people, in one process and virtual time.

`python -m moot.testing.simulation 7` runs the schedule of seed 7: which process does what when,
what fails and what people ask for all follow from that number. The rules of the contract are
checked after every step.
"""
