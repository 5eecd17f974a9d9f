"""What a worker can be asked to do: one-line bridges to the Service."""

from celery import Celery

from moot.dispatch.celery import WAVE
from moot.engine.service import Service


def register(app: Celery, service: Service) -> None:
    @app.task(name=WAVE)
    async def wave(debate_id: str, place: str) -> None:  # pyright: ignore[reportUnusedFunction]
        await service.wave(debate_id, place)
