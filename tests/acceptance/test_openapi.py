"""The OpenAPI document: true, whole, and one that generators take."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.patience import seconds
from tests.served import served, started
from tests.stress import STRESS

CONFIG = Path(__file__).with_name("schemathesis.toml")
STREAMS = (  # they do not end; test_stream.py has them
    "/events",
    "/debates/{debate_id}/events",
    "/on-air/{station_id}/{debate_id}/events",
)


def test_no_request_gets_an_answer_that_the_document_does_not_describe(tmp_path: Path) -> None:
    """Schemathesis, all its checks, against the real command; `make stress` runs 10,000 cases."""
    examples, least = (500, 10_000) if STRESS else (2, 1500)
    with started(tmp_path / "home", environment={"MOOT_LOG_LEVEL": "warning"}) as (server, process):
        for _ in range(3):  # ids that are there, for it to find
            server.create(format="duel")
        command = [
            str(Path(sys.executable).with_name("schemathesis")),
            f"--config-file={CONFIG}",
            "run",
            f"{server.url}/openapi.json",
            "--phases=examples,coverage,fuzzing,stateful",
            f"--max-examples={examples}",
            f"--request-timeout={seconds()}",
            "--suppress-health-check=all",
            "--generation-database=none",
            "--seed=1",
            "--no-color",
            *(f"--exclude-path={path}" for path in STREAMS),
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert process.poll() is None, "the server died"
    print(done.stdout[-1500:])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    generated = re.search(r"(\d+) generated", done.stdout)
    assert generated
    assert int(generated[1]) >= least
    log = (tmp_path / "serve.log").read_text()
    assert "Traceback" not in log
    assert '"level": "ERROR"' not in log


def test_a_generator_can_read_it(tmp_path: Path) -> None:
    """Every operation has an id of its own, an example where it takes a body, and its refusals."""
    with served(tmp_path) as server:
        document = server.http.get("/openapi.json").json()
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    ids = [operation["operationId"] for _, _, operation in operations]
    assert len(set(ids)) == len(ids) == 86
    assert all(re.fullmatch(r"[a-z][a-z_]+", name) for name in ids)
    schemas = json.dumps(document["components"]["schemas"])
    assert "HTTPValidationError" not in schemas
    for path, method, operation in operations:
        assert operation["summary"], path
        refused = [code for code in operation["responses"] if code >= "400"]
        assert refused, path
        for code in refused:
            kinds = operation["responses"][code]["content"]
            assert set(kinds) <= {"application/problem+json", "application/json"}
        if method in ("post", "put", "patch"):
            assert operation["requestBody"]["required"]
    for reference in set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document))):
        assert reference in document["components"]["schemas"]
