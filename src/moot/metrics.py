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

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
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
_CHAT = {"gen_ai.operation.name": "chat"}
_CALL_BUCKETS = [0.01 * 2**n for n in range(14)]  # as the GenAI conventions advise: to 82 s
_HTTP_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
_COMMIT_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]

_COUNTERS: dict[str, tuple[str, ...]] = {  # name: what it counts, and its labels
    "moot.model.calls": ("Model calls that ended.", _PROVIDER, _MODEL, "outcome"),
    "moot.model.tokens": ("Tokens of all model calls.", _PROVIDER, "gen_ai.token.type"),
    "moot.model.cost_usd": ("What model calls cost, in US dollars.", _PROVIDER),
    "moot.turns": ("Turns that this process committed.", "format", "status"),
    "moot.streams.dropped": ("Streams ended because the reader did not keep up.",),
}
_HISTOGRAMS = {
    "gen_ai.client.operation.duration": ("A model call, to its last token.", _CALL_BUCKETS),
    "gen_ai.client.operation.time_to_first_chunk": (
        "A model call, to its first piece of text.",
        _CALL_BUCKETS,
    ),
    "moot.commit.duration": ("A transaction, from asking to on disk.", _COMMIT_BUCKETS),
    "http.server.request.duration": ("HTTP requests answered.", _HTTP_BUCKETS),
}
_GAUGES = {
    "moot.debates": "Debates, by status.",
    "moot.debates.waiting": "Debates that wait for somebody to carry them on.",
    "moot.debates.in_hand": "Debates that this process carries on.",
    "moot.stream.readers": "Streams that are open.",
}

OTHER = "other"
MAX_NAMES = 100  # distinct models, formats and routes, each; "other" stands for the rest
_MAX_PROVIDERS = 10
_MAX_OUTCOMES = 15  # times the models this stays below the 2,000 lines that the SDK keeps apart
_MAX_LABEL = 200  # characters
_METHODS = frozenset(
    ("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE")
)

Counts = Callable[[], Mapping[str, int]]
Number = Callable[[], int]


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

    def __init__(self, keys: Sequence[str]) -> None:
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


class Metrics:
    """One set of instruments, with a registry of its own. All methods may be called by any thread.

    None of them waits, and none raises for what it is given.
    """

    content_type: ClassVar[str] = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self) -> None:
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
        meter = self._provider.get_meter("moot")
        self._tallies = {name: _Tally(labels) for name, (_, *labels) in _COUNTERS.items()}
        for name, (text, *_) in _COUNTERS.items():
            meter.create_observable_counter(name, [self._tallies[name].observe], description=text)
        self._histograms = {
            name: meter.create_histogram(
                name, unit="s", description=text, explicit_bucket_boundaries_advisory=buckets
            )
            for name, (text, buckets) in _HISTOGRAMS.items()
        }
        self._gauges: dict[str, Counts | Number] = {}
        for name, text in _GAUGES.items():
            meter.create_observable_gauge(name, [partial(self._observe, name)], description=text)
        self._models: dict[str, dict[str, str]] = {}
        self._model, self._format, self._route = (_Names(MAX_NAMES) for _ in range(3))
        self._vendor, self._outcome = _Names(_MAX_PROVIDERS), _Names(_MAX_OUTCOMES)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        with self._scrape:
            return generate_latest(self._registry)

    def watch(self, *, counts: Counts, queue: Number, in_hand: Number, readers: Number) -> None:
        """Say where the gauges are read, at each scrape and in its thread: debates by status,
        those that wait, those that this process carries on, and open streams. A gauge that raises
        is missing from that scrape, and logged."""
        self._gauges = dict(zip(_GAUGES, (counts, queue, in_hand, readers), strict=True))

    def called(
        self, model: str, outcome: str, seconds: float, first_token: float | None, usage: Usage
    ) -> None:
        """A call to a model has ended: `ok`, `cancelled`, or with an error's code."""
        labels, outcome = self._labels_of(model), self._outcome(outcome)
        provider = labels[_PROVIDER]
        self._count("moot.model.calls", 1, provider, labels[_MODEL], outcome)
        self._count("moot.model.tokens", usage.input_tokens, provider, "input")
        self._count("moot.model.tokens", usage.output_tokens, provider, "output")
        self._count("moot.model.cost_usd", usage.cost_usd, provider)
        if first_token is not None:
            self._time("gen_ai.client.operation.time_to_first_chunk", first_token, labels)
        if outcome != "ok":
            labels = {**labels, "error.type": outcome}
        self._time("gen_ai.client.operation.duration", seconds, labels)

    def committed(self, seconds: float) -> None:
        """A transaction is on disk, that long after it was asked for."""
        self._time("moot.commit.duration", seconds)

    def turn(self, format: str, status: str) -> None:  # noqa: A002 - the word of product.md
        """This process has committed a turn."""
        self._count("moot.turns", 1, self._format(format), status if status == "ok" else "failed")

    def dropped(self) -> None:
        """A stream was ended because its reader did not keep up."""
        self._count("moot.streams.dropped", 1)

    def request(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """A request was answered. `route` is its template, never a path; None if none matched."""
        labels = {
            "http.route": self._route(route or OTHER),
            "http.request.method": method if method in _METHODS else OTHER,
            "http.response.status_code": str(status) if 100 <= status <= 599 else OTHER,
        }
        self._time("http.server.request.duration", seconds, labels)

    def _count(self, name: str, amount: float, *labels: str) -> None:
        self._tallies[name].add(amount, *labels)

    def _time(self, name: str, seconds: float, labels: Mapping[str, str] | None = None) -> None:
        self._histograms[name].record(max(seconds, 0.0), labels)

    def _observe(self, gauge: str, _: CallbackOptions) -> Iterable[Observation]:
        read = self._gauges.get(gauge)
        found = read() if read else None
        if isinstance(found, Mapping):
            # Every status, each time: a line that comes and goes is not a zero to Prometheus.
            return [Observation(found.get(status, 0), {"status": status}) for status in STATUSES]
        return [] if found is None else [Observation(found)]

    def _labels_of(self, model: str) -> dict[str, str]:
        """A model's labels. Those of the first models are kept, together with the models."""
        if labels := self._models.get(model):
            return labels
        provider = self._vendor(model.partition(":")[0])
        label = self._model(model)  # as a whole, so that the pairs are bounded, too
        name = OTHER if label == OTHER else label.partition(":")[2] or "default"
        labels = _CHAT | {_PROVIDER: provider, _MODEL: name}
        if len(self._models) < MAX_NAMES:
            self._models[model] = labels
        return labels
