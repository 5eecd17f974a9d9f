"""What `/metrics` tells: how many, how long, how much, in Prometheus text.

| name | type | labels |
| --- | --- | --- |
| `moot_model_calls_total` | counter | provider, model, `outcome`: ok, cancelled, error's code |
| `gen_ai_client_operation_duration_seconds` | histogram | operation, provider, model, error |
| `gen_ai_client_operation_time_to_first_chunk_seconds` | histogram | operation, provider, model |
| `moot_model_tokens_total` | counter | provider, token type: input, output |
| `moot_model_cost_usd_total` | counter | provider |
| `moot_turns_total` | counter | `format`, `status`: ok, failed |
| `moot_commit_duration_seconds` | histogram | |
| `moot_debates` | gauge | `status` |
| `moot_debates_waiting` | gauge | |
| `moot_debates_in_hand` | gauge | |
| `moot_stream_readers` | gauge | |
| `moot_streams_dropped_total` | counter | |
| `http_server_request_duration_seconds` | histogram | method, route, status code |

Names and labels that begin with `gen_ai` or `http` are those of OpenTelemetry's semantic
conventions; the GenAI ones still move, so they stand here and nowhere else. Providers keep moot's
own words (`claude`, not `anthropic`). Counts live in dictionaries that are read when scraped, since
an OpenTelemetry counter costs several microseconds each time. Importing this module takes 0.15 s:
only who serves does so.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from threading import Lock
from typing import ClassVar

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
from opentelemetry.sdk.resources import Resource
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from moot.core.debate import Usage
from moot.core.status import STATUSES

_PROVIDER = "gen_ai.provider.name"
_MODEL = "gen_ai.request.model"
_TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - the name of a label, not a secret
_ERROR = "error.type"
_CHAT = {"gen_ai.operation.name": "chat"}

_CALL_BUCKETS = [0.01 * 2**n for n in range(14)]  # as the GenAI conventions advise: to 82 s
_HTTP_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
_COMMIT_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]

OTHER = "other"
MAX_NAMES = 100  # distinct models, formats and routes, each; "other" stands for the rest
_MAX_PROVIDERS = 10
_MAX_OUTCOMES = 15  # times the models this stays below the 2,000 lines that the SDK keeps apart
_MAX_LABEL = 200  # characters
_METHODS = frozenset(
    ("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE")
)


@dataclass(frozen=True, slots=True)
class Gauges:
    """What is read at each scrape, in the thread that scrapes."""

    counts: Callable[[], Mapping[str, int]]  # debates by status
    queue: Callable[[], int]  # debates that wait for somebody to carry them on
    in_hand: Callable[[], int]  # debates that this process carries on
    readers: Callable[[], int]  # streams that are open


class _Names:
    """The first names that come, up to a limit. All others are "other"."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._labels: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        name = name[:_MAX_LABEL]
        return self._labels.get(name) or self._learn(name)

    def _learn(self, name: str) -> str:
        with self._lock:
            if name not in self._labels and len(self._labels) >= self._limit:
                return OTHER
            # A lone surrogate would break every scrape from now on.
            label = name.encode(errors="backslashreplace").decode() or OTHER
            return self._labels.setdefault(name, label)


class _Tally:
    """A counter: sums by label, read when scraped."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self._lock = Lock()
        self._sums: dict[tuple[str, ...], float] = {} if keys else {(): 0}

    def add(self, amount: float, *labels: str) -> None:
        if not 0 < amount < inf:  # nothing, or nonsense that would stay in the sum for ever
            return
        with self._lock:
            self._sums[labels] = self._sums.get(labels, 0) + amount

    def observe(self, _: CallbackOptions) -> Iterable[Observation]:
        with self._lock:
            sums = list(self._sums.items())
        return [
            Observation(total, dict(zip(self._keys, labels, strict=True))) for labels, total in sums
        ]


@dataclass(frozen=True, slots=True)
class _Voice:
    """A model, as the labels have it."""

    provider: str
    model: str
    attributes: Mapping[str, str]


class Metrics:
    """One set of instruments, with a registry of its own. All methods may be called by any thread.

    None of them waits, and none raises for what it is given.
    """

    content_type: ClassVar[str] = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self) -> None:
        self._gauges: Gauges | None = None
        self._scrape = Lock()  # the exporter mixes up two scrapes at once
        self._registry = CollectorRegistry()
        reader = PrometheusMetricReader(
            disable_target_info=True, scope_info_enabled=False, registry=self._registry
        )
        self._provider = MeterProvider(  # kept: it would take its instruments along
            metric_readers=[reader],
            resource=Resource({}),
            exemplar_filter=AlwaysOffExemplarFilter(),
            shutdown_on_exit=False,
        )
        self._meter = self._provider.get_meter("moot")
        self._names()
        self._instruments()
        self._watched()

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        with self._scrape:
            return generate_latest(self._registry)

    def watch(
        self,
        *,
        counts: Callable[[], Mapping[str, int]],
        queue: Callable[[], int],
        in_hand: Callable[[], int],
        readers: Callable[[], int],
    ) -> None:
        """Where the gauges are read. One that raises is missing from that scrape, and logged."""
        self._gauges = Gauges(counts, queue, in_hand, readers)

    def called(
        self, model: str, outcome: str, seconds: float, first_token: float | None, usage: Usage
    ) -> None:
        """A call to a model has ended: `ok`, `cancelled`, or with an error's code."""
        voice = self._voice(model)
        outcome = self._outcome(outcome)
        attributes = voice.attributes
        self._calls.add(1, voice.provider, voice.model, outcome)
        self._tokens.add(usage.input_tokens, voice.provider, "input")
        self._tokens.add(usage.output_tokens, voice.provider, "output")
        self._cost.add(usage.cost_usd, voice.provider)
        if first_token is not None:
            self._first_token.record(max(first_token, 0.0), attributes)
        if outcome != "ok":
            attributes = {**attributes, _ERROR: outcome}
        self._call_seconds.record(max(seconds, 0.0), attributes)

    def committed(self, seconds: float) -> None:
        """A transaction is on disk, that long after it was asked for."""
        self._commit_seconds.record(max(seconds, 0.0))

    def turn(self, format: str, status: str) -> None:  # noqa: A002 - the word of product.md
        """This process has committed a turn."""
        self._turns.add(1, self._format(format), status if status == "ok" else "failed")

    def dropped(self) -> None:
        """A stream was ended because its reader did not keep up."""
        self._drops.add(1)

    def request(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """A request was answered. `route` is its template, never a path; None if none matched."""
        attributes = {
            "http.route": self._route(route or OTHER),
            "http.request.method": method if method in _METHODS else OTHER,
            "http.response.status_code": str(status) if 100 <= status <= 599 else OTHER,
        }
        self._request_seconds.record(max(seconds, 0.0), attributes)

    def _names(self) -> None:
        self._voices: dict[str, _Voice] = {}
        self._model = _Names(MAX_NAMES)
        self._vendor = _Names(_MAX_PROVIDERS)
        self._outcome = _Names(_MAX_OUTCOMES)
        self._format = _Names(MAX_NAMES)
        self._route = _Names(MAX_NAMES)

    def _instruments(self) -> None:
        self._calls = self._tally(
            "moot.model.calls", "Model calls that ended.", _PROVIDER, _MODEL, "outcome"
        )
        self._call_seconds = self._histogram(
            "gen_ai.client.operation.duration", "A model call, to its last token.", _CALL_BUCKETS
        )
        self._first_token = self._histogram(
            "gen_ai.client.operation.time_to_first_chunk",
            "A model call, to its first piece of text.",
            _CALL_BUCKETS,
        )
        self._tokens = self._tally(
            "moot.model.tokens", "Tokens of model calls, failed ones too.", _PROVIDER, _TOKEN_TYPE
        )
        self._cost = self._tally(
            "moot.model.cost_usd", "What model calls cost, in US dollars.", _PROVIDER
        )
        self._turns = self._tally(
            "moot.turns", "Turns that this process committed.", "format", "status"
        )
        self._commit_seconds = self._histogram(
            "moot.commit.duration", "A transaction, from asking to on disk.", _COMMIT_BUCKETS
        )
        self._drops = self._tally(
            "moot.streams.dropped", "Streams ended because the reader did not keep up."
        )
        self._request_seconds = self._histogram(
            "http.server.request.duration", "HTTP requests answered.", _HTTP_BUCKETS
        )

    def _watched(self) -> None:
        self._meter.create_observable_gauge(
            "moot.debates", [self._by_status], description="Debates, by status."
        )
        self._gauge(
            "moot.debates.waiting",
            "Debates that wait for somebody to carry them on.",
            lambda gauges: gauges.queue(),
        )
        self._gauge(
            "moot.debates.in_hand",
            "Debates that this process carries on.",
            lambda gauges: gauges.in_hand(),
        )
        self._gauge(
            "moot.stream.readers", "Streams that are open.", lambda gauges: gauges.readers()
        )

    def _tally(self, name: str, description: str, *keys: str) -> _Tally:
        tally = _Tally(*keys)
        self._meter.create_observable_counter(name, [tally.observe], description=description)
        return tally

    def _histogram(self, name: str, description: str, bounds: list[float]):
        return self._meter.create_histogram(
            name, unit="s", description=description, explicit_bucket_boundaries_advisory=bounds
        )

    def _gauge(self, name: str, description: str, read: Callable[[Gauges], int]) -> None:
        def observe(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(read(self._gauges))] if self._gauges else []

        self._meter.create_observable_gauge(name, [observe], description=description)

    def _by_status(self, _: CallbackOptions) -> Iterable[Observation]:
        """Every status, each time: a line that comes and goes is no zero to Prometheus."""
        if self._gauges is None:
            return []
        counts = self._gauges.counts()
        return [Observation(counts.get(status, 0), {"status": status}) for status in STATUSES]

    def _voice(self, model: str) -> _Voice:
        voice = self._voices.get(model)
        if voice is None:
            voice = self._meet(model)
        return voice

    def _meet(self, model: str) -> _Voice:
        """A model's labels. Those of the first models are kept, together with the models."""
        provider = self._vendor(model.partition(":")[0])
        label = self._model(model)  # as a whole, so that the pairs are bounded, too
        name = OTHER if label == OTHER else label.partition(":")[2] or "default"
        voice = _Voice(provider, name, _CHAT | {_PROVIDER: provider, _MODEL: name})
        if len(self._voices) < MAX_NAMES:
            self._voices[model] = voice
        return voice
