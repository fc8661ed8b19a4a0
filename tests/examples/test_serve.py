"""The service: batches, errors that stay with their request, limits, back-pressure, and its end."""

from __future__ import annotations

import asyncio
import importlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrows as ar

for extra in ("starlette", "uvicorn"):
    pytest.importorskip(extra, reason=f"{extra} is not installed")
httpx: Any = pytest.importorskip("httpx", reason="httpx is not installed")
serve: Any = importlib.import_module("examples.serve")

MODEL = ar.compile(ar.Map(ar.Vector(2)) >> ar.Sum() >> ar.FC(3, name="out"))
EXAMPLES = [[[n, k] for k in range(n % 4)] for n in range(40)]


def with_client(work: Callable[[Any, Any], Awaitable[None]], model: Any = MODEL, **options: Any) -> None:
    """Runs work with a client of a service, from its beginning to its end."""

    async def run() -> None:
        app = serve.service(model, **options)
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
                await work(client, app.state.batcher)

    asyncio.run(run())


async def ask(client: Any, examples: Any) -> Any:
    return await client.post("/predict", json={"examples": examples})


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 - what changes is the service's own
        await asyncio.sleep(0.001)


def test_concurrent_requests_share_batches_and_get_what_each_alone_would():
    async def work(client: Any, batcher: Any) -> None:
        answers = await asyncio.gather(*(ask(client, [example]) for example in EXAMPLES))
        for example, answer in zip(EXAMPLES, answers, strict=True):
            assert answer.status_code == 200
            np.testing.assert_allclose(answer.json()["results"], MODEL([example]), rtol=1e-5, atol=1e-6)
        assert batcher.served == 40 and batcher.batches < 40
        together = await ask(client, EXAMPLES)
        np.testing.assert_allclose(together.json()["results"], MODEL(EXAMPLES), rtol=1e-5, atol=1e-6)
        assert (await ask(client, [])).json() == {"results": []}

    with_client(work)


def test_a_bad_request_does_not_spoil_the_batch_that_it_is_in():
    async def work(client: Any, batcher: Any) -> None:
        batcher._gap = 0.0  # others are expected: the batch waits for them
        good, bad, fine = await asyncio.gather(
            ask(client, [[[1, 2]]]), ask(client, [[], [[1, 2], [3, "x"]], 5]), ask(client, [[[3, 4]]])
        )
        assert good.status_code == fine.status_code == 200 and bad.status_code == 400
        error = bad.json()["error"]
        assert error["message"] == "2 of 3 examples do not fit the model"
        assert [e["example"] for e in error["examples"]] == [1, 2]
        assert error["examples"][0]["path"].startswith("[1]") and error["examples"][1]["path"] == ""
        assert all(e["message"].startswith("expected ") for e in error["examples"])
        np.testing.assert_allclose(fine.json()["results"], MODEL([[[3, 4]]]), rtol=1e-5)

    with_client(work)


BODIES = [b"", b"{", b"[1]", b'"x"', b"{}", b'{"examples": 3}', b"\xff", b"[" * 99999]
BODIES += [b'{"examples": [NaN]}', b'{"examples": [-Infinity]}', b'{"examples": [' + b"9" * 5000 + b"]}"]
BODIES += [b'{"examples": [1e400]}', b'{"examples": [[-2.5e999]]}']  # beyond float64


@pytest.mark.parametrize("body", BODIES)
def test_what_is_no_request_is_400(body):
    async def work(client: Any, batcher: Any) -> None:
        answer = await client.post("/predict", content=body)
        assert answer.status_code == 400 and answer.json()["error"]["message"]
        assert batcher.served == 0
        assert (await client.get("/predict")).status_code == 405

    with_client(work)


def test_requests_that_are_too_large_are_413():
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 100

    async def work(client: Any, batcher: Any) -> None:
        assert (await client.post("/predict", content=b" " * 1001)).status_code == 413
        assert (await client.post("/predict", content=endless())).status_code == 413
        answer = await ask(client, [[]] * 5)
        assert answer.status_code == 413 and "4 examples" in answer.json()["error"]["message"]
        assert (await ask(client, [[]] * 4)).status_code == 200

    with_client(work, body=1000, room=4)


def test_a_request_that_never_arrives_is_408():
    async def slow() -> AsyncIterator[bytes]:
        yield b'{"examples"'
        await asyncio.sleep(3600)

    async def work(client: Any, batcher: Any) -> None:
        answer = await asyncio.wait_for(client.post("/predict", content=slow()), 30)
        assert answer.status_code == 408 and "within 0.05 s" in answer.json()["error"]["message"]

    with_client(work, arrival=0.05)


class Stuck:
    """A model that predicts when it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def predict(self, examples: list[Any], **_: Any) -> list[Any]:
        assert self.go.wait(200)
        if "fail" in examples:
            raise RuntimeError("a secret of the model")
        return [float("nan") if x == "nan" else x for x in examples]


def test_when_too_much_waits_requests_are_sent_away():
    model = Stuck()

    async def work(client: Any, batcher: Any) -> None:
        running = asyncio.create_task(ask(client, [0]))
        await until(lambda: batcher._pool._threads)  # the first batch is in the thread
        waiting = [asyncio.create_task(ask(client, [n])) for n in (1, 2, 3)]
        await until(lambda: batcher.waiting == 3)
        refused = await ask(client, [4])
        assert refused.status_code == 503 and int(refused.headers["Retry-After"]) >= 1
        assert "try again" in refused.json()["error"]["message"]
        assert (await client.get("/health")).json()["waiting"] == 3
        model.go.set()
        answers = await asyncio.gather(running, *waiting)
        assert [answer.json()["results"] for answer in answers] == [[0], [1], [2], [3]]
        assert (await ask(client, [4])).status_code == 200

    with_client(work, model, room=3)


def test_a_model_that_fails_is_500_and_the_service_goes_on(capsys):
    model = Stuck()
    model.go.set()

    async def work(client: Any, batcher: Any) -> None:
        answer = await ask(client, ["fail"])
        assert answer.status_code == 500 and "secret" not in answer.text
        assert (await ask(client, ["nan"])).status_code == 500
        assert (await ask(client, [1])).json() == {"results": [1]}

    with_client(work, model)
    assert "a secret of the model" in capsys.readouterr().err


def test_it_ends_when_all_that_waits_is_answered():
    model = Stuck()

    async def run() -> None:
        app = serve.service(model)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
            async with app.router.lifespan_context(app):
                batcher = app.state.batcher
                assert (await client.get("/health")).json()["status"] == "ok"
                tasks = [asyncio.create_task(ask(client, [n])) for n in range(100)]
                await until(lambda: batcher.waiting + serve.BATCH == 100)
                model.go.set()
            answers = await asyncio.gather(*tasks)
            assert sorted(answer.json()["results"][0] for answer in answers) == list(range(100))
            assert (await ask(client, [1])).status_code == 503
            health = await client.get("/health")
            assert health.status_code == 503 and health.json()["status"] == "closing"

    asyncio.run(run())


def test_a_process_answers_what_it_has_taken_and_leaves_with_0(tmp_path):
    ar.save_model(ar.compile(ar.models.sentiment(ar.Vocabulary(["good"]), size=2).judge), tmp_path / "m")
    command = [sys.executable, str(Path(serve.__file__)), str(tmp_path / "m"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        body = {"examples": [{"word": "good"}]}
        with httpx.Client(base_url=url, timeout=200) as client:
            assert len(client.post("/predict", json=body).json()["results"][0]) == 5
            assert client.get("/health").json() == {"status": "ok", "waiting": 0, "served": 1, "batches": 1}
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate()
    assert process.returncode in (0, -signal.SIGTERM) and "Traceback" not in err, err


@ar.builder
def nothing() -> Any:
    return ar.Scalar()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing"], "missing"),
        (["model"], "--builder FILE.py:NAME"),
        (["model", "--builder", "missing.py:net"], "missing.py:net"),
        (["model", "--builder", "text.py:net"], "has no 'net'"),
    ],
)
def test_what_cannot_be_served_is_said_in_words(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("text.py").write_text("wrong = 1\n")
    ar.save_model(ar.compile(nothing()), "model")
    monkeypatch.setattr(sys, "argv", ["serve.py", *arguments])
    with pytest.raises(SystemExit) as refused:
        serve.main()
    assert words in str(refused.value)


def test_the_load_test_compares_results():
    figures = serve.load_test(requests=24, at_once=4, state=3, words=4)
    assert figures["requests"] == 24 and figures["p99_ms"] >= figures["p50_ms"] > 0
    assert json.dumps(figures)
