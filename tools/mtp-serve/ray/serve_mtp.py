"""A deployment of Ray Serve: replicas of mtp-serve with one address.

  MTP_SERVE_COMMAND="mtp-serve model.bin" serve run serve_mtp:app

MTP_SERVE_REPLICAS is the number of replicas (2), and MTP_SERVE_CPUS is the number of Ray's CPUs per
replica. Without it a replica takes one, or an equal share if there are fewer.

Each replica runs its own mtp-serve and forwards requests to it. If a replica is gone before the
first byte of an answer, the request is retried on another replica; a stream that has begun ends
with an error event instead. If replicas find no room within a minute, the deployment ends with a
message.
"""

import asyncio
import json
import os
import re
import shlex
import time
import urllib.parse
import uuid

import aiohttp
import multidict
import ray
import yarl
from ray import serve
from ray.exceptions import RayError
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

PATIENCE = 20  # Seconds in which a replica may come back.
ROOM_SECONDS = 60  # In which the gate and all replicas must find room, or none of them begins.
REPLICAS = int(os.environ.get("MTP_SERVE_REPLICAS", "2"))
# The gate only forwards bytes and waits.
GATE_CPUS = 0.1
# Fields of a single connection (RFC 9110, 7.6.1), and fields that each end sets itself.
OWN_FIELDS = {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
              "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
OWN_OF_REQUESTS = OWN_FIELDS | {"host", "content-length", "expect"}
# Ray's proxy gives an id to requests without one, and adds the id to the answer.
OWN_OF_ANSWERS = OWN_FIELDS | {"x-request-id", "date", "server"}


def cpus_of_a_replica():
    """Returns the number of Ray's CPUs per replica."""
    if "MTP_SERVE_CPUS" in os.environ:
        return float(os.environ["MTP_SERVE_CPUS"])
    there = ray.cluster_resources().get("CPU", 0) if ray.is_initialized() else os.cpu_count()
    # Rounded down to Ray's unit.
    share = int((there - GATE_CPUS) / REPLICAS * 100) / 100
    return max(0.01, min(1.0, share))


CPUS = cpus_of_a_replica()


def passed_on(fields, own):
    """Returns the end-to-end fields of a message, unchanged."""
    named = {name.strip().lower() for key, value in fields if key.lower() == "connection"
             for name in value.split(",")}
    return [(key, value) for key, value in fields
            if key.lower() not in own and key.lower() not in named]


@ray.remote(num_cpus=0)
class Room:
    """Records which parts of a deployment have found room; needs no room itself."""

    def __init__(self, wanted, seconds):
        self.wanted, self.seconds = wanted, seconds
        self.gate, self.found, self.ready = False, set(), set()
        self.changed, self.failed = time.monotonic(), False

    def note(self, kind, name):
        """Records that a part exists ("gate", "found") or answers requests ("ready")."""
        if kind == "gate":
            self.gate = True
        else:
            getattr(self, kind).add(name)
        self.changed = time.monotonic()

    def state(self):
        """Returns whether the gate exists, the number of replicas, and whether finding room takes
        too long. During an update a replica starts only after the one before answers, which may
        take some time."""
        late = time.monotonic() - self.changed > self.seconds
        waits = len(self.found) < self.wanted and self.found <= self.ready
        self.failed |= late and (waits or not self.gate)
        return self.gate, len(self.found), self.failed


class Place:
    """A part's own view of the room."""

    def __init__(self, deployment, cpus, seconds):
        self.cpus, self.seconds = cpus, seconds
        self.name = ray.get_runtime_context().get_actor_id()
        self.room = Room.options(name=f"mtp-room-{deployment}", namespace="mtp",
                                 lifetime="detached", get_if_exists=True
                                 ).remote(REPLICAS, seconds)

    async def note(self, kind):
        await self.room.note.remote(kind, self.name)

    async def wait(self, is_enough):
        """Raises an error if a part finds no room within the limit. Otherwise Ray would wait
        forever, and the gate's address would not answer."""
        while True:
            gate, found, failed = await self.room.state.remote()
            if failed:
                there = ray.cluster_resources().get("CPU", 0)
                raise RuntimeError(
                    f"expected room for {REPLICAS} replicas (MTP_SERVE_REPLICAS) of "
                    f"{self.cpus:g} CPUs each (MTP_SERVE_CPUS) and a gate of {GATE_CPUS:g} "
                    f"within {self.seconds:g} s, found it for {found} replicas and "
                    f"{'the' if gate else 'no'} gate; Ray has {there:g} CPUs in all")
            if is_enough(gate, found):
                return
            await asyncio.sleep(0.2)


@serve.deployment(num_replicas=REPLICAS, max_ongoing_requests=64, health_check_period_s=2)
class MtpServer:
    """One mtp-serve process with its own threads."""

    async def __init__(self, command, *room):
        place = Place(*room)
        await place.note("found")
        await place.wait(lambda gate, found: gate)
        # The server ends with its replica, even if the replica is killed.
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
        self.client = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None),
                                            auto_decompress=False)
        await place.note("ready")

    async def _drain(self):
        while await self.process.stderr.readline():
            pass
        # A replica without a server would answer first, with errors, so it is replaced.
        os._exit(1)

    async def ask(self, method, target, fields, body):
        """Yields status and fields of the answer, then its bytes as they arrive."""
        # The target is encoded already.
        url = yarl.URL(self.url + target, encoded=True)
        skipped = {"User-Agent", "Accept", "Accept-Encoding", "Content-Type"}
        async with self.client.request(method, url, headers=multidict.CIMultiDict(fields),
                                       data=body, skip_auto_headers=skipped,
                                       allow_redirects=False) as reply:
            yield reply.status, passed_on(list(reply.headers.items()), OWN_OF_ANSWERS)
            async for part in reply.content.iter_any():
                yield part


@serve.deployment(max_ongoing_requests=1024, ray_actor_options={"num_cpus": GATE_CPUS})
class Gate:
    """Forwards requests to replicas, and retries on another one if that is safe."""

    async def __init__(self, servers, *room):
        place = Place(*room)
        await place.note("gate")
        await place.wait(lambda gate, found: found >= REPLICAS)
        self.servers = servers.options(stream=True)

    async def __call__(self, request: Request):
        fields = passed_on([(key.decode("latin-1"), value.decode("latin-1"))
                            for key, value in request.headers.raw], OWN_OF_REQUESTS)
        call = (request.method, self._target(request), fields, await request.body())
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            parts = self.servers.ask.remote(*call)
            try:
                status, answered = await anext(parts)
                first = await anext(parts, b"")
                if status != 503:
                    return self._answer(status, answered, self._rest(first, parts, answered))
            except (RayError, aiohttp.ClientError):
                pass
            # Ray needs a moment to notice that a replica is gone.
            await asyncio.sleep(0.2)
        error = {"error": {"message": "no replica answers", "type": "server_error"}}
        return Response(json.dumps(error), 503, {"Retry-After": "1"}, "application/json")

    @staticmethod
    def _target(request):
        """Returns path and query as the client wrote them."""
        path = request.scope.get("raw_path") or urllib.parse.quote(request.url.path).encode()
        query = request.scope.get("query_string", b"")
        return (path.split(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1")

    @staticmethod
    def _answer(status, fields, content):
        answer = StreamingResponse(content, status)
        answer.raw_headers = [(key.lower().encode("latin-1"), value.encode("latin-1"))
                              for key, value in fields]
        return answer

    async def _rest(self, first, parts, fields):
        yield first
        try:
            async for part in parts:
                yield part
        except (RayError, aiohttp.ClientError):
            types = [value for key, value in fields if key.lower() == "content-type"]
            if not any(value.startswith("text/event-stream") for value in types):
                raise
            error = {"error": {"message": "the replica is gone", "type": "server_error"}}
            yield f"data: {json.dumps(error)}\n\n".encode()


def build(command, cpus=CPUS, seconds=ROOM_SECONDS):
    """Returns a deployment. Its parts meet under a unique name to find out whether there is room.
    """
    room = uuid.uuid4().hex, cpus, seconds
    servers = MtpServer.options(ray_actor_options={"num_cpus": cpus})
    return Gate.bind(servers.bind(command, *room), *room)


app = build(os.environ.get("MTP_SERVE_COMMAND", "mtp-serve model.bin"))
