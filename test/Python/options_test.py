#!/usr/bin/env python3
"""Options of requests in the Python package: log-probabilities, rules of logits, stop strings,
grammars and tools.

usage: options_test.py BUILD [unittest's arguments]
"""

import dataclasses
import json
import math
import unittest

import support

BUILD = support.begin()
import numpy as np

import mtpc

TEXT = "The king said to the king that the king"


def log_softmax(rows):
    rows = rows.astype(np.float64)
    largest = rows.max(axis=1, keepdims=True)
    return rows - largest - np.log(np.exp(rows - largest).sum(axis=1, keepdims=True))


class Logprobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.bundled()

    def test_are_those_of_the_logits(self):
        found = {}
        for k in (0, 3):
            with self.model.session(k=k, logits="all") as session:
                done = session.generate(TEXT, max_tokens=25, temperature=1, seed=5, logprobs=4)
            rows = log_softmax(done.logits)
            self.assertEqual([at.token for at in done.logprobs], list(done.tokens))
            for row, at in zip(rows, done.logprobs):
                order = np.lexsort((np.arange(len(row)), -row))
                self.assertEqual([one.token for one in at.likeliest], order[:4].tolist())
                self.assertEqual(order[at.rank - 1], at.token)
                self.assertAlmostEqual(at.logprob, row[at.token], places=4)
                self.assertAlmostEqual(at.likeliest[0].logprob, row.max(), places=4)
            found[k] = done.logprobs
        self.assertEqual(found[0], found[3])

    def test_come_with_the_events(self):
        stream = self.model.stream(TEXT, max_tokens=20, logprobs=0)
        events = list(stream)
        for event in events:
            self.assertEqual([at.token for at in event.logprobs], list(event.tokens))
            self.assertTrue(all(at.likeliest == () for at in event.logprobs))
        self.assertEqual(sum((event.logprobs for event in events), ()), stream.result().logprobs)
        self.assertIsNone(self.model.generate(TEXT, max_tokens=2).logprobs)

    def test_of_prompts_equal_scores(self):
        for text in (TEXT, TEXT * 10):
            done = self.model.generate(text, max_tokens=3, prompt_logprobs=2, temperature=0)
            scores = self.model.score(text)
            self.assertEqual(len(done.prompt_logprobs), done.prompt_tokens - 1)
            np.testing.assert_allclose([at.logprob for at in done.prompt_logprobs], scores,
                                       atol=1e-4)
            events = list(self.model.stream(text, max_tokens=3, prompt_logprobs=2, temperature=0))
            self.assertEqual(sum((e.tokens for e in events), ()), done.tokens)

    def test_processed(self):
        done = self.model.generate(TEXT, max_tokens=20, temperature=1, top_k=2, logprobs=20,
                                   logprobs_mode="processed")
        for at in done.logprobs:
            self.assertLessEqual(len(at.likeliest), 2)
            self.assertAlmostEqual(sum(math.exp(one.logprob) for one in at.likeliest), 1, places=4)

    def test_in_steps(self):
        with self.model.session() as session:
            id = session.add(TEXT, max_tokens=6, logprobs=1, prompt_logprobs=0)
            tokens, logprobs, prompt = [], [], []
            while not session.is_idle:
                for update in session.step():
                    tokens += update.tokens
                    logprobs += update.logprobs
                    prompt += update.prompt_logprobs
            self.assertEqual([at.token for at in logprobs], tokens)
            self.assertEqual(len(prompt), len(self.model.encode(TEXT)) - 1)
            session.release(id)


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.bundled()
        cls.plain = cls.model.generate(TEXT, max_tokens=40, temperature=0)

    def same_at_any_k(self, **options):
        texts = [self.model.generate(TEXT, max_tokens=40, k=k, **options) for k in (0, 1, 3)]
        self.assertEqual(len({done.tokens for done in texts}), 1, options)
        return texts[0]

    def test_bias_and_allowed_tokens(self):
        token = self.plain.tokens[0]
        banned = self.same_at_any_k(temperature=0, logit_bias={token: -math.inf})
        self.assertNotIn(token, banned.tokens)
        forced = self.same_at_any_k(temperature=0, logit_bias={7: 1000.0})
        self.assertEqual(set(forced.tokens), {7})
        few = self.same_at_any_k(temperature=1, allowed_tokens=np.array([5, 6, 7]))
        self.assertLessEqual(set(few.tokens), {5, 6, 7})

    def test_bad_words(self):
        def parts(text):
            return len(self.model.encode(text, add_start=False))

        # A word that counts after a space, too.
        text = next(word for word in self.plain.text.split() if parts(word) == parts(" " + word))
        for words in ([text], [list(self.plain.tokens[2:4])], [text, self.plain.tokens[:1]]):
            changed = self.same_at_any_k(temperature=0, bad_words=words)
            self.assertNotEqual(changed.tokens, self.plain.tokens, words)
            for word in words:
                if isinstance(word, str):
                    self.assertNotIn(word, changed.text.split())
                else:
                    pairs = zip(*(changed.tokens[i:] for i in range(len(word))))
                    self.assertNotIn(tuple(word), pairs)
        report = json.loads(support.run_tool(
            "mtp-run", self.model.path, "--prompt", TEXT, "-n", "40", "--json", "--temperature",
            "0", "--bad-word", text))
        self.assertEqual(report["sequences"][0]["output_ids"],
                         list(self.same_at_any_k(temperature=0, bad_words=[text]).tokens))
        same = self.model.generate(TEXT, max_tokens=40, temperature=0, bad_words=[])
        self.assertEqual(same.tokens, self.plain.tokens)
        for words, text in [("a", "^bad_words: expected a list .*got 'a'"),
                            ([" "], r"^bad_words\[0\]: expected a bad word with a character"),
                            (["a", 3], r"^bad_words\[1\]: expected token ids, got 3"),
                            ([[10**9]], "bad words of tokens below"),
                            ([[2**40]], "^bad_words: expected texts or lists of token ids"),
                            ([[]], "none empty")]:
            with self.subTest(words=words), self.assertRaisesRegex(
                    mtpc.InvalidArgumentError, text):
                self.model.generate(TEXT, bad_words=words)

    def test_penalties(self):
        for options in ({"repetition_penalty": 1.5}, {"presence_penalty": 1.5},
                        {"frequency_penalty": 1}):
            changed = self.same_at_any_k(temperature=0, **options)
            self.assertNotEqual(changed.tokens, self.plain.tokens, options)
        report = json.loads(support.run_tool(
            "mtp-run", self.model.path, "--prompt", TEXT, "-n", "40", "--json", "--temperature",
            "0", "--repetition-penalty", "1.5"))
        self.assertEqual(report["sequences"][0]["output_ids"],
                         list(self.same_at_any_k(temperature=0, repetition_penalty=1.5).tokens))

    def test_least_tokens(self):
        stop = self.plain.tokens[5]
        done = self.model.generate(TEXT, max_tokens=40, temperature=0, stop_tokens=[stop],
                                   min_tokens=20)
        self.assertGreaterEqual(len(done.tokens), 20)
        self.assertNotIn(stop, done.tokens[:20])

    def test_rules_that_leave_no_token(self):
        for options, names in (({"logit_bias": {5: -math.inf}}, "a bias of -infinity"),
                               ({"regex": "0+"}, "grammar")):
            with self.assertRaisesRegex(mtpc.InvalidArgumentError,
                                        rf"leave none \(allowed tokens, {names}\)"):
                self.model.generate(TEXT, allowed_tokens=[5], **options)

    def test_a_model_without_rules(self):
        model = support.bundled(without_logit_rules=True)
        self.assertEqual((model.has_logit_rules, model.masks_tokens), (False, False))
        self.assertEqual((self.model.has_logit_rules, self.model.masks_tokens), (True, True))
        for options in ({"presence_penalty": 1}, {"logit_bias": {1: 1.0}}, {"regex": "a"}):
            with self.assertRaisesRegex(mtpc.InvalidArgumentError, "without-logit-rules"):
                model.generate(TEXT, **options)


class Stops(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.bundled()
        cls.whole = cls.model.generate(TEXT, max_tokens=60, temperature=0)

    def test_cut_the_text(self):
        text = self.whole.text
        for begin, size in ((10, 3), (25, 1), (40, 8)):
            stop = text[begin:begin + size]
            expected = text[:text.index(stop)]
            for k in (0, 3):
                done = self.model.generate(TEXT, max_tokens=60, temperature=0, k=k, logprobs=0,
                                           stop=["not in the text", stop])
                self.assertEqual((done.text, done.finish_reason, done.stop_string, done.stop_token),
                                 (expected, "stop", stop, None))
                self.assertEqual(done.tokens, self.whole.tokens[:len(done.tokens)])
                self.assertEqual(len(done.logprobs), len(done.tokens))
                # The last token completes the string.
                self.assertIn(stop, self.model.decode(done.tokens))
                self.assertNotIn(stop, self.model.decode(done.tokens[:-1]))
                events = list(self.model.stream(TEXT, max_tokens=60, temperature=0, k=k, stop=stop))
                self.assertEqual("".join(event.text for event in events), expected)
                self.assertEqual(events[-1].finish_reason, "stop")
        self.assertEqual(self.model._for_texts().unfinished, [])

    def test_end_the_sequence(self):
        stop = self.whole.text[5:9]
        with self.model.session(logits="all") as session:
            done = session.generate(TEXT, max_tokens=400, temperature=0, ignore_eos=True, stop=stop)
            self.assertLess(session.statistics().output_tokens, 30)
            self.assertEqual(done.logits.shape[0], len(done.tokens))
            self.assertEqual(session.unfinished, [])

    def test_are_held_back_until_the_end(self):
        stop = self.whole.text[-3:] + "never"
        done = self.model.generate(TEXT, max_tokens=60, temperature=0, stop=stop)
        self.assertEqual((done.text, done.stop_string), (self.whole.text, None))

    def test_after_the_least_tokens(self):
        stop = self.whole.text[3:6]
        done = self.model.generate(TEXT, max_tokens=60, temperature=0, stop=stop, min_tokens=50,
                                   ignore_eos=True)
        self.assertGreater(len(done.tokens), 50)

    def test_wrong_stops(self):
        for stop in ("", ["a", ""], 3, [3], b"x"):
            with self.subTest(stop=stop), self.assertRaisesRegex(mtpc.InvalidArgumentError,
                                                                 "^stop: expected"):
                self.model.generate(TEXT, stop=stop)


SCHEMA = {"type": "object", "properties": {"name": {"enum": ["king", "dog"]},
                                           "age": {"type": "integer", "minimum": 0, "maximum": 99}},
          "required": ["name", "age"], "additionalProperties": False}


class Grammars(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.bundled()

    def texts(self, **options):
        texts = []
        for temperature in (0, 1):
            at = [self.model.generate(TEXT, max_tokens=60, k=k, temperature=temperature, **options)
                  for k in (0, 3)]
            self.assertEqual(at[0].tokens, at[1].tokens)
            events = self.model.stream(TEXT, max_tokens=60, temperature=temperature, **options)
            self.assertEqual("".join(event.text for event in events), at[0].text)
            texts.append(at[0])
        return texts

    def test_each_kind(self):
        for done in self.texts(regex="[a-c]{3}-[0-9]{2}"):
            self.assertRegex(done.text, "^[a-c]{3}-[0-9]{2}$")
            self.assertEqual(done.finish_reason, "stop")
        for done in self.texts(choice=["yes", "no", "perhaps"]):
            self.assertIn(done.text, ("yes", "no", "perhaps"))
        for done in self.texts(grammar='root ::= ("ab" | "cd")+ "!"'):
            self.assertRegex(done.text, "^(ab|cd)+!?$")
        for schema in (SCHEMA, json.dumps(SCHEMA)):
            for done in self.texts(json_schema=schema, compact=True):
                self.assertIn(json.loads(done.text)["name"], ("king", "dog"))
        for done in self.texts(json_object=True):
            self.assertTrue(done.text.startswith("{"))

    def test_in_chats_and_steps(self):
        answer = self.model.chat([{"role": "user", "content": "Yes or no?"}],
                                 choice=["yes", "no"])
        self.assertIn(answer.text, ("yes", "no"))
        with self.model.session() as session:
            id = session.add(TEXT, max_tokens=20, regex="[xyz]{4}")
            while not session.is_idle:
                session.step()
            self.assertRegex(self.model.decode(session.output(id)), "^[xyz]{4}$")

    def test_wrong_grammars(self):
        for options, text in [
                ({"regex": "(a"}, "^regex: "),
                ({"regex": "a", "choice": ["b"]}, "^choice: expected one grammar .* and choice"),
                ({"choice": []}, "^choice: "),
                ({"choice": "yes"}, "^choice: expected strings, got 'yes'"),
                ({"choice": [1]}, "^choice: expected strings"),
                ({"grammar": "root ::= x"}, "^grammar: "),
                ({"json_schema": {"type": "thing"}}, "^json_schema: "),
                ({"json_schema": "{"}, "^json_schema: "),
                ({"json_schema": 3}, "^json_schema: expected .* got 3"),
                ({"json_schema": {"const": object()}}, "^json_schema: expected values of JSON"),
                ({"json_schema": {"const": math.nan}}, "^json_schema: expected values of JSON"),
                ({"json_object": 3}, "^json_object: expected True or False, got 3"),
                ({"regex": 3}, "^regex: expected a string, got 3")]:
            with self.subTest(options=options), self.assertRaisesRegex(mtpc.Error, text):
                self.model.generate(TEXT, **options)
        self.assertEqual(self.model._for_texts().unfinished, [])
        # No grammar at all.
        self.model.generate(TEXT, max_tokens=2, json_object=False, regex=None)


def tool(name, **properties):
    return {"type": "function", "function": {
        "name": name, "description": "A tool",
        "parameters": {"type": "object", "properties": properties,
                       "required": list(properties), "additionalProperties": False}}}


TOOLS = [tool("add", a={"type": "integer", "maximum": 9, "minimum": 0}, b={"enum": [1, 2]}),
         tool("look", where={"enum": ["here", "there"]})]
ASK = [{"role": "user", "content": "Add two numbers."}]


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = support.bundled()

    def test_required_calls(self):
        for k in (0, 3):
            answer = self.model.chat(ASK, tools=TOOLS, tool_choice="required", max_tokens=150, k=k,
                                     parallel_tool_calls=False, temperature=1, seed=4)
            call, = answer.tool_calls
            self.assertIn(call.name, ("add", "look"))
            self.assertEqual(call.arguments, json.loads(call.json))
            self.assertEqual((answer.text, answer.finish_reason), ("", "stop"))
        for name in ("add", {"type": "function", "function": {"name": "add"}}):
            answer = self.model.chat(ASK, tools=TOOLS, tool_choice=name, max_tokens=150,
                                     parallel_tool_calls=False)
            self.assertIn(answer.tool_calls[0].arguments["b"], (1, 2))

    def test_allowed_tools(self):
        def allowed(mode, *names):
            return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [
                {"type": "function", "function": {"name": name}} for name in names]}}

        for name in ("add", "look"):
            for seed in range(3):
                answer = self.model.chat(ASK, tools=TOOLS, tool_choice=allowed("required", name),
                                         max_tokens=100, temperature=1, seed=seed,
                                         parallel_tool_calls=False)
                self.assertEqual([call.name for call in answer.tool_calls], [name])
        # A call of another tool is text, if no grammar forbids it.
        call = r'<tool_call>\n\{"name": "look", "arguments": \{"where": "here"\}\}\n</tool_call>'
        options = dict(tools=TOOLS, tool_parser="hermes", regex=call, max_tokens=100)
        text = self.model.chat(ASK, tool_choice=allowed("auto", "add"), **options)
        self.assertEqual((text.tool_calls, "<tool_call>" in text.text), ((), True))
        both = self.model.chat(ASK, tool_choice=allowed("auto", "add", "look"), **options)
        self.assertEqual([call.name for call in both.tool_calls], ["look"])
        for choice, text in [
                ({}, "^tool_choice.type: expected 'function', got None"),
                ({"type": "allowed_tools"}, "^tool_choice.allowed_tools: expected a dictionary"),
                (allowed("none", "add"), "^tool_choice.allowed_tools.mode: .*'none'"),
                (allowed("auto"), "^tool_choice.allowed_tools.tools: expected one"),
                (allowed("auto", "add", "other"),
                 r"^tool_choice.allowed_tools.tools\[1\].function.name: expected .*'other'")]:
            with self.subTest(choice=choice), self.assertRaisesRegex(
                    mtpc.InvalidArgumentError, text):
                self.model.chat(ASK, tools=TOOLS, tool_parser="hermes", tool_choice=choice)

    def test_calls_in_text(self):
        """A regular expression lets the model write text and two calls in Hermes' format."""
        call = (r'<tool_call>\n\{"name": "look", "arguments": \{"where": "(here|there)"\}\}\n'
                "</tool_call>")
        regex = f"(Yes|No)\n{call}\n{call}"
        options = dict(tools=TOOLS, tool_parser="hermes", regex=regex, max_tokens=200)
        answer = self.model.chat(ASK, **options)
        self.assertIn(answer.text.strip(), ("Yes", "No"))
        self.assertEqual([one.name for one in answer.tool_calls], ["look", "look"])
        self.assertEqual([one.id for one in answer.tool_calls], ["call00000", "call00001"])
        events = list(self.model.chat(ASK, stream=True, **options))
        self.assertEqual(sum((event.tool_calls for event in events), ()), answer.tool_calls)
        self.assertEqual("".join(event.text for event in events), answer.text)
        only = self.model.chat(ASK, parallel_tool_calls=False, **options)
        self.assertEqual(only.tool_calls, answer.tool_calls[:1])
        none = self.model.chat(ASK, tool_choice="none", **options)
        self.assertEqual((none.tool_calls, "<tool_call>" in none.text), ((), True))
        most = answer.statistics.output_tokens - 8
        cut = self.model.chat(ASK, **dict(options, max_tokens=most))
        self.assertEqual(len(cut.tool_calls), 1)
        self.assertIn("<tool_call>", cut.text)

    def test_answers_are_messages(self):
        answer = self.model.chat(ASK, tools=TOOLS, tool_choice="look", max_tokens=100,
                                 parallel_tool_calls=False)
        message = answer.message
        self.assertEqual(message["tool_calls"][0]["function"]["name"], "look")
        result = {"role": "tool", "tool_call_id": answer.tool_calls[0].id, "content": "A dog."}
        after = self.model.chat([*ASK, message, result], tools=TOOLS, tool_choice="look",
                                max_tokens=100, parallel_tool_calls=False)
        self.assertEqual(after.tool_calls[0].id, "call00001")
        self.assertEqual(mtpc.Completion("Hi", (), "stop", None, 1, answer.statistics).message,
                         {"role": "assistant", "content": "Hi"})

    def test_wrong_tools(self):
        for options, text in [
                ({"tools": TOOLS}, "^tools: expected a chat template with a known format"),
                ({"tools": TOOLS, "tool_parser": "none such"}, "^tool_parser: .*hermes"),
                ({"tools": TOOLS, "tool_choice": "none such"}, "^tool_choice: .*'none such'"),
                ({"tool_choice": "required"}, "^tool_choice: expected 'tools'"),
                ({"tools": TOOLS, "tool_choice": 3}, "^tool_choice: .*got 3"),
                ({"tools": [{"type": "function"}], "tool_parser": "hermes"}, r"^tools\[0\]"),
                ({"tools": TOOLS, "tool_choice": "add", "regex": "a"},
                 "^regex: expected one grammar"),
                ({"tools": [object()], "tool_parser": "hermes"}, "^tools: expected values of"),
                ({"reasoning": "deep"}, "^reasoning: .*'deep'")]:
            with self.subTest(options=options), self.assertRaisesRegex(mtpc.Error, text):
                self.model.chat(ASK, **options)
        for messages, text in [("Hello", "^messages: expected a list"),
                               (["Hello"], r"^messages\[0\]: expected a dictionary"),
                               ([{"role": "assistant", "tool_calls": [3]}],
                                r"^messages\[0\].tool_calls\[0\]: expected a dictionary"),
                               ([{"role": "user", "content": object()}], "expected values of JS")]:
            with self.subTest(messages=messages), self.assertRaisesRegex(
                    mtpc.InvalidArgumentError, text):
                self.model.chat(messages)

    def test_reasoning_is_apart(self):
        from mtpc import _core
        ids = self.model.encode("<think>one two</think>three four", add_start=False)

        def read(reasoning, stop):
            return _core.answer(self.model._handle, reasoning, "", stop, 0, None).read_all(ids)

        self.assertEqual(read("think", ()), ("three four", "one two"))
        self.assertEqual(read("think", " four"), ("three", "one two"))
        self.assertEqual(read("think", " two"), ("", "one"))
        self.assertEqual(read("none", ())[1], "")
        done = self.model.chat(ASK, max_tokens=3)
        thought = dataclasses.replace(done, text="three", reasoning="one")
        self.assertEqual(thought.message["reasoning_content"], "one")

    def test_grammars_follow_reasoning(self):
        """An answer may reason before the text of its grammar."""
        mark = self.model.encode("<think>", add_start=False)
        begun = self.model.chat(ASK, choice=["yes"], reasoning="think", max_tokens=30,
                                temperature=0, allowed_tokens=[*mark, *self.model.encode("x")])
        self.assertTrue(begun.reasoning)
        self.assertEqual(begun.text, "")
        plain = self.model.chat(ASK, choice=["yes"], max_tokens=30)
        self.assertEqual((plain.text, plain.reasoning), ("yes", ""))

    def test_strict_tools(self):
        strict = json.loads(json.dumps(TOOLS))
        for one in strict:
            one["function"]["strict"] = True
        answer = self.model.chat(ASK, tools=strict, tool_parser="hermes", max_tokens=20)
        self.assertFalse(answer.text.startswith("<tool_call>"))
        required = self.model.chat(ASK, tools=strict, tool_parser="hermes", max_tokens=150,
                                   tool_choice="required", parallel_tool_calls=False)
        self.assertIn(required.tool_calls[0].name, ("add", "look"))


if __name__ == "__main__":
    support.main()
