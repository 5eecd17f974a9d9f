"""A cron line in a time zone: which moments it names. Moments are seconds since the epoch."""

from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from moot.errors import InputError

MAX_LINE = 200
OWN = frozenset({"localtime", "Factory", "posixrules"})  # of each machine another
FIELDS = "minute hour day-of-month month day-of-week"


@lru_cache(maxsize=1024)
def zone_of(name: str) -> ZoneInfo:
    try:
        if name in OWN or name.startswith(("posix/", "right/")):
            raise ValueError(name)
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise InputError(
            f"There is no time zone {name[:60]!a}; they read like Europe/Berlin, or UTC.", "zone"
        ) from None


def check_line(line: str, zone: str, now: float) -> str:
    """A cron line of five fields that names at least one moment to come, with single spaces."""
    fields = line.split()
    if len(line) > MAX_LINE or len(fields) != 5:
        raise InputError(
            f"A cron line has five fields, {FIELDS}, like `0 18 * * MON-FRI`; "
            f"this one has {len(fields)}.",
            "cron",
        )
    try:
        coming = after(" ".join(fields), zone, now)
    except CronSimError as error:
        what = str(error).removeprefix("Bad ")
        raise InputError(f"The cron line cannot be used: its {what} is wrong.", "cron") from None
    if coming is None:
        raise InputError("The cron line names no moment that will ever come.", "cron")
    return " ".join(fields)


def after(line: str, zone: str, moment: float) -> float | None:
    """The first slot later than the moment.

    A line with a fixed hour and minute airs once a day, also when clocks change: right after an
    hour that is left out, and in the first of two equal ones. One with a `*` goes by real time.
    """
    for slot in CronSim(line, datetime.fromtimestamp(moment, zone_of(zone))):
        found = slot.timestamp()
        if found > moment:  # in the second of two equal hours, the line names the first one again
            return found
    return None


def coming(line: str, zone: str, moment: float, count: int) -> list[float]:
    """The next slots after the moment."""
    slots: list[float] = []
    while len(slots) < count and (found := after(line, zone, moment)) is not None:
        slots.append(found)
        moment = found
    return slots


def latest(line: str, zone: str, moment: float, count: int) -> list[float]:
    """The last slots up to the moment, oldest first."""
    found: list[float] = []
    begin = datetime.fromtimestamp(moment + 1, zone_of(zone))
    for slot in CronSim(line, begin, reverse=True):
        if slot.timestamp() <= moment:
            found.append(slot.timestamp())
        if len(found) == count:
            break
    return found[::-1]


def moment_of(text: str, zone: str) -> float:
    """A time as people write it; without an offset it is the zone's."""
    try:
        found = datetime.fromisoformat(text.strip())
        if found.tzinfo is None:
            found = found.replace(tzinfo=zone_of(zone))
        return found.timestamp()
    except (ValueError, OverflowError):
        raise InputError(
            f"{text[:60]!a} is no time; write one like 2027-01-31T18:00, in the station's zone, "
            "or with an offset.",
            "at",
        ) from None
