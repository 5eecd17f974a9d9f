"""Ratings: how models have done in the debates that are kept here."""

import asyncio

from fastapi import Response

from moot.api.common import Moot, Routes, as_json
from moot.evals import ratings
from moot.wire.rating_shapes import Ratings

MOST = 500
"""Debates that one answer reads, so that it takes seconds however many there are."""
routes = Routes("ratings")


@routes("GET /ratings", Ratings)
async def get_ratings(moot: Moot) -> Response:
    """How models have done before juries, in each role, and at what cost

    It counts the newest 500 debates that came to an outcome; `moot ratings` counts all.
    """
    made = await ratings.collect(moot.service, MOST)
    scores = await moot.service.calibration()
    return as_json(await asyncio.to_thread(ratings.document, made, scores))
