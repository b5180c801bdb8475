"""Requests to one of several servers, with retries, and streams that go on at another server.

A Gate needs an asyncio loop and nothing besides Python. `gate.py` serves it over HTTP, and
`../ray/serve_mtp.py` in Ray Serve.
"""

import asyncio
import hashlib
import json
import re
import secrets
import time
import uuid

from journal import Refused, journal_of
from merge import merged
from wire import (OWN_OF_ANSWERS, OWN_OF_REQUESTS, Broken, Unreachable, ask, passed_on, value_of,
                  whole)

AFFINITY = "x-prefix-affinity"
REQUEST_ID = re.compile(r"[\w.:-]{1,128}", re.A)
# Paths whose answer must not wait for a server.
PROBES = {"/health", "/v1/health", "/ping"}
# An answer that is no stream waits here until it is whole.
MOST_WHOLE = 256 << 20


class Limits:
    """Times in seconds, and numbers of attempts."""
    connect = 5
    # In which a server may come back.
    patience = 20
    pause = 0.2
    # How often a request may break a connection without any progress. A request that ends
    # servers must not end all of them.
    breaks = 3


class Request:
    """A client's request. `target` is path and query as the client wrote them."""

    def __init__(self, method, target, fields, body=b""):
        self.method, self.target, self.body = method, target, body
        self.path = target.split("?")[0]
        self.fields = passed_on(fields, OWN_OF_REQUESTS)
        self.affinity = value_of(fields, AFFINITY)
        # An answer that goes on elsewhere keeps its id. Servers replace ids of another form.
        if not REQUEST_ID.fullmatch(value_of(fields, "x-request-id") or ""):
            self.fields = [f for f in self.fields if f[0].lower() != "x-request-id"]
            self.fields.append(("X-Request-Id", uuid.uuid4().hex))


class Answer:
    """Status, fields and content: bytes, or an asynchronous generator of a stream."""

    def __init__(self, status, fields, content):
        self.status, self.fields, self.content = status, fields, content


def error_answer(status, message, retry=False):
    kind = "server_error" if status >= 500 else "invalid_request_error"
    error = {"message": message, "type": kind, "param": None, "code": None}
    fields = [("Content-Type", "application/json")]
    return Answer(status, fields + [("Retry-After", "1")] * retry,
                  json.dumps({"error": error}).encode())


def last_event(path, message):
    """Returns the event that ends a stream without its end, in the form of the path."""
    error = {"error": {"message": message, "type": "server_error"}}
    name = ""
    if path.startswith("/v1/messages"):
        error, name = {"type": "error", **error}, "event: error\n"
    elif path.startswith("/v1/responses"):
        error, name = {"type": "error", "code": "server_error", "message": message}, \
            "event: error\n"
    return f"{name}data: {json.dumps(error)}\n\n".encode()


class Gate:
    """Sends requests to servers. `servers` is a function that returns their addresses."""

    def __init__(self, servers, limits=Limits, log=lambda line: None):
        self.servers, self.limits, self.log = servers, limits, log
        # By address: requests in progress, and the time until which a server is asked last.
        self.running, self.avoided = {}, {}
        self.turn = 0
        self.counts = dict.fromkeys(("requests", "retries", "continued_streams",
                                     "failed_streams"), 0)

    def order(self, affinity):
        """Returns the addresses in the order in which to ask them. Requests of one affinity begin
        at one server, and a server that comes or goes moves only its own share of them."""
        addresses = list(self.servers())
        now = time.monotonic()
        self.avoided = {a: until for a, until in self.avoided.items() if until > now}
        if affinity is not None:
            def rank(address):
                return hashlib.blake2b(f"{affinity}\0{address}".encode()).digest()
        else:
            self.turn += 1
            turns = {a: (i + self.turn) % len(addresses) for i, a in enumerate(addresses)}

            def rank(address):
                return self.running.get(address, 0), turns[address]
        return sorted(addresses, key=lambda a: (a in self.avoided, rank(a)))

    async def answer(self, request):
        """Returns the answer to a request."""
        self.counts["requests"] += 1
        if (request.method, request.path) == ("GET", "/metrics"):
            return await self._metrics(request)
        try:
            journal = journal_of(request.method, request.path, request.body,
                                 secrets.randbits(63), int(time.time()))
        except Refused as error:
            return error_answer(400, str(error))
        attempts = Attempts(self, request, journal)
        reply = await attempts.next()
        if not reply:
            return error_answer(503, "no server answers", retry=True)
        fields = passed_on(reply.fields, OWN_OF_ANSWERS)
        if isinstance(reply.content, bytes):
            return Answer(reply.status, fields, reply.content)
        return Answer(reply.status, fields, attempts.stream(reply))

    async def _metrics(self, request):
        async def page(address):
            try:
                async with asyncio.timeout(self.limits.connect):
                    reply = await ask(address, "GET", request.target, request.fields, b"",
                                      self.limits.connect)
                    try:
                        return address, reply, await whole(reply.parts(), MOST_WHOLE)
                    finally:
                        reply.close()
            except (OSError, Broken, Unreachable, TimeoutError):
                return None

        pages = [p for p in await asyncio.gather(*map(page, list(self.servers()))) if p]
        good = [(address, text.decode()) for address, reply, text in pages if reply.status == 200]
        if pages and not good:
            reply, text = pages[0][1:]
            return Answer(reply.status, passed_on(reply.fields, OWN_OF_ANSWERS), text)
        own = f"# TYPE mtp:gate_servers gauge\nmtp:gate_servers {len(good)}\n"
        for name, count in self.counts.items():
            own += f"# TYPE mtp:gate_{name}_total counter\nmtp:gate_{name}_total {count}\n"
        return Answer(200, [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
                      (merged(good) + own).encode())


class Taken:
    """A reply that the client gets: a whole body, or the begin of a stream."""

    def __init__(self, address, reply, content):
        self.address, self.reply, self.content = address, reply, content
        self.status, self.fields = reply.status, reply.fields


class Attempts:
    """One request at one server after the other."""

    def __init__(self, gate, request, journal):
        self.gate, self.request, self.journal = gate, request, journal
        self.limits = gate.limits
        # Broken connections since the stream's last progress, and the progress at that time.
        self.breaks = self.known = 0
        self.refusal = None

    async def next(self):
        """Asks servers in turn. Returns the first reply that is not 503, a whole 503 if all
        servers gave one, or None."""
        until = time.monotonic() + self.limits.patience
        while self.breaks < self.limits.breaks:
            self.refusal = None
            for address in self.gate.order(self.request.affinity):
                if self.breaks == self.limits.breaks:
                    break
                if taken := await self._ask(address):
                    return taken
                self.gate.counts["retries"] += 1
            if self.request.path in PROBES or time.monotonic() > until:
                break
            # A server may come back.
            await asyncio.sleep(self.limits.pause)
        return self.refusal

    async def _ask(self, address):
        """Returns the reply of a server, or None if another one must be asked."""
        request = self.request
        body = self.journal.body() if self.journal else request.body
        running = self.gate.running
        running[address] = running.get(address, 0) + 1
        reply = taken = None
        try:
            reply = await ask(address, request.method, request.target, request.fields, body,
                              self.limits.connect)
            taken = await self._take(address, reply)
        except (OSError, Broken, Unreachable) as error:
            self.breaks += not isinstance(error, Unreachable)
            self.gate.avoided[address] = time.monotonic() + 1
            self.gate.log(f"{address} does not answer ({error or type(error).__name__})")
        finally:
            if not taken or isinstance(taken.content, bytes):
                self.release(address, reply)
        if taken and self._is_passing(taken.status):
            self.refusal = self.refusal or taken
            return None
        return taken

    def _is_passing(self, status):
        """Whether a status may be another one at another server. A new request gets 429 at once,
        because a server without its prompt's pages would only be slower. A begun stream waits."""
        return status == 503 or (status == 429 and self.journal and self.journal.progress > 0)

    def release(self, address, reply):
        """Records that a server no longer works on the request."""
        self.gate.running[address] -= 1
        if not self.gate.running[address]:
            del self.gate.running[address]
        if reply:
            reply.close()

    async def _take(self, address, reply):
        kind = value_of(reply.fields, "content-type") or ""
        if reply.status == 200 and kind.startswith("text/event-stream"):
            ignored = value_of(reply.fields, "x-ignored-fields") or ""
            if self.journal and "resume" in ignored.split(", "):
                self.gate.log(f"{address} has no --replica, so its streams cannot go on elsewhere")
                self.journal = None
            return Taken(address, reply, reply.parts())
        return Taken(address, reply, await whole(reply.parts(), MOST_WHOLE))

    async def stream(self, taken):
        """Yields a stream to its end, from one server after the other."""
        try:
            while taken:
                async for data in self._pass_on(taken):
                    yield data
                if not self.journal or self.journal.has_ended:
                    return
                address, reply, taken = taken.address, taken.reply, None
                self.release(address, reply)
                taken = await self._go_on(address)
            self.gate.counts["failed_streams"] += 1
            yield last_event(self.request.path, "the server is gone")
        finally:
            if taken:
                self.release(taken.address, taken.reply)

    async def _pass_on(self, taken):
        """Yields what the client may have of a server's stream."""
        try:
            async for part in taken.content:
                data = self.journal.take(part) if self.journal else part
                if data:
                    yield data
        except (OSError, Broken):
            if not self.journal:
                self.gate.counts["failed_streams"] += 1
                yield last_event(self.request.path, "the server is gone")

    async def _go_on(self, address):
        """Returns the reply of a server that continues the stream, or None."""
        before = self.journal.progress
        self.journal.cut()
        self.gate.avoided[address] = time.monotonic() + 1
        self.breaks = 0 if before > self.known else self.breaks + 1
        self.known = before
        taken = await self.next()
        if taken and isinstance(taken.content, bytes):
            self.gate.log(f"{taken.address} does not continue a stream: {taken.status} "
                          f"{taken.content[:200]!r}")
            return None
        if taken:
            self.gate.counts["continued_streams"] += 1
            self.gate.log(f"a stream of {address} goes on at {taken.address}")
        return taken
