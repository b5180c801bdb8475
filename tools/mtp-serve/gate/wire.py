"""HTTP/1.1 over asyncio's streams: what a gate needs of a client and of a server."""

import asyncio
import socket

HEADER_BYTES = 64 << 10
# Fields of a single connection (RFC 9110, 7.6.1), and fields that each end sets itself.
OWN_FIELDS = {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
              "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
OWN_OF_REQUESTS = OWN_FIELDS | {"host", "content-length", "expect"}
OWN_OF_ANSWERS = OWN_FIELDS | {"content-length"}
TOKEN = set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")


class Broken(Exception):
    """A message that is no HTTP/1.1 or ends too early."""


class TooLarge(Broken):
    """A body above the limit."""


class Unreachable(Exception):
    """A server without a connection, to which nothing was sent."""


def passed_on(fields, own=OWN_FIELDS):
    """Returns the end-to-end fields of a message, unchanged."""
    named = {name.strip().lower() for key, value in fields if key.lower() == "connection"
             for name in value.split(",")}
    return [(key, value) for key, value in fields
            if key.lower() not in own and key.lower() not in named]


def value_of(fields, name):
    """Returns the value of a field, or None."""
    return next((value for key, value in fields if key.lower() == name), None)


def watch_for_silence(writer):
    """Lets the kernel end a connection whose other end has vanished without a word."""
    end = writer.get_extra_info("socket")
    for level, option, value in ((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
                                 (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10),
                                 (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
                                 (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
                                 (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)):
        end.setsockopt(level, option, value)


async def read_head(reader):
    """Returns the first line and the fields of a message; None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise Broken("the header is cut") from error
        return None
    except asyncio.LimitOverrunError as error:
        raise Broken("the header is too long") from error
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    fields = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or not set(name.lower()) <= TOKEN:
            raise Broken(f"a line of the header is no field: {line[:80]!r}")
        fields.append((name, value.strip(" \t")))
    return first, fields


async def read_chunks(reader):
    """Yields the content of the chunks of a body."""
    while True:
        line = await reader.readuntil(b"\r\n")
        digits = line.split(b";")[0].strip()
        if not digits or not set(digits.lower()) <= set(b"0123456789abcdef"):
            raise Broken("a chunk has no size")
        left = int(digits, 16)
        if left == 0:
            break
        while left > 0:
            part = await reader.read(min(left, 1 << 16))
            if not part:
                raise Broken("a chunk is cut")
            left -= len(part)
            yield part
        if await reader.readexactly(2) != b"\r\n":
            raise Broken("a chunk has no end")
    # Fields after the body are of no use.
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass


async def read_body(reader, fields, ends_with_connection):
    """Yields the bytes of a body. `ends_with_connection`: whether a body without a length is
    the rest of the connection (of an answer), or empty (of a request)."""
    coding, length = value_of(fields, "transfer-encoding"), value_of(fields, "content-length")
    try:
        if coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise Broken("the body's length is not certain")
            async for part in read_chunks(reader):
                yield part
        elif length is not None:
            if not length.isascii() or not length.isdigit():
                raise Broken("the body's length is no number")
            left = int(length)
            while left > 0:
                part = await reader.read(min(left, 1 << 16))
                if not part:
                    raise Broken("the body is cut")
                left -= len(part)
                yield part
        elif ends_with_connection:
            while part := await reader.read(1 << 16):
                yield part
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise Broken("the body is cut") from error


async def whole(parts, most):
    """Returns a body of at most `most` bytes."""
    body = bytearray()
    async for part in parts:
        body += part
        if len(body) > most:
            raise TooLarge(f"expected a body of at most {most} bytes")
    return bytes(body)


def head_of(first, fields):
    """Returns the bytes of a header. A field with a line break would be a field of its own."""
    lines = [first, *(f"{name}: {value}" for name, value in fields)]
    if any("\r" in line or "\n" in line for line in lines):
        raise Broken("a field has a line break")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Reply:
    """A server's answer, whose body arrives later."""

    def __init__(self, reader, writer, status, fields, has_body):
        self.reader, self.writer = reader, writer
        self.status, self.fields, self.has_body = status, fields, has_body

    def parts(self):
        """Yields the body's bytes as they arrive. A Broken or an OSError means a cut."""
        if not self.has_body:
            return read_body(self.reader, [], False)
        return read_body(self.reader, self.fields, True)

    def close(self):
        self.writer.transport.abort()


async def ask(address, method, target, fields, body, seconds):
    """Sends a request to "host:port"; returns the reply once its header is there. Connecting may
    take `seconds`. Fails with Unreachable, Broken or an OSError."""
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port),
                                                           limit=HEADER_BYTES)
    except (OSError, TimeoutError) as error:
        raise Unreachable(str(error) or "no connection in time") from error
    try:
        watch_for_silence(writer)
        sent = [("Host", address), *fields, ("Connection", "close")]
        if body or method == "POST":
            sent.append(("Content-Length", str(len(body))))
        writer.write(head_of(f"{method} {target} HTTP/1.1", sent) + body)
        await writer.drain()
        status = 100
        while status < 200:
            head = await read_head(reader)
            first = head[0].split(" ", 2) if head else []
            if len(first) < 2 or not first[0].startswith("HTTP/1.") or not first[1].isdigit():
                raise Broken("the server's answer is no HTTP/1.1")
            status = int(first[1])
        return Reply(reader, writer, status, head[1],
                     method != "HEAD" and status not in (204, 304))
    except BaseException:
        writer.transport.abort()
        raise
