"""gate_units.py GATE: tests the modules of the gate in the folder GATE with fake servers."""
import asyncio, contextlib, io, json, os, signal, subprocess, sys, types, unittest

GATE = sys.argv.pop(1)
sys.path.insert(0, GATE)
import forward, gate, journal, merge, wire

BODY = b' {"prompt": "a", "stream": true}'


def comment(text):
    return b": resume " + json.dumps(text).encode() + b"\n\n"


def event(text):
    return b"data: " + json.dumps(text).encode() + b"\n\n"


class JournalTest(unittest.TestCase):
    def journal(self, body, path="/v1/completions", method="POST"):
        return journal.journal_of(method, path, body, 7, 5)

    def test_marks_streams_alone(self):
        for path in journal.PATHS:
            self.assertTrue(self.journal(BODY, path))
            self.assertTrue(self.journal(BODY, path + "/"))
        for body in (b"", b"{}", b"[]", b'{"stream": false}', b'{"stream": 1}', b"\xff{}",
                     b'\xef\xbb\xbf{"stream": true}', b"[" * 100000, b'{"stream": true'):
            self.assertIsNone(self.journal(body))
        self.assertIsNone(self.journal(BODY, "/tokenize"))
        self.assertIsNone(self.journal(BODY, method="PUT"))

    def test_leaves_streams_that_cannot_go_on(self):
        def marked(**members):
            return self.journal(json.dumps({"stream": True, **members}).encode()) is not None
        for name in journal.UNCONTINUED:
            self.assertTrue(marked(**{name: None}))
            self.assertFalse(marked(**{name: 1}), name)
        for name in ("logprobs", "presence_penalty", "tools", "response_format", "grammar",
                     "bad_words"):
            self.assertTrue(marked(**{name: 1}), name)
        self.assertTrue(marked(include=["message.output_text.logprobs"]))

    def test_keeps_scores_with_their_tokens(self):
        one = self.journal(BODY)
        for tokens, scores in (([4], [[1]]), ([], None), ([5, 6], [[2, 0, 3], [-4]])):
            answer = {"index": 0, "tokens": tokens}
            if scores:
                answer["scores"] = scores
            one.take(comment({"events": 1, "answers": [answer]}))
        self.assertEqual(json.loads(one.body())["resume"]["answers"], [
            {"tokens": [4, 5, 6], "scores": [[1], [2, 0, 3], [-4]]}])

    def test_keeps_the_clients_bytes(self):
        body = self.journal(BODY).body()
        self.assertTrue(body.startswith(b" {") and body.endswith(BODY[2:]))
        self.assertEqual(json.loads(body), {"prompt": "a", "stream": True, "resume": {
            "seed": 7, "created": 5, "events": 0}})

    def test_refuses_the_field_of_a_client(self):
        for value in (b"null", b"{}"):
            with self.assertRaises(journal.Refused):
                self.journal(b'{"resume": ' + value + b"}")

    def test_gives_events_that_tokens_account_for(self):
        first = event("a") + event("b") + comment(
            {"events": 2, "answers": [{"index": 2, "tokens": [1, 2]}, {"index": 0, "tokens": []}]})
        second = event("c") + comment({"events": 3, "answers": [
            {"index": 2, "tokens": [3], "finish": "length"}]})
        all_bytes = first + second + event("d") + b"data: x"
        shown = event("a") + event("b") + event("c")
        for size in (1, 2, 3, 7, 1000):
            one = self.journal(BODY)
            given = b"".join(one.take(all_bytes[i:i + size])
                             for i in range(0, len(all_bytes), size))
            self.assertEqual(given, shown)
            self.assertFalse(one.has_ended)
            self.assertEqual(json.loads(one.body())["resume"], {
                "seed": 7, "created": 5, "events": 3, "answers": [
                    {"tokens": []}, None, {"tokens": [1, 2, 3], "finish": "length"}]})
            one.cut()
            self.assertEqual(one.take(event("e") + comment({"end": True})), event("e"))
            self.assertTrue(one.has_ended)


class MergeTest(unittest.TestCase):
    def test_keeps_metrics_together(self):
        page = ('# HELP a:x Help "text"\n# TYPE a:x counter\na:x{m="1"} 1\na:x{} 2\n'
                "# TYPE b histogram\nb_bucket{le=\"+Inf\"} 4\nb_sum 5\n")
        self.assertEqual(merge.merged([("h:1", page), ('q"\\', page)]), (
            '# HELP a:x Help "text"\n# TYPE a:x counter\n'
            'a:x{replica="h:1",m="1"} 1\na:x{replica="h:1"} 2\n'
            'a:x{replica="q\\"\\\\",m="1"} 1\na:x{replica="q\\"\\\\"} 2\n'
            '# TYPE b histogram\nb_bucket{replica="h:1",le="+Inf"} 4\nb_sum{replica="h:1"} 5\n'
            'b_bucket{replica="q\\"\\\\",le="+Inf"} 4\nb_sum{replica="q\\"\\\\"} 5\n'))


class WireTest(unittest.IsolatedAsyncioTestCase):
    async def read(self, data, fields=(), is_answer=False):
        reader = asyncio.StreamReader(limit=1 << 10)
        reader.feed_data(data)
        reader.feed_eof()
        return await wire.whole(wire.read_body(reader, list(fields), is_answer), 100)

    async def test_reads_bodies(self):
        chunked = [("Transfer-Encoding", "chunked")]
        self.assertEqual(
            await self.read(b"3;x=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\nrest", chunked),
            b"abc0123456789")
        self.assertEqual(await self.read(b"abcd", [("Content-Length", "3")]), b"abc")
        self.assertEqual(await self.read(b"abcd"), b"")
        self.assertEqual(await self.read(b"abcd", is_answer=True), b"abcd")
        for data in (b"3\r\nab", b"x\r\nabc\r\n", b"3\r\nabcd\r\n", b"-1\r\n", b"3\r\nabc\r\n",
                     b"", b"f" * 2000):
            with self.assertRaises(wire.Broken, msg=data):
                await self.read(data, chunked)
        for fields in ([("Content-Length", "4")], [("Content-Length", "+3")],
                       [("Content-Length", "\u00b3")], [("Transfer-Encoding", "gzip, chunked")],
                       [*chunked, ("Content-Length", "3")]):
            with self.assertRaises(wire.Broken, msg=fields):
                await self.read(b"abc", fields)
        with self.assertRaises(wire.TooLarge):
            await self.read(b"a" * 101, [("Content-Length", "101")])

    async def test_reads_heads(self):
        async def read(data):
            reader = asyncio.StreamReader(limit=1 << 10)
            reader.feed_data(data)
            reader.feed_eof()
            return await wire.read_head(reader)
        self.assertIsNone(await read(b""))
        self.assertEqual(await read(b"GET / HTTP/1.1\r\nA: 1 \r\nb:\r\n\r\n"),
                         ("GET / HTTP/1.1", [("A", "1"), ("b", "")]))
        for data in (b"GET", b"a" * 3000, b"x\r\nno field\r\n\r\n", b"x\r\n: 1\r\n\r\n",
                     b"x\r\nA : 1\r\n\r\n", b"x\r\nA: 1\r\n B: 2\r\n\r\n"):
            with self.assertRaises(wire.Broken, msg=data):
                await read(data)
        with self.assertRaises(wire.Broken):
            wire.head_of("HTTP/1.1 200 OK", [("A", "1\r\nB: 2")])

    def test_fields_of_one_connection_stay(self):
        fields = [("Connection", "X-Own, close"), ("x-own", "1"), ("TE", "x"), ("A", "1"),
                  ("A", "2")]
        self.assertEqual(wire.passed_on(fields), [("A", "1"), ("A", "2")])


class Server:
    """A server that answers request i with `script[i]`, and the last element again and again."""

    def __init__(self, *script):
        self.script, self.requests, self.left = list(script), [], 0

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *rest):
        self.server.close()

    async def _serve(self, reader, writer):
        first, fields = await wire.read_head(reader)
        body = await wire.whole(wire.read_body(reader, fields, False), 1 << 20)
        self.requests.append(types.SimpleNamespace(first=first, fields=fields, body=body))
        step = self.script[min(len(self.requests), len(self.script)) - 1]
        for part in step if isinstance(step, (list, tuple)) else [step]:
            if part is None:
                # Waits for the end of the connection.
                await reader.read()
                self.left += 1
            else:
                writer.write(part)
        with contextlib.suppress(OSError):
            await writer.drain()
        writer.close()

    def resume(self, index):
        return json.loads(self.requests[index].body)["resume"]


def stream(*parts, end=True, fields=b""):
    """Returns the answer of a stream, whole or cut."""
    text = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + fields +
            b"Transfer-Encoding: chunked\r\n\r\n" + text + (b"0\r\n\r\n" if end else b""))


def plain(status, text=b"{}", fields=b"", length=None):
    return (b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s"
            % (status, fields, len(text) if length is None else length, text))


FIRST = event(1) + comment({"events": 0, "answers": [{"index": 0, "tokens": [4, 5]}]})
SECOND = event(2) + comment({"events": 0, "answers": [{"index": 0, "tokens": [6]}]})
LAST = event(3) + b"data: [DONE]\n\n" + comment({"end": True})
DEAD = "127.0.0.1:9"


class GateTest(unittest.IsolatedAsyncioTestCase):
    def gate(self, *addresses):
        limits = type("Short", (forward.Limits,), {"patience": 0.5, "pause": 0.01})
        self.lines = []
        return forward.Gate(lambda: addresses, limits, self.lines.append)

    async def ask(self, asked, method="POST", target="/v1/completions", fields=(), body=BODY):
        """Returns status, fields and content of an answer."""
        answer = await asked.answer(forward.Request(method, target, list(fields), body))
        content = answer.content
        if not isinstance(content, bytes):
            content = b"".join([part async for part in content])
        self.assertEqual(asked.running, {})
        return answer.status, answer.fields, content

    async def test_a_stream_goes_on_elsewhere(self):
        async with Server(stream(FIRST, event(9), b"data: 1", end=False)) as one, \
                Server(stream(SECOND, LAST)) as two:
            asked = self.gate(one.address, two.address)
            asked.turn = 1
            status, _, content = await self.ask(asked)
            self.assertEqual((status, content), (200, event(1) + event(2) + event(3) +
                                                 b"data: [DONE]\n\n"))
            new, rest = one.resume(0), two.resume(0)
            self.assertEqual(rest, {**new, "answers": [{"tokens": [4, 5]}]})
            ids = [wire.value_of(s.requests[0].fields, "x-request-id") for s in (one, two)]
            self.assertEqual(len(set(ids)), 1)
            self.assertEqual(asked.counts["continued_streams"], 1)

    async def test_a_stream_may_move_often(self):
        async with Server(*[stream(FIRST, end=False)] * 8, stream(LAST)) as one:
            asked = self.gate(one.address, DEAD)
            content = (await self.ask(asked))[2]
            self.assertEqual(content, event(1) * 8 + event(3) + b"data: [DONE]\n\n")
            self.assertEqual(one.resume(8)["answers"][0]["tokens"], [4, 5] * 8)

    async def test_a_request_that_ends_servers_is_given_up(self):
        for begin in (b"", stream(end=False), stream(event(1), end=False)):
            async with Server(begin) as one, Server(begin) as two:
                status, _, content = await self.ask(self.gate(one.address, two.address))
                self.assertEqual(len(one.requests + two.requests), 3)
                self.assertEqual(status, 200 if begin else 503)
                self.assertIn(b"server_error", content)
        # Also after some progress.
        async with Server(stream(FIRST, end=False), b"") as one:
            status, _, content = await self.ask(self.gate(one.address))
            self.assertEqual(len(one.requests), 4)
            self.assertTrue(content.startswith(event(1) + b'data: {"error"'), content)

    async def test_the_last_event_has_the_form_of_its_path(self):
        for path, begin in (("/v1/messages", b'event: error\ndata: {"type": "error", "error"'),
                            ("/v1/responses", b'event: error\ndata: {"type": "error", "code"')):
            async with Server(stream(end=False)) as one:
                content = (await self.ask(self.gate(one.address), target=path))[2]
                self.assertTrue(content.startswith(begin), content)

    async def test_a_refused_continuation_ends_the_stream(self):
        async with Server(stream(FIRST, end=False), plain(400)) as one:
            content = (await self.ask(self.gate(one.address)))[2]
            self.assertTrue(content.startswith(event(1) + b'data: {"error"'), content)
            self.assertEqual(len(one.requests), 2)

    async def test_a_begun_stream_waits_for_a_busy_server(self):
        async with Server(stream(FIRST, end=False), plain(429), plain(503), stream(LAST)) as one:
            content = (await self.ask(self.gate(one.address)))[2]
            self.assertEqual(content, event(1) + event(3) + b"data: [DONE]\n\n")

    async def test_a_server_without_the_flag_streams_like_before(self):
        fields = b"X-Ignored-Fields: other, resume\r\n"
        for end in (True, False):
            async with Server(stream(event(1), end=end, fields=fields)) as one:
                content = (await self.ask(self.gate(one.address)))[2]
                self.assertEqual(content == event(1), end)
                self.assertEqual(len(one.requests), 1)

    async def test_whole_answers_are_retried(self):
        body = b'{"prompt": "a"}'
        async with Server(plain(200, b"ab", length=9), plain(200, b"good")) as one:
            status, _, content = await self.ask(self.gate(one.address), body=body)
            self.assertEqual((status, content), (200, b"good"))
            # Nothing is added to a request that is no stream.
            self.assertEqual([r.body for r in one.requests], [body] * 2)

    async def test_another_server_is_asked_after_503_alone(self):
        async with Server(plain(503)) as one, Server(plain(200, b"good")) as two:
            for _ in range(4):
                self.assertEqual((await self.ask(self.gate(DEAD, one.address, two.address)))[2],
                                 b"good")
            self.assertEqual((await self.ask(self.gate(one.address)))[0], 503)
        for status in (400, 401, 404, 413, 429, 500, 504):
            async with Server(plain(status, fields=b"Retry-After: 3\r\n")) as one:
                got, fields, _ = await self.ask(self.gate(one.address))
                self.assertEqual((got, wire.value_of(fields, "retry-after")), (status, "3"))
                self.assertEqual(len(one.requests), 1)
        status, fields, _ = await self.ask(self.gate(DEAD))
        self.assertEqual((status, wire.value_of(fields, "retry-after")), (503, "1"))
        self.assertEqual((await self.ask(self.gate()))[0], 503)

    async def test_a_probe_does_not_wait(self):
        asked = self.gate(DEAD)
        asked.limits.patience = 1000
        self.assertEqual((await self.ask(asked, "GET", "/health", body=b""))[0], 503)

    async def test_a_client_may_not_continue_a_stream(self):
        body = b'{"stream": true, "resume": {"answers": []}}'
        status, _, content = await self.ask(self.gate(DEAD), body=body)
        self.assertEqual(status, 400)
        self.assertIn(b"'resume'", content)

    async def test_passes_on_what_is_no_connections(self):
        async with Server(plain(200, fields=b"Set-Cookie: a\r\nSet-Cookie: b\r\nConnection: x\r\n"
                                            b"X: 1\r\n")) as one:
            fields = [("X-Request-Id", "mine"), ("X-Prefix-Affinity", "chat-17"), ("Host", "gate"),
                      ("Authorization", "Bearer key"), ("Connection", "Y"), ("Y", "1")]
            target = "/v1/models/a%2Fb?x=1&y=%2F"
            _, answered, _ = await self.ask(self.gate(one.address), "GET", target, fields, b"")
            self.assertEqual(one.requests[0].first, f"GET {target} HTTP/1.1")
            self.assertEqual(one.requests[0].fields, [
                ("Host", one.address), ("X-Request-Id", "mine"), ("X-Prefix-Affinity", "chat-17"),
                ("Authorization", "Bearer key"), ("Connection", "close")])
            self.assertEqual(answered, [("Content-Type", "application/json"), ("Set-Cookie", "a"),
                                        ("Set-Cookie", "b")])
            await self.ask(self.gate(one.address), fields=[("X-Request-Id", "no good")])
            self.assertNotEqual(wire.value_of(one.requests[1].fields, "x-request-id"), "no good")

    def test_affinity_moves_only_the_share_of_a_server(self):
        addresses = [f"10.0.0.{i}:1" for i in range(4)]
        asked = self.gate(*addresses)
        before = {f"chat-{i}": asked.order(f"chat-{i}") for i in range(400)}
        self.assertEqual(before, {key: asked.order(key) for key in before})
        shares = [sum(order[0] == a for order in before.values()) for a in addresses]
        self.assertTrue(all(60 < share < 140 for share in shares), shares)
        less = self.gate(*addresses[1:])
        for key, order in before.items():
            self.assertEqual(less.order(key), [a for a in order if a != addresses[0]])

    def test_others_go_to_the_server_with_the_fewest_requests(self):
        asked = self.gate("a:1", "b:1", "c:1")
        asked.running = {"a:1": 2, "b:1": 1, "c:1": 1}
        self.assertEqual({asked.order(None)[0] for _ in range(6)}, {"b:1", "c:1"})
        asked.avoided = {"b:1": float("inf"), "c:1": 0}
        self.assertEqual({asked.order(None)[0] for _ in range(6)}, {"c:1"})

    async def test_a_server_learns_that_the_client_is_gone(self):
        async with Server([stream(FIRST, end=False), None]) as one:
            asked = self.gate(one.address)
            answer = await asked.answer(forward.Request("POST", "/v1/completions", [], BODY))
            self.assertEqual(await anext(answer.content), event(1))
            await answer.content.aclose()
            for _ in range(100):
                await asyncio.sleep(0.01)
            self.assertEqual((one.left, asked.running), (1, {}))

    async def test_merges_metrics(self):
        page = plain(200, b"# TYPE a counter\na 1\n")
        async with Server(page) as one, Server(page) as two, Server(plain(401)) as closed:
            asked = self.gate(one.address, two.address, DEAD, closed.address)
            fields = [("Authorization", "Bearer key")]
            status, _, text = await self.ask(asked, "GET", "/metrics", fields, b"")
            lines = text.decode().splitlines()
            self.assertEqual(status, 200)
            for address in (one.address, two.address):
                self.assertIn(f'a{{replica="{address}"}} 1', lines)
            self.assertEqual(lines.count("# TYPE a counter"), 1)
            self.assertIn("mtp:gate_servers 2", lines)
            self.assertIn(("Authorization", "Bearer key"), one.requests[0].fields)
            status = (await self.ask(self.gate(closed.address), "GET", "/metrics", (), b""))[0]
            self.assertEqual(status, 401)


class ProcessTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.one = await Server(plain(200, b"good")).__aenter__()
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-B", os.path.join(GATE, "gate.py"), "--port", "0", "--server",
            self.one.address, "--max-body-bytes", "100", "--patience", "0.5",
            stderr=subprocess.PIPE)
        line = (await self.process.stderr.readline()).decode()
        self.port = int(line.strip().rsplit(":", 1)[1])

    async def asyncTearDown(self):
        await self.one.__aexit__()
        self.process.send_signal(signal.SIGTERM)
        log = await self.process.stderr.read()
        self.assertEqual(await self.process.wait(), 0)
        self.assertNotIn(b"Traceback", log)

    async def say(self, text, leaves=False):
        """Returns all bytes of a connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(text)
        if leaves:
            writer.write_eof()
        async with asyncio.timeout(20):
            answer = await reader.read()
        writer.close()
        return answer

    async def test_serves_requests_one_after_the_other(self):
        one = b"POST /tokenize HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
        two = b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n"
        answer = await self.say(one + two)
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK\r\n"), 2)
        self.assertEqual(answer.count(b"\r\n\r\ngood"), 2)
        self.assertEqual([r.body for r in self.one.requests], [b"{}", b""])
        answer = await self.say(b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n")
        self.assertTrue(answer.endswith(b"Connection: close\r\n\r\n"), answer)
        answer = await self.say(b"POST / HTTP/1.0\r\nExpect: 100-continue\r\n"
                                b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"), answer)
        self.assertEqual(self.one.requests[-1].body, b"a")

    async def test_streams_in_chunks_or_to_the_end_of_the_connection(self):
        self.one.script = [stream(FIRST, LAST)]
        text = event(1) + event(3) + b"data: [DONE]\n\n"
        head = b"POST /v1/completions HTTP/1.%d\r\nConnection: close\r\nContent-Length: 32\r\n\r\n"
        answer = await self.say(head % 0 + BODY)
        self.assertTrue(answer.endswith(b"\r\n\r\n" + text), answer)
        answer = await self.say(head % 1 + BODY)
        self.assertIn(b"Transfer-Encoding: chunked", answer)
        self.assertTrue(answer.endswith(b"0\r\n\r\n"), answer)

    async def test_refuses_what_is_no_request(self):
        for text, status in ((b"hello\r\n\r\n", 400), (b"GET / HTTP/2\r\n\r\n", 400),
                             (b"GET / HTTP/1.1\r\nno field\r\n\r\n", 400),
                             (b"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n" + b"a" * 101, 413),
                             (b"POST / HTTP/1.1\r\nContent-Length: 1\r\n"
                              b"Transfer-Encoding: chunked\r\n\r\n", 400)):
            answer = await self.say(text, leaves=True)
            self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % status), (text, answer))
        self.assertEqual(self.one.requests, [])

    async def test_a_client_that_leaves_ends_its_request(self):
        self.one.script = [[stream(FIRST, end=False), None]]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 32\r\n\r\n" + BODY)
        await reader.readuntil(event(1))
        writer.close()
        for _ in range(500):
            if self.one.left:
                break
            await asyncio.sleep(0.01)
        self.assertEqual(self.one.left, 1)


class FlagsTest(unittest.TestCase):
    def test_names_wrong_flags(self):
        for flags in ([], ["--server", "host"], ["--server", ":1"], ["--name", "host:0"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                gate.parse(flags)

    def test_asks_for_the_addresses_of_a_name(self):
        servers = gate.Servers(["1.2.3.4:5"], ["localhost:80", "no.such.name.invalid:80"])
        asyncio.run(servers.look_up())
        self.assertEqual(servers()[0], "1.2.3.4:5")
        self.assertTrue({"127.0.0.1:80", "[::1]:80"} & set(servers()), servers())


if __name__ == "__main__":
    unittest.main()
