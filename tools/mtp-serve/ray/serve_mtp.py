"""A deployment of Ray Serve: replicas of mtp-serve behind one address.

  MTP_SERVE_COMMAND="mtp-serve model.bin" serve run serve_mtp:app

Each replica runs an mtp-serve of its own and hands requests on. One of which no byte has
been answered is tried again on another replica where its own is gone; a stream that has
begun ends with an error event instead.
"""

import asyncio
import json
import os
import re
import shlex
import time

import aiohttp
from ray import serve
from ray.exceptions import RayError
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

PATIENCE = 20  # Seconds, in which a replica may come back.
HANDED_ON = ("content-type", "authorization", "x-request-id")
HANDED_BACK = ("Content-Type", "Retry-After", "X-Request-Id")


@serve.deployment(num_replicas=2, max_ongoing_requests=64, health_check_period_s=2)
class MtpServer:
    """One mtp-serve process; the session's threads are its own."""

    async def __init__(self, command):
        # A replica that is killed takes its server along.
        self.process = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "TERM", *shlex.split(command), "--port", "0",
            stderr=asyncio.subprocess.PIPE)
        self.url = None
        while self.url is None:
            line = (await self.process.stderr.readline()).decode()
            if not line:
                raise RuntimeError(f"{command}: ended before it listened")
            found = re.search(r"http://\S+:\d+$", line.strip())
            self.url = found and found[0]
        self.log = asyncio.create_task(self._drain())
        self.client = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))

    async def _drain(self):
        while await self.process.stderr.readline():
            pass
        # A replica without a server would answer first, with errors: it is made anew.
        os._exit(1)

    async def ask(self, method, path, headers, body):
        """Status and fields of the answer, and then its bytes as they come."""
        async with self.client.request(method, self.url + path, headers=headers,
                                       data=body) as reply:
            yield reply.status, {k: reply.headers[k] for k in HANDED_BACK if k in reply.headers}
            async for part in reply.content.iter_any():
                yield part


@serve.deployment(max_ongoing_requests=1024)
class Gate:
    """Hands requests to replicas, and on to another one where that is safe."""

    def __init__(self, servers):
        self.servers = servers.options(stream=True)

    async def __call__(self, request: Request):
        headers = {name: request.headers[name] for name in HANDED_ON if name in request.headers}
        call = (request.method, request.url.path, headers, await request.body())
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            parts = self.servers.ask.remote(*call)
            try:
                status, fields = await anext(parts)
                first = await anext(parts, b"")
                if status != 503:
                    return StreamingResponse(self._rest(first, parts, fields), status, fields)
            except (RayError, aiohttp.ClientError):
                pass
            # That a replica is gone or ends is known in a moment.
            await asyncio.sleep(0.2)
        error = {"error": {"message": "no replica answers", "type": "server_error"}}
        return Response(json.dumps(error), 503, {"Retry-After": "1"}, "application/json")

    async def _rest(self, first, parts, fields):
        yield first
        try:
            async for part in parts:
                yield part
        except (RayError, aiohttp.ClientError):
            if not fields.get("Content-Type", "").startswith("text/event-stream"):
                raise
            error = {"error": {"message": "the replica is gone", "type": "server_error"}}
            yield f"data: {json.dumps(error)}\n\n".encode()


app = Gate.bind(MtpServer.bind(os.environ.get("MTP_SERVE_COMMAND", "mtp-serve model.bin")))
