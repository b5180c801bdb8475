#!/usr/bin/env python3
"""Generation by the Python package: outputs, streams, sessions, threads, memory, signals.

usage: session_test.py BUILD [unittest's arguments]
"""

import asyncio
import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

import support

BUILD = support.begin()
import numpy as np

import mtpc

TEXT = "The king said to the king that the king"
PROMPTS = [TEXT, "Once upon a time", "A dog", "It was the best of times, it was the worst of"]


class Generation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.bundled()

    def test_equals_mtp_run(self):
        for temperature in (0, 1):
            report = json.loads(support.run_tool(
                "mtp-run", self.model.path, "--prompt", TEXT, "-n", "60", "--json",
                "--temperature", str(temperature), "--seed", "7"))
            sequence, = report["sequences"]
            with self.model.session() as session:
                done = session.generate(TEXT, max_tokens=60, temperature=temperature, seed=7)
                whole = session.statistics()
            self.assertEqual(done.text, sequence["text"])
            self.assertEqual(list(done.tokens), sequence["output_ids"])
            self.assertEqual(done.statistics.rounds, sequence["rounds"])
            self.assertEqual(list(done.statistics.accepted), sequence["accepted"])
            self.assertEqual(sum(whole.rounds_by_k), whole.rounds)
            self.assertGreater(whole.decode_seconds, 0)

    def test_no_token_depends_on_k(self):
        texts = {}
        for k in (0, 1, 3, "auto", None):
            done = self.model.generate(TEXT, max_tokens=80, temperature=1, seed=3, k=k)
            texts[k] = done.tokens
            # A session counts k of all rounds.
            self.assertEqual(len(done.tokens), 80)
        self.assertEqual(len(set(texts.values())), 1, texts)
        drafted = self.model.generate(TEXT, max_tokens=80, temperature=0, k=3).statistics
        self.assertGreater(sum(drafted.accepted), 0)
        self.assertGreater(drafted.acceptance_length, 1)
        self.assertEqual(self.model.generate(TEXT, max_tokens=9, k=0).statistics.rounds, 8)

    def test_stream_joins_to_the_text(self):
        whole = self.model.generate(TEXT, max_tokens=50)
        stream = self.model.stream(TEXT, max_tokens=50)
        events = list(stream)
        self.assertEqual("".join(event.text for event in events), whole.text)
        self.assertEqual(sum((event.tokens for event in events), ()), whole.tokens)
        self.assertEqual([event.finish_reason for event in events[:-1]], [None] * (len(events) - 1))
        self.assertEqual(events[-1].finish_reason, "length")
        self.assertEqual(stream.result().text, whole.text)
        self.assertGreater(len(events), 5)

    def test_ids_and_ends(self):
        ids = self.model.encode(TEXT)
        done = self.model.generate(ids, max_tokens=30)
        self.assertEqual(done.tokens, self.model.generate(TEXT, max_tokens=30).tokens)
        self.assertEqual(done.text, self.model.decode(done.tokens))
        stop = done.tokens[10]
        short = self.model.generate(ids, max_tokens=30, stop_tokens=[stop])
        self.assertEqual((short.finish_reason, short.stop_token), ("stop", stop))
        self.assertEqual(short.tokens, done.tokens[:done.tokens.index(stop)])
        self.assertEqual(short.prompt_tokens, len(ids))

    def test_several_prompts_share_rounds(self):
        singles = [self.model.generate(prompt, max_tokens=40, temperature=1) for prompt in PROMPTS]
        with self.model.session() as session:
            together = session.generate_all(PROMPTS, max_tokens=40, temperature=1)
            rounds = session.statistics().rounds
        self.assertEqual([t.tokens for t in together], [s.tokens for s in singles])
        self.assertLess(rounds, sum(done.statistics.rounds for done in together) / 2)

    def test_chat_equals_mtp_run(self):
        messages = [{"role": "user", "content": "Hello, how are you?"}]
        answer = self.model.chat(messages, max_tokens=30)
        printed = subprocess.run(
            ["mtp-run", self.model.path, "--chat", "-n", "30"], input=messages[0]["content"] + "\n",
            check=True, capture_output=True, text=True).stdout
        self.assertEqual(printed, answer.text + "\n")
        events = list(self.model.chat(messages, stream=True, max_tokens=30))
        self.assertEqual("".join(event.text for event in events), answer.text)
        text, ids = self.model.chat_prompt(messages)
        self.assertIn("Hello, how are you?", text)
        self.assertEqual(len(ids), answer.prompt_tokens)

    def test_scores_equal_mtp_run(self):
        text = " ".join(PROMPTS * 12)
        report = json.loads(support.run_tool(
            "mtp-run", self.model.path, "--perplexity", "--prompt", text, "--json"))
        scores = self.model.score(text)
        self.assertEqual(len(scores), report["tokens"])
        self.assertGreater(len(scores), 256)  # several chunks
        self.assertAlmostEqual(-scores.mean(), report["loss"], places=5)
        ids = self.model.encode(text)
        self.assertTrue(np.array_equal(self.model.score(ids[:40]), scores[:39]))
        self.assertEqual(self.model.score(ids[:1]).shape, (0,))
        with self.assertRaises(mtpc.OutOfRangeError):
            self.model.score(ids * 9)
        with self.assertRaises(mtpc.InvalidArgumentError):
            self.model.score([1, 4096, 2])

    def test_asyncio(self):
        async def collect(prompt):
            stream = self.model.stream(prompt, max_tokens=30)
            return "".join([event.text async for event in stream])

        async def stop_early():
            async for event in self.model.stream(TEXT, max_tokens=400, ignore_eos=True):
                return event.text

        async def cancelled():
            stream = self.model.stream(TEXT, max_tokens=400, ignore_eos=True)
            task = asyncio.create_task(stream.result_async())
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        async def all_together():
            texts = await asyncio.gather(*map(collect, PROMPTS))
            self.assertTrue(await stop_early())
            await cancelled()
            return texts

        texts = asyncio.run(all_together())
        self.assertEqual(texts, [self.model.generate(p, max_tokens=30).text for p in PROMPTS])
        gc.collect()
        self.assertEqual(self.model._for_texts().unfinished, [])

    def test_threads_share_a_session(self):
        expected = [self.model.generate(p, max_tokens=60, temperature=1, seed=1).tokens
                    for p in PROMPTS]
        got = [None] * len(PROMPTS)

        def work(i):
            got[i] = self.model.generate(PROMPTS[i], max_tokens=60, temperature=1, seed=1).tokens

        for _ in range(5):
            threads = [threading.Thread(target=work, args=(i,)) for i in range(len(PROMPTS))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(got, expected)

    def test_steps_release_the_gil(self):
        counted, ended = 0, False

        def count():
            nonlocal counted
            while not ended:
                counted += 1

        thread = threading.Thread(target=count)
        thread.start()
        before = counted
        self.model.generate(TEXT, max_tokens=100, ignore_eos=True)
        self.assertGreater(counted, before + 100)
        ended = True
        thread.join()


class Sessions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.bundled()

    def test_steps(self):
        with self.model.session(k="auto") as session:
            ids = {session.add(prompt, max_tokens=20): prompt for prompt in PROMPTS}
            self.assertEqual(sorted(session.unfinished), sorted(ids))
            tokens = {id: () for id in ids}
            while not session.is_idle:
                for update in session.step():
                    tokens[update.id] += update.tokens
                    last = update
            self.assertEqual(last.finish_reason, "length")
            for id, prompt in ids.items():
                self.assertEqual(list(tokens[id]), session.output(id))
                self.assertEqual(session.state(id), "finished")
                self.assertEqual(tokens[id], self.model.generate(prompt, max_tokens=20).tokens)
                session.release(id)
            with self.assertRaises(mtpc.NotFoundError):
                session.output(last.id)
            usage = session.kv_usage
            self.assertEqual((usage.held, usage.free + usage.cached > 0), (0, True))
            self.assertGreater(session.memory_bytes, 0)

    def test_pause_and_cancel(self):
        with self.model.session() as session:
            paused = session.add(TEXT, max_tokens=30)
            cancelled = session.add(TEXT, max_tokens=30)
            session.step()
            session.pause(paused)
            session.cancel(cancelled)
            self.assertTrue(session.is_idle)
            self.assertEqual(session.state(paused), "paused")
            session.resume(paused)
            while not session.is_idle:
                session.step()
            self.assertEqual(tuple(session.output(paused)),
                             self.model.generate(TEXT, max_tokens=30).tokens)
            self.assertLess(len(session.output(cancelled)), 30)

    def test_logits(self):
        rows = {}
        for k in (0, 3):
            with self.model.session(k=k, logits="all") as session:
                done = session.generate(TEXT, max_tokens=25)
            self.assertEqual(done.logits.dtype, np.float32)
            self.assertEqual(done.logits.shape, (25, self.model.envelope.vocab))
            self.assertEqual(tuple(done.logits.argmax(axis=1)), done.tokens)
            rows[k] = done.logits
        self.assertTrue(np.array_equal(rows[0].view(np.uint32), rows[3].view(np.uint32)))
        with self.model.session(logits="last") as session:
            id = session.add(TEXT, max_tokens=2)
            while not session.is_idle:
                session.step()
            row = session.logits(id, 1)
            self.assertTrue(np.array_equal(row, rows[0][1]))
            with self.assertRaises(mtpc.FailedPreconditionError):
                session.logits(id, 0)
            with self.assertRaises(mtpc.OutOfRangeError):
                session.logits(id, 2)

    def test_any_order_of_drops(self):
        expected = self.model.generate(TEXT, max_tokens=20).tokens
        model = mtpc.Model(self.model.path, threads=1)
        session = model.session()
        stream = session.stream(TEXT, max_tokens=20)
        del model
        gc.collect()
        next(stream)
        del session
        gc.collect()
        self.assertEqual(stream.result().tokens, expected)
        # The model's own session: a stream outlives the model.
        stream = mtpc.Model(self.model.path, threads=1).stream(TEXT, max_tokens=20)
        gc.collect()
        self.assertEqual(stream.result().tokens, expected)
        # A session that was closed first.
        model = mtpc.Model(self.model.path, threads=1)
        session = model.session()
        stream = session.stream(TEXT, max_tokens=20)
        session.close()
        with self.assertRaisesRegex(mtpc.FailedPreconditionError, "closed"):
            next(stream)
        stream.close()
        with self.assertRaisesRegex(mtpc.FailedPreconditionError, "closed"):
            session.step()
        # A stream that is dropped ends its sequence.
        session = model.session()
        stream = session.stream(TEXT, max_tokens=400, ignore_eos=True)
        next(stream)
        self.assertEqual(len(session.unfinished), 1)
        del stream
        self.assertEqual(session.unfinished, [])

    def test_close_while_another_thread_steps(self):
        for _ in range(20):
            session = self.model.session()
            caught = []

            def work():
                try:
                    session.generate(TEXT, max_tokens=400, ignore_eos=True)
                except mtpc.FailedPreconditionError as error:
                    caught.append(error)

            thread = threading.Thread(target=work)
            thread.start()
            while not caught and session.unfinished == []:
                pass
            session.close()
            thread.join()
            self.assertEqual(len(caught), 1)

    def test_failures_have_types(self):
        session = self.model.session()
        big = self.model.envelope.max_context + 1
        for kind, call in [
                (mtpc.InvalidArgumentError, lambda: session.generate(TEXT, k=4)),
                (mtpc.InvalidArgumentError, lambda: session.generate(TEXT, k=-1)),
                (mtpc.InvalidArgumentError, lambda: session.generate([])),
                (mtpc.InvalidArgumentError, lambda: self.model.session(k=9)),
                (mtpc.InvalidArgumentError, lambda: self.model.session(logits="some")),
                (mtpc.OutOfRangeError, lambda: session.generate(TEXT, max_tokens=big)),
                (mtpc.NotFoundError, lambda: session.cancel(12345)),
                (mtpc.NotFoundError, lambda: self.model.function_type("nothing")),
                (mtpc.NotFoundError, lambda: mtpc.Model("/nothing/here.bin")),
                (mtpc.ResourceExhaustedError, lambda: self.model.session(kv_pages=2).generate(
                    TEXT, max_tokens=100)),
                (mtpc.DataLossError, lambda: mtpc.Model(self.damaged())),
                (mtpc.InvalidArgumentError, lambda: session.set_input(session.add(TEXT), "x", 0)),
                (mtpc.FailedPreconditionError, self.closed().step),
                (TypeError, lambda: session.generate(TEXT, max_token=3))]:
            with self.subTest(kind=kind.__name__), self.assertRaises(kind) as caught:
                call()
            if kind is not TypeError:
                self.assertIsInstance(caught.exception, mtpc.Error)
                self.assertEqual(caught.exception.code, kind.code)
                self.assertTrue(str(caught.exception))

    def closed(self):
        with self.model.session() as session:
            return session

    def damaged(self):
        path = BUILD / "test" / "Python" / "damaged.bin"
        data = bytearray(pathlib.Path(self.model.path).read_bytes())
        data[200] ^= 1
        path.write_bytes(data)
        return path

    def test_fields_of_a_wrong_type(self):
        cases = [({"max_tokens": -1}, "max_tokens: expected .* of 0 to 4294967295, got -1"),
                 ({"max_tokens": True}, "max_tokens: expected a whole number .*, got True"),
                 ({"temperature": "hot"}, "temperature: expected a number, got 'hot'"),
                 ({"ignore_eos": 3}, "ignore_eos: expected True or False, got 3"),
                 ({"logit_bias": [1]}, "logit_bias: expected numbers by token ids"),
                 ({"logit_bias": {"a": 1}}, "logit_bias: expected numbers by token ids"),
                 ({"logprobs": 21}, "logprobs of at most 20, got 21"),
                 ({"logprobs": "all"}, "logprobs: expected a whole number"),
                 ({"logprobs_mode": "log"}, "logprobs_mode: expected 'raw' or 'processed'"),
                 ({"stop_tokens": ["a"]}, r"stop_tokens: expected token ids, got \['a'\]")]
        for fields, text in cases:
            with self.subTest(fields=fields), \
                    self.assertRaisesRegex(mtpc.InvalidArgumentError, text):
                self.model.generate(TEXT, **fields)

    def test_session_options(self):
        with self.model.session(max_batch=2, threads=1, prefix_cache=False) as session:
            self.assertEqual(session.options["max_batch"], 2)
            self.assertFalse(session.options["prefix_cache"])
        with self.assertRaises(TypeError):
            self.model.session(no_such_option=1)

    def test_rounds_with_padding(self):
        plain = self.model.generate(TEXT, max_tokens=20)
        most = self.model.envelope.max_batch
        with self.model.session(capture_sizes=[most], threads=1) as session:
            self.assertEqual(session.options["capture_sizes"], (most,))
            self.assertEqual(session.generate(TEXT, max_tokens=20).tokens, plain.tokens)
            whole = session.statistics()
        self.assertGreater(whole.padded_rounds, 0)
        self.assertEqual(whole.padding_slots, (most - 1) * whole.padded_rounds)
        for sizes, text in [([0], r"captureSizes \(--capture-sizes\): expected 1 to"),
                            ([most + 1], "expected 1 to .* slots, got"),
                            ("2", "capture_sizes: expected whole numbers, got '2'"),
                            ([-1], r"capture_sizes: expected whole numbers, got \[-1\]")]:
            with self.subTest(sizes=sizes), \
                    self.assertRaisesRegex(mtpc.InvalidArgumentError, text):
                self.model.session(capture_sizes=sizes)


def memory():
    """Resident bytes of this process."""
    pages = int(pathlib.Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Leaks(unittest.TestCase):
    def test_sessions(self):
        model = mtpc.compile(support.BUNDLED, drafter="lookup:1,3", k=1, max_batch=1,
                             max_context=64)

        def use(count):
            for i in range(count):
                session = model.session(threads=2 if i % 10 == 0 else 1)
                session.add(TEXT, max_tokens=1)
                if i % 3 == 0:
                    next(session.stream([1, 2, 3], max_tokens=2))
                if i % 2 == 0:
                    session.close()

        use(500)
        gc.collect()
        before = memory(), len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
        objects = len(gc.get_objects())
        use(10000)
        gc.collect()
        after = memory(), len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
        print(f"{before[0] / 1e6:.1f} MB before, {after[0] / 1e6:.1f} MB after 10,000 sessions")
        self.assertEqual(after[1:], before[1:])
        # 200 bytes for each session.
        self.assertLess(after[0] - before[0], 2e6)
        self.assertLess(len(gc.get_objects()) - objects, 100)

    def test_the_process_ends_clean(self):
        code = f"""
import mtpc
model = mtpc.Model({self.path()!r}, threads=1)
session = model.session()
stream = session.stream({TEXT!r})
next(stream)
other = model.stream({TEXT!r})
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              check=True)
        self.assertEqual(done.stderr, "")

    def path(self):
        return support.bundled().path


INTERRUPTED = """
import sys, mtpc
model = mtpc.Model(sys.argv[1], threads=1)
expected = model.generate({text!r}, max_tokens=20).tokens
session = model.session()
def forever():
    while True:
        {call}
try:
    print("ready", flush=True)
    forever()
except KeyboardInterrupt:
    pass
assert session.unfinished == [] and model._for_texts().unfinished == []
assert model.generate({text!r}, max_tokens=20).tokens == expected
print("still here")
"""


class Interrupts(unittest.TestCase):
    def test_ctrl_c_ends_a_generation(self):
        path = support.bundled().path
        options = f"{TEXT!r}, max_tokens=400, ignore_eos=True"
        for call in (f"model.generate({options})", f"list(session.stream({options}))",
                     f"model.generate_all([{TEXT!r}] * 3, max_tokens=400, ignore_eos=True)"):
            code = INTERRUPTED.format(text=TEXT, call=call)
            with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE,
                                  text=True) as child:
                self.assertEqual(child.stdout.readline(), "ready\n")
                # Most of the time the child is inside the extension.
                time.sleep(0.2)
                child.send_signal(signal.SIGINT)
                out, _ = child.communicate(timeout=60)
            self.assertEqual((out, child.returncode), ("still here\n", 0), call)


if __name__ == "__main__":
    support.main()
