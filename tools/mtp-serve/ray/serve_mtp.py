"""A deployment of Ray Serve: replicas of mtp-serve with one address.

  MTP_SERVE_COMMAND="mtp-serve model.bin" serve run serve_mtp:app

MTP_SERVE_REPLICAS is the number of replicas (2), and MTP_SERVE_CPUS is the number of Ray's CPUs per
replica. Without it a replica takes one, or an equal share if there are fewer. MTP_SERVE_HOST is the
address on which a replica's server listens: `127.0.0.1` on a single machine, else the node's.

Each replica runs its own mtp-serve. The gate (`../gate`) sends requests to these servers. If a
replica is gone before the first byte of an answer, the request is retried on another replica; a
stream that has begun goes on there with the same text. If replicas find no room within a minute,
the deployment ends with a message.
"""

import asyncio
import os
import pathlib
import re
import shlex
import sys
import time
import urllib.parse
import uuid

import ray
from ray import serve
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

# On each node of the cluster, unless PYTHONPATH has the gate's folder.
GATE_FOLDER = str(pathlib.Path(__file__).resolve().parent.parent / "gate")
ROOM_SECONDS = 60  # In which all replicas must find room, or none of them begins.
# A replica that has not reported for this time is gone.
REPORT_SECONDS, SILENCE_SECONDS = 1, 10
REPLICAS = int(os.environ.get("MTP_SERVE_REPLICAS", "2"))
# Ray's proxy gives an id to requests without one, and adds the id to the answer.
OWN_OF_RAY = {"x-request-id", "date", "server"}


def cpus_of_a_replica():
    """Returns the number of Ray's CPUs per replica."""
    if "MTP_SERVE_CPUS" in os.environ:
        return float(os.environ["MTP_SERVE_CPUS"])
    there = ray.cluster_resources().get("CPU", 0) if ray.is_initialized() else os.cpu_count()
    # Rounded down to Ray's unit.
    share = int(there / REPLICAS * 100) / 100
    return max(0.01, min(1.0, share))


CPUS = cpus_of_a_replica()


def host_of_a_replica():
    """Returns the address that the gate can reach."""
    nodes = [node for node in ray.nodes() if node["Alive"]]
    own = "127.0.0.1" if len(nodes) == 1 else ray.util.get_node_ip_address()
    return os.environ.get("MTP_SERVE_HOST", own)


def gate_module():
    """Returns the gate's module. Ray's workers find modules of their own path only."""
    if GATE_FOLDER not in sys.path:
        sys.path.append(GATE_FOLDER)
    import forward
    return forward


@ray.remote(num_cpus=0)
class Room:
    """Records which replicas have found room, and the addresses of their servers. Needs no room
    itself."""

    def __init__(self, wanted, seconds):
        self.wanted, self.seconds = wanted, seconds
        self.found, self.ready = set(), set()
        # By replica: its server's address, and the time of its last report.
        self.addresses = {}
        self.changed, self.failed = time.monotonic(), False

    def note(self, name, address=None):
        """Records that a replica exists, or that its server listens at an address."""
        is_new = name not in self.found or (address and name not in self.ready)
        self.found.add(name)
        if address:
            self.ready.add(name)
            self.addresses[name] = address, time.monotonic()
        if is_new:
            self.changed = time.monotonic()

    def state(self):
        """Returns the number of replicas, and whether finding room takes too long. During an
        update a replica starts only after the one before answers, which may take some time."""
        late = time.monotonic() - self.changed > self.seconds
        self.failed |= late and len(self.found) < self.wanted and self.found <= self.ready
        return len(self.found), self.failed

    def servers(self):
        """Returns the addresses of replicas that report."""
        until = time.monotonic() - SILENCE_SECONDS
        self.addresses = {name: (address, at) for name, (address, at) in self.addresses.items()
                          if at > until}
        return sorted(address for address, _ in self.addresses.values())


class Place:
    """A part's own view of the room."""

    def __init__(self, deployment, cpus, seconds):
        self.cpus, self.seconds = cpus, seconds
        self.name = ray.get_runtime_context().get_actor_id()
        self.room = Room.options(name=f"mtp-room-{deployment}", namespace="mtp",
                                 lifetime="detached", get_if_exists=True
                                 ).remote(REPLICAS, seconds)

    async def wait(self):
        """Raises an error if a replica finds no room within the limit. Otherwise Ray would wait
        forever, and the gate's address would not answer."""
        while True:
            found, failed = await self.room.state.remote()
            if failed:
                there = ray.cluster_resources().get("CPU", 0)
                raise RuntimeError(
                    f"expected room for {REPLICAS} replicas (MTP_SERVE_REPLICAS) of "
                    f"{self.cpus:g} CPUs each (MTP_SERVE_CPUS) within {self.seconds:g} s, found "
                    f"it for {found} replicas; Ray has {there:g} CPUs in all")
            if found >= REPLICAS:
                return
            await asyncio.sleep(0.2)


@serve.deployment(num_replicas=REPLICAS, max_ongoing_requests=64, health_check_period_s=2)
class MtpServer:
    """One mtp-serve process with its own threads."""

    async def __init__(self, command, *room):
        place = Place(*room)
        await place.room.note.remote(place.name)
        host = host_of_a_replica()
        # The server ends with its replica, even if the replica is killed.
        self.process = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "TERM", *shlex.split(command), "--replica", "--host", host,
            "--port", "0", stderr=asyncio.subprocess.PIPE)
        found = None
        while found is None:
            line = (await self.process.stderr.readline()).decode()
            if not line:
                raise RuntimeError(f"{command}: ended before it listened")
            found = re.search(r"http://(\S+:\d+)$", line.strip())
        await place.room.note.remote(place.name, found[1])
        self.tasks = [asyncio.create_task(self._drain()),
                      asyncio.create_task(self._report(place, found[1]))]

    async def _drain(self):
        while await self.process.stderr.readline():
            pass
        # A replica without a server is of no use, so it is replaced.
        os._exit(1)

    async def _report(self, place, address):
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            await place.room.note.remote(place.name, address)


@serve.deployment(max_ongoing_requests=1024, ray_actor_options={"num_cpus": 0})
class Gate:
    """Forwards requests to servers. It only forwards bytes and waits, so it needs no CPU of Ray."""

    async def __init__(self, servers, *room):
        place = Place(*room)
        await place.wait()
        # Ray starts the replicas because the gate has their handle.
        self.replicas = servers
        self.addresses = await place.room.servers.remote()
        self.task = asyncio.create_task(self._look(place))
        self.gate = gate_module().Gate(lambda: self.addresses,
                                       log=lambda line: print(f"gate: {line}", flush=True))

    async def _look(self, place):
        while True:
            await asyncio.sleep(REPORT_SECONDS / 4)
            self.addresses = await place.room.servers.remote()

    async def __call__(self, request: Request):
        fields = [(key.decode("latin-1"), value.decode("latin-1"))
                  for key, value in request.headers.raw]
        answer = await self.gate.answer(gate_module().Request(
            request.method, self._target(request), fields, await request.body()))
        is_whole = isinstance(answer.content, bytes)
        reply = (Response if is_whole else StreamingResponse)(answer.content, answer.status)
        length = [(b"content-length", str(len(answer.content)).encode())] if is_whole else []
        reply.raw_headers = length + [(key.lower().encode("latin-1"), value.encode("latin-1"))
                                      for key, value in answer.fields
                                      if key.lower() not in OWN_OF_RAY]
        return reply

    @staticmethod
    def _target(request):
        """Returns path and query as the client wrote them."""
        path = request.scope.get("raw_path") or urllib.parse.quote(request.url.path).encode()
        query = request.scope.get("query_string", b"")
        return (path.split(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1")


def build(command, cpus=CPUS, seconds=ROOM_SECONDS):
    """Returns a deployment. Its parts meet under a unique name to find out whether there is room.
    """
    room = uuid.uuid4().hex, cpus, seconds
    servers = MtpServer.options(ray_actor_options={"num_cpus": cpus})
    return Gate.bind(servers.bind(command, *room), *room)


app = build(os.environ.get("MTP_SERVE_COMMAND", "mtp-serve model.bin"))
