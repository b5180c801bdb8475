#!/usr/bin/env python3
"""One address for several servers, which keeps streams alive when a server dies.

  mtp-serve model.bin --replica --port 8081
  mtp-serve model.bin --replica --port 8082
  gate.py --port 8080 --server 127.0.0.1:8081 --server 127.0.0.1:8082

Needs Python 3.11 and nothing else.
"""

import argparse
import asyncio
import contextlib
import select
import signal
import socket
import sys

from forward import Gate, Limits, Request, error_answer
from wire import HEADER_BYTES, Broken, TooLarge, head_of, read_body, read_head, value_of, whole

REASONS = {200: "OK", 204: "No Content", 400: "Bad Request", 401: "Unauthorized",
           403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
           413: "Content Too Large", 429: "Too Many Requests", 431: "Header Too Large",
           500: "Internal Server Error", 503: "Service Unavailable", 504: "Gateway Timeout"}
IDLE_SECONDS, BODY_SECONDS, WRITE_SECONDS, LINGER_SECONDS = 75, 60, 60, 2
# Bytes that wait for a slow client. The server pauses the sequences of a stream after that.
WRITE_BYTES = 64 << 10


class Servers:
    """The servers' addresses: fixed ones, and the addresses of a name, asked for again and again.
    """

    def __init__(self, fixed, names, seconds=2):
        self.fixed, self.names, self.seconds = fixed, names, seconds
        self.found = {name: [] for name in names}

    def __call__(self):
        return list(dict.fromkeys([*self.fixed, *(a for name in self.names
                                                  for a in self.found[name])]))

    async def look_up(self):
        """Asks for the addresses of all names once."""
        loop = asyncio.get_running_loop()
        for name in self.names:
            host, _, port = name.rpartition(":")
            # A name service that does not answer changes nothing.
            with contextlib.suppress(OSError):
                places = await loop.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
                self.found[name] = sorted(f"[{p[4][0]}]:{port}" if ":" in p[4][0] else
                                          f"{p[4][0]}:{port}" for p in places)

    async def keep_looking(self):
        while self.names:
            await self.look_up()
            await asyncio.sleep(self.seconds)


class Client:
    """A client's connection: requests one after the other."""

    def __init__(self, gate, options, bodies, reader, writer):
        self.gate, self.options, self.bodies = gate, options, bodies
        self.reader, self.writer = reader, writer
        self.keeps = True
        # Whether no request has arrived that needs an answer.
        self.is_idle = True

    async def serve(self):
        self.writer.transport.set_write_buffer_limits(high=WRITE_BYTES)
        try:
            while self.keeps and await self._one():
                pass
        except Broken as error:
            self.keeps = False
            status = 413 if isinstance(error, TooLarge) else 400
            await self._write(error_answer(status, str(error)), "HTTP/1.1", False)
            # An answer is lost if bytes stay unread.
            self.writer.write_eof()
            async with asyncio.timeout(LINGER_SECONDS):
                while await self.reader.read(1 << 16):
                    pass
        finally:
            self.writer.close()

    async def _one(self):
        """Answers a request. Returns false at the end of the connection."""
        self.is_idle = True
        async with asyncio.timeout(IDLE_SECONDS):
            head = await read_head(self.reader)
        if head is None:
            return False
        self.is_idle = False
        words = head[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise Broken("expected a request of HTTP/1.1")
        method, target, version = words
        fields = head[1]
        if (value_of(fields, "expect") or "").lower() == "100-continue":
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        async with asyncio.timeout(BODY_SECONDS):
            body = await whole(read_body(self.reader, fields, False), self.options.max_body_bytes)
        options = [word.strip().lower() for key, value in fields if key.lower() == "connection"
                   for word in value.split(",")]
        self.keeps = version == "HTTP/1.1" and "close" not in options
        with self.bodies.hold(len(body)) as has_room:
            if has_room:
                await self._answer(Request(method, target, fields, body), version)
            else:
                await self._write(error_answer(503, "too many bodies wait", retry=True), version,
                                  method == "HEAD")
        return True

    async def _answer(self, request, version):
        """Writes the gate's answer; ends early if the client leaves."""
        async def answer():
            await self._write(await self.gate.answer(request), version,
                              request.method == "HEAD")

        work = asyncio.create_task(answer())
        watch = asyncio.create_task(self._leaves())
        try:
            await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
        finally:
            watch.cancel()
            if not work.done():
                self.keeps = False
                work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work

    async def _leaves(self):
        """Returns when the client has closed its side, even if unread bytes remain."""
        poll = select.poll()
        poll.register(self.writer.get_extra_info("socket").fileno(), select.POLLRDHUP)
        while not poll.poll(0):
            await asyncio.sleep(0.25)

    async def _write(self, answer, version, is_head):
        is_whole = isinstance(answer.content, bytes)
        has_chunks = version == "HTTP/1.1" and not is_whole
        fields = list(answer.fields)
        if is_whole:
            fields.append(("Content-Length", str(len(answer.content))))
        elif has_chunks:
            fields.append(("Transfer-Encoding", "chunked"))
        fields.append(("Connection", "keep-alive" if self.keeps else "close"))
        reason = REASONS.get(answer.status, "Other")
        self.writer.write(head_of(f"HTTP/1.1 {answer.status} {reason}", fields))
        if is_whole:
            self.writer.write(b"" if is_head else answer.content)
            return await self._drain()
        async with contextlib.aclosing(answer.content) as parts:
            async for part in parts:
                self.writer.write(b"%x\r\n%s\r\n" % (len(part), part) if has_chunks else part)
                await self._drain()
        if has_chunks:
            self.writer.write(b"0\r\n\r\n")
        await self._drain()

    async def _drain(self):
        """Waits until the client has taken bytes. A client that takes none is gone."""
        transport = self.writer.transport
        while True:
            before = transport.get_write_buffer_size()
            try:
                async with asyncio.timeout(WRITE_SECONDS):
                    return await self.writer.drain()
            except TimeoutError:
                if transport.get_write_buffer_size() >= before:
                    transport.abort()
                    raise ConnectionResetError("the client takes no bytes") from None


class Bodies:
    """The memory of all bodies, which stay until their answers end."""

    def __init__(self, most):
        self.left = most

    @contextlib.contextmanager
    def hold(self, count):
        has_room = count <= self.left
        self.left -= count * has_room
        try:
            yield has_room
        finally:
            self.left += count * has_room


def parse(arguments):
    parser = argparse.ArgumentParser(
        description="One address for several mtp-serve, which keeps streams alive when one dies")
    parser.add_argument("--server", action="append", default=[], metavar="HOST:PORT",
                        help="a server; give it once for each")
    parser.add_argument("--name", action="append", default=[], metavar="NAME:PORT",
                        help="a name whose addresses are all servers, looked up every 2 s")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=int, default=8080, help="the port; 0: any free port")
    parser.add_argument("--patience", type=float, default=Limits.patience, metavar="SECONDS",
                        help="how long a request waits for a server that answers (default: 20)")
    parser.add_argument("--shutdown-timeout", type=float, default=30, metavar="SECONDS",
                        help="how long answers may go on after SIGTERM (default: 30)")
    parser.add_argument("--max-body-bytes", type=int, default=16 << 20, metavar="N",
                        help="largest body of a request (default: 16 MiB)")
    parser.add_argument("--max-body-memory", type=int, default=256 << 20, metavar="N",
                        help="bytes of all bodies; further requests get 503 (default: 256 MiB)")
    options = parser.parse_args(arguments)
    if not options.server and not options.name:
        parser.error("expected --server or --name, got neither")
    for address in options.server + options.name:
        host, colon, port = address.rpartition(":")
        if not host or not colon or not port.isdigit() or not 0 < int(port) < 65536:
            parser.error(f"expected HOST:PORT, got {address!r}")
    return options


async def run(options):
    def log(line):
        print(f"gate: {line}", file=sys.stderr, flush=True)

    limits = type("Given", (Limits,), {"patience": options.patience})
    servers = Servers(options.server, options.name)
    await servers.look_up()
    gate, bodies, clients = Gate(servers, limits, log), Bodies(options.max_body_memory), {}

    async def serve(reader, writer):
        client, task = Client(gate, options, bodies, reader, writer), asyncio.current_task()
        clients[task] = client
        try:
            with contextlib.suppress(OSError, TimeoutError):
                await client.serve()
        finally:
            del clients[task]

    server = await asyncio.start_server(serve, options.host, options.port, limit=HEADER_BYTES)
    end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    looking = asyncio.create_task(servers.keep_looking())
    port = server.sockets[0].getsockname()[1]
    log(f"on http://{f'[{options.host}]' if ':' in options.host else options.host}:{port}")
    await end.wait()
    server.close()
    looking.cancel()
    for task, client in clients.items():
        client.keeps = False
        if client.is_idle:
            task.cancel()
    if clients:
        await asyncio.wait(list(clients), timeout=options.shutdown_timeout)
    for task in clients:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(run(parse(None)))
