"""Whether the owner of a lease is known to be gone."""

import os
import subprocess
import sys

from moot.engine.lease import is_dead, owner_name


def test_this_process_is_alive_and_no_other_is_called_the_same() -> None:
    assert owner_name() != owner_name()
    assert not is_dead(owner_name())


def test_a_process_that_has_ended_is_dead() -> None:
    code = "from moot.engine.lease import owner_name; print(owner_name())"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert is_dead(child.stdout.strip())


def test_a_pid_that_was_given_away_again_is_not_mistaken() -> None:
    host, space, pid, began, token = owner_name().split("/")
    assert pid == str(os.getpid())
    assert is_dead("/".join((host, space, pid, str(int(began) - 1), token)))


def test_what_cannot_be_known_counts_as_alive() -> None:
    host, space, pid, _, token = owner_name().split("/")
    assert not is_dead("/".join(("elsewhere", space, "1", "1", token)))
    assert not is_dead("/".join((host, "pid:[1]", "1", "1", token)))
    assert not is_dead("/".join((host, space, pid, "-", token)))
    assert not is_dead("somebody")
