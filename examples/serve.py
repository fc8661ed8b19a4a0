"""A saved model behind HTTP: requests that come at the same time run as one batch.

    pip install '.[serve]'
    python examples/serve.py MODEL --trust mine --port 8000       (a package, or a module of this folder)
    python examples/serve.py MODEL --builder stars.py:stars
    curl localhost:8000/predict -d '{"examples": [{"word": "good"}]}'

`POST /predict` takes examples and gives their results in the same order. Each waits at most 5 ms for others
to share a batch with, and only while others are likely to come. An example that does not fit is refused with
its number and the place in it (400), and does not disturb those of other requests in its batch. When more
examples wait than there is room for, requests are sent away (503, with `Retry-After`), so that those that
wait are answered in time. Requests that are too large are refused before they are read (413), and those whose
body takes longer than 10 s to arrive (408). `GET /health` says whether the service is up and how much waits.
On Ctrl-C and SIGTERM it answers what it has taken.

    python examples/serve.py --load-test

starts a service with a Tree-LSTM (state 150, trees of 20 words) in a process of its own, sends it 1,000
requests, 64 at a time, compares the results with those of the model one by one, and prints latencies and
throughput. There is no authentication and no TLS here: put it behind a proxy that has both.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import math
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import arrows as ar

LONGEST_WAIT = 0.005  # seconds that a request waits for others
SILENCE = 3.0  # so many times the usual gap between requests, and no other is expected
BATCH = 64  # examples run at once
ROOM = 1024  # examples that may wait
BODY = 1 << 20  # bytes of a request
ARRIVAL = 10.0  # seconds in which the body of a request must arrive
CONNECTIONS = 2048  # clients at once: what their bodies take is bounded


# ------------------------------------------------------------------------------------------ the batches


class FullError(Exception):
    """There is no room for more examples; `seconds` says when there may be."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many examples are waiting; try again in {seconds} s")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Waiting:
    """An example, and the future of its result: a row, or its `InputError`."""

    example: Any
    result: asyncio.Future[Any]


class Batcher:
    """Runs the examples of concurrent requests in batches, in a thread beside the event loop.

    Args:
        predict: from examples to a row or an `InputError` for each.
        batch_size: examples that run at once.
        longest_wait: seconds for which the first of a batch waits for others.
        room: examples that may wait.
    """

    def __init__(
        self,
        predict: Callable[[list[Any]], list[Any]],
        *,
        batch_size: int = BATCH,
        longest_wait: float = LONGEST_WAIT,
        room: int = ROOM,
    ) -> None:
        self.predict, self.batch_size, self.longest_wait, self.room = predict, batch_size, longest_wait, room
        self.served = self.batches = 0
        self._queue: asyncio.Queue[Waiting | None] = asyncio.Queue()  # None: no more will come
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._last = -math.inf  # when the last request came
        self._gap = 1.0  # seconds between requests, of late
        self._pace = 0.01  # seconds for an example, of late
        self.closed = False

    @property
    def waiting(self) -> int:
        """How many examples wait."""
        return self._queue.qsize()

    async def results(self, examples: list[Any]) -> list[Any]:
        """The results of a request's examples, in order; errors stand in the place of results.

        Raises:
            FullError: there is no room, or the service is closing.
        """
        if self.closed or self.waiting + len(examples) > self.room:
            raise FullError(max(1, math.ceil(self.waiting * self._pace)))
        now = time.monotonic()
        self._gap += 0.1 * (min(now - self._last, 1.0) - self._gap)
        self._last = now
        loop = asyncio.get_running_loop()
        tickets = [Waiting(example, loop.create_future()) for example in examples]
        for ticket in tickets:
            self._queue.put_nowait(ticket)
        return list(await asyncio.gather(*(ticket.result for ticket in tickets)))

    async def run(self) -> None:
        """Runs batches until `close`, and what waits then."""
        loop = asyncio.get_running_loop()
        last = False
        while not last:
            batch, last = await self._next_batch()
            batch = [ticket for ticket in batch if not ticket.result.cancelled()]  # whose client has gone
            if not batch:
                continue
            start = time.monotonic()
            try:
                rows = await loop.run_in_executor(self._pool, self.predict, [t.example for t in batch])
            except Exception as error:  # noqa: BLE001 - the requests get it, and the service goes on
                rows = [error] * len(batch)
            self._pace += 0.1 * ((time.monotonic() - start) / len(batch) - self._pace)
            self.served, self.batches = self.served + len(batch), self.batches + 1
            for ticket, row in zip(batch, rows, strict=True):
                if ticket.result.cancelled():
                    continue
                if isinstance(row, Exception) and not isinstance(row, ar.InputError):
                    ticket.result.set_exception(row)
                else:
                    ticket.result.set_result(row)

    async def close(self) -> None:
        """Takes no more examples; `run` ends when those that wait are done."""
        self.closed = True
        await self._queue.put(None)

    async def _next_batch(self) -> tuple[list[Waiting], bool]:
        """The next batch, and whether it is the last."""
        batch: list[Waiting] = []
        deadline = math.inf
        while len(batch) < self.batch_size:
            if self._queue.empty() and batch:
                patience = min(deadline - time.monotonic(), SILENCE * self._gap)
                if patience <= 0 or self._gap > self.longest_wait:  # no other is expected in time
                    break
                try:
                    async with asyncio.timeout(patience):
                        ticket = await self._queue.get()
                except TimeoutError:
                    break
            else:
                ticket = await self._queue.get()
            if ticket is None:
                return batch, True
            if not batch:
                deadline = time.monotonic() + self.longest_wait
            batch.append(ticket)
        return batch, False


# ------------------------------------------------------------------------------------------ the service


class RefusedError(Exception):
    """A request that is answered with an error.

    Args:
        status: of HTTP.
        message: what is wrong.
        more: further fields of the answer.
    """

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.content = status, {"error": {"message": message, **more}}


def service(model: ar.Model, *, body: int = BODY, arrival: float = ARRIVAL, **options: Any) -> Starlette:
    """An ASGI application that serves a model.

    Args:
        model: the model; nothing else may train it meanwhile.
        body: the most bytes of a request.
        arrival: seconds in which the body of a request must arrive.
        options: of `Batcher`.
    """

    def predict(examples: list[Any]) -> list[Any]:
        return list(model.predict(examples, batch_size=len(examples), errors="return"))

    async def answer(request: Request) -> Response:
        batcher: Batcher = request.app.state.batcher
        try:
            examples = _examples(await _body(request, body, arrival), batcher.room)
            rows = await batcher.results(examples)
            _require_all(rows)
            content = _content(rows)
        except RefusedError as refused:
            return JSONResponse(refused.content, refused.status)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except FullError as full:
            headers = {"Retry-After": str(full.seconds)}
            return JSONResponse({"error": {"message": str(full)}}, 503, headers)
        except Exception as error:  # noqa: BLE001 - what the model raises is answered; no details leave
            print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
            return JSONResponse({"error": {"message": "the model failed"}}, 500)
        return Response(content, media_type="application/json")

    async def health(request: Request) -> Response:
        batcher: Batcher = request.app.state.batcher
        status = {"status": "closing" if batcher.closed else "ok", "waiting": batcher.waiting}
        status |= {"served": batcher.served, "batches": batcher.batches}
        return JSONResponse(status, 503 if batcher.closed else 200)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.batcher = batcher = Batcher(predict, **options)
        task = asyncio.create_task(batcher.run())
        yield
        await batcher.close()
        await task

    routes = [Route("/predict", answer, methods=["POST"]), Route("/health", health)]
    return Starlette(routes=routes, lifespan=lifespan)


async def _body(request: Request, most: int, seconds: float) -> bytes:
    """The body of a request; one that is too large or too slow is refused before more of it is read."""
    refused = RefusedError(413, f"a request may have {most:,} bytes")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise refused
    content = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                content += chunk
                if len(content) > most:
                    raise refused
    except TimeoutError:
        raise RefusedError(408, f"the request has not arrived within {seconds:g} s") from None
    return bytes(content)


def _examples(content: bytes, most: int) -> list[Any]:
    """The examples of a request."""
    try:
        request = json.loads(content, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the request is no JSON: {error}") from None
    examples = request.get("examples") if isinstance(request, dict) else None
    if not isinstance(examples, list):
        raise RefusedError(400, 'expected {"examples": [...]}: an object with a list of examples')
    if len(examples) > most:
        raise RefusedError(413, f"a request may have {most:,} examples, and this one has {len(examples):,}")
    return examples


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name}, which Python reads though JSON does not have it")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text:.40} is beyond float64")
    return number


def _content(rows: list[Any]) -> str:
    """The answer with the results."""
    try:
        return json.dumps({"results": rows}, default=np.ndarray.tolist, allow_nan=False)
    except ValueError:
        raise RefusedError(500, "a result is not finite, which JSON lacks") from None


def _require_all(rows: list[Any]) -> None:
    """Refuses a request with examples that do not fit, and says which, where, and why."""
    errors = [(number, row.details) for number, row in enumerate(rows) if isinstance(row, ar.InputError)]
    if errors:
        raise RefusedError(
            400,
            f"{len(errors)} of {len(rows)} examples do not fit the model",
            examples=[
                {"example": number, "path": told.path, "message": told.reason} for number, told in errors
            ],
        )


async def serve(app: Starlette, host: str, port: int) -> None:
    """Serves until SIGINT or SIGTERM; then takes nothing new, and answers what it has taken."""
    with socket.create_server((host, port), backlog=1024) as listener:
        print(f"listening on http://{host}:{listener.getsockname()[1]}", flush=True)
        settings = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=30,
        )
        await uvicorn.Server(settings).serve(sockets=[listener])


# ------------------------------------------------------------------------------------------ the load test


def random_tree(generator: random.Random, words: int) -> dict[str, Any]:
    """A tree of so many words, of a random shape."""
    if words == 1:
        return {"word": f"w{generator.randrange(1000)}"}
    left = generator.randrange(1, words)
    return {"left": random_tree(generator, left), "right": random_tree(generator, words - left)}


async def load(port: int, bodies: list[str], at_once: int) -> tuple[list[Any], list[float], float]:
    """Sends requests, so many at a time; returns results, seconds of each, and of all.

    It speaks HTTP by itself: a client such as httpx takes several milliseconds of a processor for a request,
    ten times what the service does, and would be what is measured.
    """
    results: list[Any] = [None] * len(bodies)
    seconds = [0.0] * len(bodies)
    todo = iter(range(len(bodies)))

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in todo:
            body = bodies[number].encode()
            start = time.perf_counter()
            head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            status, *headers = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
            size = next(int(line.split(":")[1]) for line in headers if line.startswith("content-length:"))
            answer = json.loads(await reader.readexactly(size))
            seconds[number] = time.perf_counter() - start
            assert status.split()[1] == "200", answer
            results[number] = answer["results"][0]
        writer.close()
        await writer.wait_closed()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(at_once)))
    return results, seconds, time.perf_counter() - start


def load_test(requests: int = 1000, at_once: int = 64, state: int = 150, words: int = 20) -> dict[str, float]:
    """Runs the load test; returns its figures, with times in milliseconds.

    Raises:
        AssertionError: a result differs from that of the model on the example alone.
    """
    generator = random.Random(0)
    model = ar.compile(ar.models.sentiment(ar.Vocabulary(f"w{n}" for n in range(1000)), size=state).judge)
    trees = [random_tree(generator, words) for _ in range(requests)]
    bodies = [json.dumps({"examples": [tree]}) for tree in trees]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        ar.save_model(model, path)
        command = [sys.executable, __file__, str(path), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                port = int(server.stdout.readline().rpartition(":")[2])
                asyncio.run(load(port, bodies[: 2 * at_once], at_once))  # to warm up
                results, seconds, whole = asyncio.run(load(port, bodies, at_once))
            finally:
                server.terminate()
    alone = np.stack([model([tree])[0] for tree in trees])
    np.testing.assert_allclose(np.array(results), alone, rtol=1e-5, atol=1e-6)
    p50, p99 = np.percentile(seconds, [50, 99]) * 1e3
    return {
        "requests": requests,
        "at_once": at_once,
        "p50_ms": round(float(p50), 2),
        "p99_ms": round(float(p99), 2),
        "requests_per_second": round(requests / whole, 1),
    }


def builder_of(text: str) -> Callable[..., Any]:
    """The function that `FILE.py:NAME` names; imports the file, with its folder on the path."""
    file, _, name = text.rpartition(":")
    path = Path(file).resolve()
    if not path.is_file() or not name:
        raise SystemExit(f"--builder {text}: give a file and a function in it, FILE.py:NAME")
    sys.path.insert(0, str(path.parent))
    builder: Callable[..., Any] | None = getattr(importlib.import_module(path.stem), name, None)
    if builder is None:
        raise SystemExit(f"--builder {text}: {file} has no {name!r}")
    return builder


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Serve a saved model over HTTP.")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a file that ar.save_model wrote")
    parser.add_argument("--trust", action="append", default=[], metavar="PACKAGE", help="as of load_model")
    parser.add_argument("--builder", metavar="FILE.py:NAME", help="the function that builds the block")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0: any that is free (default: 8000)")
    parser.add_argument("--load-test", action="store_true", help="send 1,000 requests to a service")
    options = parser.parse_args()
    ar.set_threads(1)  # the products of a batch are small
    if options.load_test:
        print(json.dumps(load_test()))
    elif options.model is None:
        parser.error("name a model file, or --load-test")
    else:
        sys.path.insert(0, os.getcwd())  # as for `python -m`; a script has its own folder there
        builder = None if options.builder is None else builder_of(options.builder)
        try:
            model = ar.load_model(options.model, trust=options.trust, builder=builder)
        except (OSError, ValueError) as error:
            how = "name what builds its block: --builder FILE.py:NAME, or --trust PACKAGE"
            raise SystemExit(f"{error}\n{how}" if builder is None else str(error)) from None
        asyncio.run(serve(service(model), options.host, options.port))


if __name__ == "__main__":
    main()
