#!/usr/bin/env python3
"""Wrong, huge and badly timed uses of the Python package.

usage: attack_test.py BUILD [unittest's arguments]

Each wrong use raises an error that names the argument, the expected and the found value, and leaves
the session usable. Processes that a signal hits go on.
"""

import asyncio
import copy
import gc
import math
import os
import pathlib
import pickle
import random
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
LONG = {"max_tokens": 400, "ignore_eos": True}


class Arguments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.bundled()
        cls.expected = cls.model.generate(TEXT, max_tokens=12).tokens

    def refuses(self, text, call, kind=mtpc.Error):
        with self.subTest(text=text), self.assertRaisesRegex(kind, text):
            call()

    def test_of_requests(self):
        huge = 2**70
        for options, text in [
                ({"max_tokens": -1}, "^max_tokens: expected .*, got -1"),
                ({"max_tokens": huge}, f"^max_tokens: .*got {huge}"),
                ({"max_tokens": 0}, "max tokens of at least 1"),
                ({"max_tokens": 2.5}, "^max_tokens: .*got 2.5"),
                ({"max_tokens": 2**32 - 1}, "exceed the context"),
                ({"min_tokens": 100, "max_tokens": 3}, "min tokens of at most the 3"),
                ({"seed": -1}, "^seed: .*got -1"),
                ({"seed": huge}, "^seed: "),
                ({"group": -1}, "^group: "),
                ({"priority": huge}, "^priority: "),
                ({"k": huge}, "^k: expected"),
                ({"k": "many"}, "^k: .*got 'many'"),
                ({"k": True}, "^k: .*got True"),
                ({"k": np.zeros(2)}, "^k: "), ({"k": 1.0}, "^k: "),
                ({"temperature": math.nan}, "temperature of 0 or more, got"),
                ({"temperature": -1}, "temperature of 0 or more"),
                ({"temperature": 10**400}, "^temperature: "),
                ({"top_p": 0}, "top-p above 0"),
                ({"top_k": -5}, "^top_k: "),
                ({"min_p": 2}, "min-p of 0 to 1"),
                ({"draft_p_min": 2}, "draftPMin .* of 0 to 1, got 2"),
                ({"draft_p_min": 0.5}, "whose drafts end by confidence"),
                ({"draft_p_min": "x"}, "^draft_p_min: "),
                ({"cache_salt": "x" * 2000}, "salt of at most 1024"),
                ({"cache_salt": "\ud800"}, "^cache_salt: .*surrogate"),
                ({"cache_salt": b"x"}, "^cache_salt: expected a text"),
                ({"kind": "a kind"}, "kind of at most 32 letters, .*'a kind'"),
                ({"kind": "x" * 33}, "kind of at most 32 letters"),
                ({"kind": 3}, "^kind: expected a text, got 3"),
                ({"stop_tokens": [99999]}, "stop token 0 is 99999"),
                ({"stop_tokens": 5}, "^stop_tokens: expected token ids, got 5"),
                ({"stop_tokens": [2**40]}, "^stop_tokens: "),
                ({"outputs": ["none such"]}, "none such"),
                ({"outputs": 3}, "^outputs: expected strings, got 3"),
                ({"inputs": {"none such": 3}}, "^inputs: .*'none such'"),
                ({"inputs": [3]}, "^inputs: expected arrays by their names"),
                ({"special": 1}, "^special: expected True or False, got 1"),
                ({"add_start": "no"}, "^add_start: expected True or False"),
                ({"stop": "é" * 300 + "\ud800"}, "^stop: "),
                ({"cache_salt": object()}, "^cache_salt: expected a text, got <object"),
                ({"temperature": "é" * 100}, "^temperature: expected a number, got 'é")]:
            self.refuses(text, lambda options=options: self.model.generate(TEXT, **options))
        for prompt, text in [([], "prompt of at least 1 token"), (None, "^prompt: .*got None"),
                             (b"abc", "^prompt: expected token ids"), ([1.5], "^prompt: "),
                             (["a"], "^prompt: "), ([2**40], "^prompt: "), ([-1], "token 0 is -1"),
                             (7, "^prompt: .*got 7"), ("\ud800", "^text: .*surrogate"),
                             ({1: 2}, "^prompt: "), ([1] * 600, "exceed the context")]:
            self.refuses(text, lambda prompt=prompt: self.model.generate(prompt))
        self.refuses("unexpected option 'max_token'", lambda: self.model.generate(
            TEXT, max_token=3), TypeError)
        self.refuses("unexpected option 'stop'", lambda: self.model.session().add(
            TEXT, stop="x"), TypeError)
        ids = np.array(self.model.encode(TEXT), np.int64)
        done = self.model.generate(ids, max_tokens=np.int64(12), k=np.int32(2))
        self.assertEqual(done.tokens, self.expected)
        self.assertEqual(self.model._for_texts().unfinished, [])

    def test_of_sessions(self):
        for options in ({"k": -1}, {"k": 2**40}, {"threads": -1}, {"threads": 10**6},
                        {"max_batch": 10**6}, {"max_batch": -1}, {"kv_pages": 1},
                        {"kv_pages": -3}, {"kv_pages": 2**31}, {"prefill_chunk": 10**6},
                        {"snapshot_tokens": 0}, {"rounds_per_launch": 10**5}, {"logits": 3},
                        {"threads": True}, {"threads": 1.5}, {"prefix_cache": 1},
                        {"snapshot_bytes": -1}, {"logits": "some"},
                        {"draft_p_min": -0.5}, {"draft_p_min": 0.5}):
            self.refuses("expected .* got ", lambda o=options: self.model.session(**o))
        with self.model.session() as session:
            for call in (session.output, session.state, session.cancel, session.pause,
                         session.resume, session.release, session.statistics, session.logits):
                for id in (-1, 2**70, "x", 1.5, True):
                    self.refuses("^id: expected a whole number", lambda c=call, i=id: c(i))
                self.refuses("12345", lambda c=call: c(12345), mtpc.NotFoundError)
            id = session.add(TEXT, max_tokens=3)
            self.refuses("^index: .*got -1", lambda: session.logits(id, -1))
            self.refuses("^index: .*got 'a'", lambda: session.logits(id, "a"))

    def test_of_models(self):
        path = self.model.path
        for call, text in [
                (lambda: mtpc.Model(3), "^path: expected a path, got 3"),
                (lambda: mtpc.Model("a\ud800b"), "^path: .*surrogate"),
                (lambda: mtpc.Model("a\0b"), "^path: expected a path without NUL"),
                (lambda: self.model.chat([{"role": "user", "content": "\ud800"}]), "surrogate"),
                (lambda: mtpc.Model(path, device="tpu"), "^device: .*'tpu'"),
                (lambda: mtpc.Model(path, device=3), "^device: expected a text, got 3"),
                (lambda: mtpc.Model(path, gpu=-1), "^gpu: .*got -1"),
                (lambda: mtpc.Model(path, copy=2), "^copy: expected True or False"),
                (lambda: mtpc.Model(path, threads=-4).generate(TEXT), "^threads: "),
                (lambda: mtpc.Model(path, profile=path), "size: expected at most"),
                (lambda: mtpc.Model(path, profile="/nothing"), "/nothing"),
                (lambda: mtpc.Model("/"), "/"),
                (lambda: mtpc.Model(support.BUNDLED), "hf"),
                (lambda: mtpc.Model(__file__), "attack_test"),
                (lambda: self.model.encode(3), "^text: expected a text, got 3"),
                (lambda: self.model.decode("ab"), "^ids: expected token ids"),
                (lambda: self.model.decode([-1]), "-1"),
                (lambda: self.model.function_type("none such"), "none such"),
                (lambda: self.model.function_type(3), "^name: "),
                (lambda: self.model.call("none such"), "none such"),
                (lambda: self.model.score("a" * 10**5), "^prompt: .*at most 512"),
                (lambda: self.model.score([2**70]), "^prompt: "),
                (lambda: mtpc.dump(path, program=3), "^program: "),
                (lambda: mtpc.dump(path, json=1), "^json: "),
                (lambda: mtpc.compile(support.BUNDLED, max_batch=-1), "^max_batch: "),
                (lambda: mtpc.compile(support.BUNDLED, max_context="x"), "^max_context: "),
                (lambda: mtpc.compile(support.BUNDLED, quantize=8), "^quantize: "),
                (lambda: mtpc.compile(3), "^path: "),
                (lambda: mtpc.compile_text(3), "^text: "),
                (lambda: mtpc.tune(path, nothing=3), "flag of mtp-tune, got 'nothing'"),
                (lambda: mtpc.tune(path, prompts=["a\nb"]), "^prompts: expected texts of one"),
                (lambda: mtpc.Profile(3), "^path: "),
                (lambda: mtpc.Profile("/nothing").report(), "/nothing: cannot open"),
                (lambda: self.model.call("prompt_logits", 1), "^inputs: expected 3 for"),
                (lambda: mtpc.tune(3), "^model: ")]:
            self.refuses(text, call)
        self.assertEqual(mtpc.Model(os.fsencode(path), threads=1).generate(
            TEXT, max_tokens=12).tokens, self.expected)

    def test_what_cannot_be_pickled(self):
        session = self.model.session()
        for thing in (self.model, session, session.stream(TEXT)):
            for use in (pickle.dumps, copy.copy, copy.deepcopy):
                self.refuses(f"pickle a {type(thing).__name__}", lambda u=use, t=thing: u(t),
                             TypeError)
        done = self.model.generate(TEXT, max_tokens=3, logprobs=1)
        self.assertEqual(pickle.loads(pickle.dumps(done)), done)
        error = pickle.loads(pickle.dumps(mtpc.NotFoundError("lost")))
        self.assertEqual((type(error), str(error)), (mtpc.NotFoundError, "lost"))

    def test_arrays(self):
        from mtpc import arrays
        port = mtpc.TensorType("x", "i32", (2, 2))
        for value, text in [
                ([[1, 2], [3]], "^x: expected an array of the shape"), (None, "^x: "),
                ("ab", "^x: expected int32, got <U2"), ([[1.5, 2], [3, 4]], "got float64"),
                (np.full((2, 2), 2**40), "^x: expected values of"), ([[2**70, 1], [1, 1]], "^x: "),
                (np.zeros((2, 2), complex), "got complex128"),
                (np.zeros((2, 3), np.int32), "shape"),
                (np.zeros((2, 2), "datetime64[s]"), "^x: "), (5, r"shape \[2, 2\], got \[\]"),
                (np.zeros((2, 2), np.uint32) - 1, "^x: ")]:
            self.refuses(text, lambda v=value: arrays.from_array(v, port))
        wide = np.arange(16, dtype=">i8").reshape(4, 4)[::2, ::-2]
        wide.flags.writeable = False
        back = arrays.to_array(arrays.from_array(wide, port))
        self.assertEqual(back.tolist(), wide.tolist())
        for element in ("f32", "f16", "f64", "bf16"):
            kind = mtpc.TensorType("x", element, (2,))
            self.assertEqual(arrays.to_array(arrays.from_array([1, 2], kind)).tolist(), [1, 2])

    def test_any_option_of_any_type(self):
        """Any value of any option raises an error of the package or of Python, and no other."""
        values = [None, True, -1, 0, 2**31, 2**64, 1.5, math.nan, "", "x", b"x", [], [None], [-1],
                  {}, {"a": 1}, {1: "a"}, (), object(), np.zeros(0), np.array(["a"]), "\ud800"]
        session = self.model.session()
        names = sorted(mtpc.ChatOptions.__optional_keys__)
        message = [{"role": "user", "content": "Hello"}]
        for name in names:
            for value in values:
                options = {"max_tokens": 2, name: value}
                try:
                    session.chat(message, **options)
                except mtpc.Error as error:
                    self.assertTrue(str(error))
        self.assertEqual(session.unfinished, [])
        self.assertEqual(session.generate(TEXT, max_tokens=12).tokens, self.expected)


class Processes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.bundled()
        cls.expected = cls.model.generate(TEXT, max_tokens=12).tokens

    def test_fork(self):
        session = self.model.session()
        stream = session.stream(TEXT, **LONG)
        next(stream)
        scores = self.model.score(TEXT)
        ended = threading.Event()

        def work():
            while not ended.is_set():
                self.model.generate(TEXT, max_tokens=12)

        # The model's session steps while the process forks.
        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(3):
                child = os.fork()
                if child == 0:
                    os._exit(self.in_child(session, stream, scores))
                deadline = time.monotonic() + 60
                status = (0, 0)
                while status[0] == 0 and time.monotonic() < deadline:
                    status = os.waitpid(child, os.WNOHANG)
                    time.sleep(0.01)
                if status[0] == 0:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    self.fail("the child hangs")
                self.assertEqual(os.waitstatus_to_exitcode(status[1]), 0)
        finally:
            ended.set()
            thread.join()
        self.assertTrue(next(stream).tokens)

    def in_child(self, session, stream, scores):
        try:
            for call in (session.step, lambda: next(stream), lambda: session.generate(TEXT)):
                try:
                    call()
                    return 2
                except mtpc.FailedPreconditionError as error:
                    if "fork" not in str(error) and "closed" not in str(error):
                        return 3
            if self.model.generate(TEXT, max_tokens=12).tokens != self.expected:
                return 4
            if not np.array_equal(self.model.score(TEXT), scores):
                return 5
            session.close()
            del session, stream
            gc.collect()
            return 0
        except BaseException as error:
            print(error, file=sys.stderr)
            return 1

    def test_ends_of_processes(self):
        script = support.TREE / "test" / "Python" / "Inputs" / "ends.py"
        for case, code, out in [
                ("at_exit", 0, "5"), ("sys_exit", 3, ""), ("terminate", -signal.SIGTERM, ""),
                ("executor", 0, "400"), ("handler", 0, "29 5"), ("loop", 0, "5 []"),
                ("fork", 0, "5"), ("pool", 0, "[20, 20, 20, 20]")]:
            with self.subTest(case):
                begin = time.monotonic()
                done = subprocess.run([sys.executable, "-B", script, self.model.path, case],
                                      check=False, capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout.strip(), done.stderr),
                                 (code, out, ""))
                self.assertLess(time.monotonic() - begin, 20)

    def test_daemon_threads_at_the_end(self):
        code = f"""
import threading, time, mtpc
model = mtpc.Model({self.model.path!r}, threads=1)
def work():
    while True:
        model.generate({TEXT!r}, max_tokens=400, ignore_eos=True)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep({{}})
"""
        for seconds in (0.05, 0.1, 0.15):
            done = subprocess.run([sys.executable, "-c", code.format(seconds)], check=False,
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_ctrl_c_in_every_call(self):
        calls = ["model.chat([{'role': 'user', 'content': 'Hello'}], ignore_eos=True)",
                 "model.score('The king. ' * 100)", "model.encode('a b ' * 5000)",
                 "steps(model)", "model.session().close()", "mtpc.dump(model)",
                 "mtpc.Model(model.path, copy=True)",
                 "asyncio.run(model.stream(TEXT, **LONG).result_async())",
                 "threaded(model)"]
        for call in calls:
            with self.subTest(call):
                code = INTERRUPTED.format(text=TEXT, call=call)
                with subprocess.Popen(
                        [sys.executable, "-c", code, self.model.path], stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True) as child:
                    self.assertEqual(child.stdout.readline(), "ready\n")
                    time.sleep(random.uniform(0.05, 0.2))
                    child.send_signal(signal.SIGINT)
                    try:
                        out, errors = child.communicate(timeout=60)
                    except subprocess.TimeoutExpired:
                        child.kill()
                        raise
                self.assertEqual((out, child.returncode), ("still here\n", 0), errors)


INTERRUPTED = """
import asyncio, sys, threading, mtpc
TEXT, LONG = {text!r}, dict(max_tokens=400, ignore_eos=True)
model = mtpc.Model(sys.argv[1], threads=1)
expected = model.generate(TEXT, max_tokens=20).tokens
def steps(model):
    with model.session() as session:
        session.add(TEXT, **LONG)
        while not session.is_idle:
            session.step()
def threaded(model):
    threads = [threading.Thread(target=model.generate, args=(TEXT,), kwargs=LONG) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        model.generate(TEXT, **LONG)
    finally:
        for thread in threads:
            thread.join()
def forever():
    while True:
        {call}
try:
    print("ready", flush=True)
    forever()
except KeyboardInterrupt:
    pass
assert model._for_texts().unfinished == []
assert model.generate(TEXT, max_tokens=20).tokens == expected
print("still here")
"""


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.bundled()
        cls.expected = cls.model.generate(TEXT, max_tokens=100, ignore_eos=True)

    def run_all(self, work, count):
        failures = []

        def guarded(i):
            try:
                work(i)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        if failures:
            raise failures[0]

    def test_read_one_stream(self):
        for _ in range(5):
            stream = self.model.stream(TEXT, max_tokens=100, ignore_eos=True)
            events = [[] for _ in range(4)]
            self.run_all(lambda i: events[i].extend(stream), 4)
            self.assertEqual(sum(len(of) for of in events), len(stream._parts))
            self.assertEqual(stream.result().text, self.expected.text)
            self.assertEqual(stream.result().tokens, self.expected.tokens)

    def test_cancel_and_close_streams(self):
        for _ in range(10):
            with self.model.session() as session:
                streams = [session.stream(TEXT, **LONG) for _ in range(4)]

                def work(i):
                    stream = streams[i // 2]
                    try:
                        if i % 2:
                            time.sleep(random.uniform(0, 0.01))
                            (stream.cancel if i % 4 == 1 else stream.close)()
                        else:
                            reason = stream.result().finish_reason
                            self.assertIn(reason, ("cancelled", "length"))
                    except mtpc.FailedPreconditionError as error:
                        self.assertRegex(str(error), "open stream, got a closed one")

                self.run_all(work, 8)
                self.assertEqual(session.unfinished, [])

    def test_sessions_of_one_model(self):
        def work(i):
            for _ in range(5):
                with self.model.session(threads=1) as session:
                    done = session.generate(TEXT, max_tokens=100, ignore_eos=True)
                    self.assertEqual(done.tokens, self.expected.tokens)

        self.run_all(work, 4)

    def test_close_the_model_meanwhile(self):
        model = mtpc.Model(self.model.path, threads=1)

        def work(i):
            for _ in range(20):
                if i == 0:
                    time.sleep(0.002)
                    model.close()
                else:
                    try:
                        done = model.generate(TEXT, max_tokens=100, ignore_eos=True)
                        self.assertEqual(done.tokens, self.expected.tokens)
                    except mtpc.FailedPreconditionError as error:
                        self.assertRegex(str(error), "closed")

        self.run_all(work, 4)

    def test_grammars_of_several_threads(self):
        model = support.bundled()

        def work(i):
            for n in range(1, 12):
                done = model.generate(TEXT, regex=f"[ab]{{{n}}}", max_tokens=20)
                self.assertRegex(done.text, f"^[ab]{{{n}}}$")

        self.run_all(work, 4)


class Tasks(unittest.TestCase):
    def test_are_cancelled(self):
        model = support.bundled()

        async def use(i):
            stream = model.stream(TEXT, **LONG)
            if i % 3 == 0:
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(stream.result_async(), 0.002 * (i % 7))
            elif i % 3 == 1:
                async for _ in stream:
                    break
            else:
                task = asyncio.create_task(stream.result_async())
                await asyncio.sleep(0.001 * (i % 5))
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

        async def everything():
            await asyncio.gather(*map(use, range(30)))

        asyncio.run(everything())
        gc.collect()
        self.assertEqual(model._for_texts().unfinished, [])

    def test_end_with_their_loop(self):
        model = support.bundled()

        async def begin():
            self.stream = model.stream(TEXT, **LONG)
            self.events = aiter(self.stream)
            await anext(self.events)

        asyncio.run(begin())
        del self.events, self.stream
        gc.collect()
        self.assertEqual(model._for_texts().unfinished, [])

    def test_drops_in_any_order(self):
        path = support.bundled().path
        for seed in range(20):
            chance = random.Random(seed)
            things = {"model": mtpc.Model(path, threads=1)}
            things["session"] = things["model"].session()
            things["stream"] = things["session"].stream(TEXT, **LONG)
            things["own"] = things["model"].stream(TEXT, **LONG)
            things["event"] = next(things["own"])
            things["cycle"] = [things["session"]]
            things["cycle"].append(things["cycle"])
            for name in chance.sample(sorted(things), len(things)):
                if chance.random() < 0.3 and hasattr(things[name], "close"):
                    things[name].close()
                del things[name]
                if chance.random() < 0.5:
                    gc.collect()
        self.assertGreater(pathlib.Path(path).stat().st_size, 0)


if __name__ == "__main__":
    support.main()
