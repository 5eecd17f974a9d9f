"""The peer of `bench.machines`: a bare Celery chain, one Postgres commit a task, nothing more.

It has what such a chain needs to be safe to run (late acknowledgement, one message at a time for
each thread) and commits a row with the text of a turn. Run as `celery -A bench.chain worker`.
"""

import os
import threading
from typing import Any

import psycopg
from celery import Celery

from bench.stage import words

app = Celery("chain", broker=os.environ.get("CHAIN_BROKER"), set_as_current=False)
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    task_serializer="json",
    accept_content=["json"],
    worker_enable_remote_control=False,
    task_default_queue="chain",
)
TABLE = "CREATE TABLE chain (id bigserial PRIMARY KEY, n int, k int, text text, UNIQUE (n, k))"
_own = threading.local()


@app.task(name="step")
def step(n: int, k: int, last: int) -> None:
    conn: Any = getattr(_own, "conn", None)
    if conn is None:
        conn = _own.conn = psycopg.connect(os.environ["CHAIN_DATABASE"])
    conn.execute(
        "INSERT INTO chain (n, k, text) VALUES (%s, %s, %s)", (n, k, words(f"seat {k % 2}", k))
    )
    conn.commit()
    if k < last:
        step.delay(n, k + 1, last)
