"""page_fake.py PAGE [PICTURES]: tests the page of a file in a headless Chromium, with answers
that a model would seldom give. PICTURES is a folder for screenshots."""
import os, sys, threading

from browser import ENTER, ESCAPE, TAB, UP, Browser
from page_server import Answer, PageServer, Refusal
from serving import check

HERE = os.path.dirname(__file__)
ENDED = "return !running && document.getElementById('send').hidden === false"
LAST = "document.querySelector('.turn.assistant:last-of-type')"
TURNS = "return chat.turns.map(turn => [turn.role, turn.content.toWellFormed()])"

SAMPLE = """Three ways to **read a file**, with `code` and a [link](https://example.com/).

## Ways

1. All of it:
   - simple
2. Line by line

| way | memory |
|:----|-------:|
| all | the file |
| lines | one line |

```python
def lines_of(path):
    return open(path, encoding="utf-8").read().splitlines()  # a line longer than a narrow page
```

> A quote.

- [x] done
"""

HOSTILE = """<script>window.pwned = 1</script> <img src=x onerror="window.pwned = 1">
# <svg onload="window.pwned = 1">
[a](javascript:window.pwned=1) [b](JAVASCRIPT:window.pwned=1) ![c](http://127.0.0.1:9/c.png)
| <iframe srcdoc="<script>parent.pwned=1</script>"> |
|---|
| </td></table><script>window.pwned = 1</script> |

<style>body { display: none }</style><base href="http://127.0.0.1:9/">

""" + "long" * 2000 + """

```"><script>window.pwned = 1</script>
no end </code></pre> """ + "x" * 5000


def pieces(text, size=5):
    return [text[i:i + size] for i in range(0, len(text), size)]


class Page:
    """The page in a browser, with a server that answers as a test says."""

    def __init__(self, browser, server):
        self.browser, self.server = browser, server

    def open(self):
        self.browser.open(self.server.url)
        self.wait_state("ready")

    def wait_state(self, text):
        self.browser.wait("return document.getElementById('state').textContent"
                          f".startsWith('{text}')", f"the state {text}")

    def send(self, text, answer=None):
        """Sends a message, whose answer ends if one is given."""
        count = len(self.server.bodies)
        if answer:
            self.server.answers.put(answer)
        self.browser.keys("#input", text + ENTER)
        if answer:
            self.browser.wait(ENDED, "an answer that has ended")
            check(len(self.server.bodies) > count, True, "a request")

    def new(self):
        self.browser.click("#new")

    def last(self, part):
        return self.browser.run(f"return {LAST}.querySelector('{part}').textContent")

    def shown(self, name):
        return self.browser.run(f"return document.getElementById('{name}').textContent")

    def turns(self):
        return self.browser.run(TURNS)

    def set(self, name, value):
        self.browser.run("const input = document.getElementById(arguments[0]);"
                         "input.value = arguments[1];"
                         "input.dispatchEvent(new Event('change'));", name, value)


def check_units(page):
    with open(os.path.join(HERE, "page_units.js")) as file:
        check(page.browser.run(file.read()), [], "unit tests of Markdown")


def check_hostile(page):
    """Checks that a hostile answer stays text, and does not widen the page."""
    page.send("be hostile", Answer(*pieces(HOSTILE), "\ud83d", b"\xff\xfe <b>", "\\u0000"))
    check(page.browser.run("return window.pwned === undefined"), True, "no script of an answer")
    foreign = page.browser.run("return [...document.querySelectorAll('#turns script, #turns img,"
                               "#turns svg, #turns iframe, #turns style, #turns base')].length")
    check(foreign, 0, "elements of an answer")
    links = page.browser.run("return [...document.querySelectorAll('#turns a')].map(a => a.href)")
    check(links, ["http://127.0.0.1:9/c.png", "http://127.0.0.1:9/"], "links of an answer")
    content = page.turns()[-1][1]
    check(content.startswith(HOSTILE), True, "the text of the answer")
    check("\ufffd\ufffd <b>" in content, True, "broken UTF-8")
    # A title of HTML, a request with that answer, and a reload from storage.
    page.send("<img src=x onerror='window.pwned=1'>", Answer("yes"))
    check("\ufffd\ufffd\ufffd <b>" in page.server.bodies[-1]["messages"][1]["content"], True,
          "an answer without half a pair of UTF-16 in the next request")
    page.open()
    check(page.browser.run("return window.pwned === undefined"), True, "no script after a reload")
    check(page.turns()[1][1].startswith(HOSTILE), True, "the text after a reload")


# Lists texts with a contrast below 4.5, controls without a name, and what is wider than the page.
LOOKS = """
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
function rgb(colour) {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
}
function light(colour) {
  const [r, g, b] = rgb(colour).map((c) => c / 255)
                        .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function behind(node) {
  for (; node; node = node.parentElement) {
    const colour = getComputedStyle(node).backgroundColor;
    if (rgb(colour)[3] === 255)
      return colour;
  }
  return "white";
}
const wrong = [];
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const node = texts.currentNode.parentElement;
  if (!texts.currentNode.data.trim() || !node.checkVisibility({visibilityProperty: true}) ||
      node.closest("script, style, template"))
    continue;
  const one = light(getComputedStyle(node).color), other = light(behind(node));
  const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  if (contrast < 4.5)
    wrong.push(`contrast ${contrast.toFixed(2)} of ${texts.currentNode.data.trim().slice(0, 30)}`);
}
for (const node of document.querySelectorAll("button, input, select, textarea, a")) {
  const box = node.getBoundingClientRect();
  if (node.checkVisibility({visibilityProperty: true}) && box.width &&
      (box.left < 0 || box.right > innerWidth + 0.5))
    wrong.push(`${node.outerHTML.slice(0, 60)} from ${box.left} to ${box.right}`);
  if (node.tagName !== "A" && node.checkVisibility({visibilityProperty: true}) &&
      !node.textContent.trim() && !node.ariaLabel && !node.labels?.length)
    wrong.push(`no name: ${node.outerHTML.slice(0, 60)}`);
}
if (document.documentElement.scrollWidth > innerWidth)
  wrong.push(`width ${document.documentElement.scrollWidth} in ${innerWidth}`);
return wrong;
"""


def check_looks(page):
    """Checks width, contrast and names at two widths, light and dark."""
    browser = page.browser
    page.new()
    page.send("How do I read a file?", Answer(*pieces(SAMPLE), thoughts=["The user asks."]))
    page.send("And then?", Answer("A", " short answer", end="length"))
    for width in (320, 400, 1200):
        for scheme in ("light", "dark"):
            browser.show_as(width, scheme)
            check(browser.run(LOOKS), [], f"the page at {width}, {scheme}")
            browser.run("document.getElementById('log').scrollTop = 0")
            browser.picture(f"{width}-{scheme}")
    # On a narrow page, the lists at the sides open and close by keyboard.
    browser.show_as(400, "light")
    for name in ("list", "side"):
        expanded = f"return document.getElementById('open-{name}').ariaExpanded"
        browser.keys(f"#open-{name}", ENTER)
        check(browser.run(expanded), "true", f"the list {name} is open")
        check(browser.run(f"return document.getElementById('{name}')"
                          ".contains(document.activeElement)"), True, "the focus is in it")
        check(browser.run(LOOKS), [], f"the list {name}")
        browser.picture(f"400-{name}")
        browser.keys(f"#close-{name}", ESCAPE)
        check(browser.run(expanded), "false", f"the list {name} is closed")
        check(browser.run("return document.activeElement.id"), f"open-{name}", "the focus")
    browser.show_as(1200, "light")


def check_keyboard(page):
    """Checks that Tab reaches all controls in order, with a visible focus."""
    browser = page.browser
    browser.run("document.getElementById('new').focus()")
    names, active = ["new"], "const a = document.activeElement; "
    for _ in range(60):
        browser.keys(":focus", TAB)
        name = browser.run(active + "return a.id || a.className || a.tagName")
        if name == "BODY":
            break
        outline = browser.run(active + "return getComputedStyle(a).outlineStyle +"
                              " getComputedStyle(a.closest('form, a, div') || a).borderTopColor")
        check("none" in outline and name != "input", False, f"a visible focus of {name}")
        names.append(name)
    for name in ("open", "SUMMARY", "quiet copy", "input", "send", "max_tokens", "k", "reset"):
        check(name in names, True, f"{name} among {names}")
    check(names.index("input") < names.index("max_tokens"), True, "order")


def check_settings(page):
    """Checks that settings are sent, and survive a reload."""
    browser = page.browser
    check(browser.run("return document.getElementById('temperature').placeholder"), "0.7",
          "the model's default")
    values = {"max_tokens": "77", "temperature": "0.25", "top_p": "0.5", "top_k": "9",
              "min_p": "0.125", "seed": "3", "k": "2", "theme": "dark"}
    for name, value in values.items():
        page.set(name, value)
    page.open()
    for name, value in values.items():
        check(browser.run(f"return document.getElementById('{name}').value"), value, name)
    check(browser.run("return getComputedStyle(document.documentElement).colorScheme"), "dark",
          "the chosen theme")
    page.send("again", Answer("yes"))
    body = page.server.bodies[-1]
    check([body.get(name) for name in ("max_tokens", "temperature", "top_p", "top_k", "min_p",
                                       "seed", "k")], [77, 0.25, 0.5, 9, 0.125, 3, 2],
          "the settings of a request")
    # A wrong value is shown, and not sent.
    count = len(page.server.bodies)
    page.set("temperature", "9")
    page.send("not sent")
    check(len(page.server.bodies), count, "requests with a wrong temperature")
    browser.run("document.getElementById('input').value = ''")
    browser.click("#reset")
    page.send("defaults", Answer("yes"))
    check([name for name in values if name in page.server.bodies[-1]], [], "reset settings")


def check_system(page):
    """Checks the system prompt of a conversation, and of new ones."""
    browser = page.browser
    page.new()
    browser.click("#system-box summary")
    browser.click("#system-default")
    browser.keys("#system", "Be brief.\nUse metric units.")
    page.send("hello", Answer("hi"))
    check(page.server.bodies[-1]["messages"],
          [{"role": "system", "content": "Be brief.\nUse metric units."},
           {"role": "user", "content": "hello"}], "messages with a system prompt")
    page.open()
    value = "return document.getElementById('system').value"
    check(browser.run(value), "Be brief.\nUse metric units.", "the system prompt after a reload")
    page.new()
    check(browser.run(value), "", "the system prompt of a new conversation")


def check_ends(page):
    """Checks that an answer says why it is short, and what it waits for."""
    server, browser = page.server, page.browser
    page.new()
    page.set("max_tokens", "20")
    page.send("one", Answer("a", "b", end="length"))
    check("limit of 20 tokens" in page.last(".notice"), True, "an answer that was cut")
    page.send("two", Answer("a", "b", end="length", prompt=1020))
    check("context of 1024 tokens is full" in page.last(".notice"), True, "a full context")
    page.send("three", Answer("a", "b", end=None))
    check("connection ended" in page.last(".notice"), True, "a stream that broke off")
    page.send("four", Answer("whole"))
    check(page.last(".notice"), "", "a whole answer")
    page.set("max_tokens", "")
    # A request that waits for a slot.
    gate = threading.Event()
    server.answers.put(Answer("a", "b", gates=[(0, gate)]))
    server.running, server.waiting = 4, 1
    page.send("five")
    page.wait_state("waiting for a slot")
    check("4 of 4 are in use, 1 waiting" in page.last(".phase"), True, "what it waits for")
    server.waiting = 0
    page.wait_state("reading the prompt")
    gate.set()
    browser.wait(ENDED, "the answer that waited")
    server.running = 0
    # A full queue is asked again.
    server.answers.put(Refusal(429, "too many sequences", retry=1))
    page.send("six", Answer("after a wait"))
    check(page.turns()[-1][1], "after a wait", "the answer of the second try")
    # The reason of a cut survives a reload.
    page.open()
    notices = browser.run("return [...document.querySelectorAll('.notice')]"
                          ".map(notice => notice.textContent !== '')")
    check(notices, [True, True, True, False, False, False], "notices after a reload")


def check_clamp(page):
    """Checks that a second turn over the limit gets the tokens that are left."""
    page.new()
    page.set("max_tokens", "1000")
    page.send("one", Answer("first"))
    page.server.answers.put(Refusal(400, "This model's maximum context length is 1024 tokens.",
                                    code="context_length_exceeded", n_prompt_tokens=900,
                                    n_ctx=1024))
    page.send("two", Answer("second", end="length", rounds=[(124, 0)], prompt=900))
    check([body["max_tokens"] for body in page.server.bodies[-2:]], [1000, 124], "max_tokens")
    check(page.turns()[-1], ["assistant", "second"], "the answer")
    check("context of 1024 tokens is full" in page.last(".notice"), True, "a full context")
    # A prompt that does not fit at all says so, and returns to the input.
    page.server.answers.put(Refusal(400, "This model's maximum context length is 1024 tokens.",
                                    code="context_length_exceeded", n_prompt_tokens=2000,
                                    n_ctx=1024))
    page.send("three")
    page.wait_state("failed")
    error = page.browser.run("return document.querySelector('.turn.bad').textContent")
    check("2000 tokens" in error and "1024" in error, True, f"the error: {error}")
    check(page.browser.run("return document.getElementById('input').value"), "three",
          "the message that was not answered")
    check(len(page.turns()), 4, "turns after an error")
    page.browser.run("document.getElementById('input').value = ''")
    page.set("max_tokens", "")


def check_stop(page):
    """Checks that the numbers of a stopped answer and of the next one are their own."""
    server, browser = page.server, page.browser
    page.new()
    gate = threading.Event()
    server.answers.put(Answer("a ", "b ", "c ", "never", rounds=[(1, 0), (5, 4), (2, 4), (3, 4)],
                              gates=[(3, gate)]))
    page.send("one")
    browser.wait("return chat.turns.at(-1).content === 'a b c '", "three texts")
    browser.keys("#input", ESCAPE)
    page.wait_state("stopped")
    gate.set()
    # 8 tokens; 4 and 1 of 4 drafts.
    check(page.last(".notice"), "Stopped.", "a stopped answer")
    check(page.last(".stats").startswith("8 tokens · "), True, page.last(".stats"))
    check("63 % accepted" in page.last(".stats"), True, page.last(".stats"))
    check((page.shown("tokens"), page.shown("acceptance"), page.shown("prompt")),
          ("8", "63 %", "–"), "the numbers of a stopped answer")
    # The next answer begins with no numbers.
    gate = threading.Event()
    server.answers.put(Answer("x", "y", rounds=[(1, 0), (1, 2)], gates=[(0, gate)]))
    page.send("two")
    page.wait_state("reading")
    check([page.shown(name) for name in ("tokens", "speed", "acceptance", "length", "first",
                                         "prompt", "cached")], ["–"] * 7, "no numbers yet")
    check(browser.run("return document.querySelectorAll('.round').length"), 0, "no rounds yet")
    gate.set()
    browser.wait(ENDED, "the second answer")
    check(page.last(".stats").startswith("2 tokens · "), True, page.last(".stats"))
    check((page.shown("tokens"), page.shown("acceptance"), page.shown("prompt")),
          ("2", "0 %", "10"), "the numbers of the second answer")
    check(browser.run("return document.querySelectorAll('.round').length"), 1, "its rounds")
    # The stopped answer keeps its line, also after a reload.
    page.open()
    lines = browser.run("return [...document.querySelectorAll('.stats')].map(s => s.textContent)")
    check([line.split(" ·")[0] for line in lines], ["8 tokens", "2 tokens"], "after a reload")
    # A stop before the first token leaves no answer, and the message in the input.
    gate = threading.Event()
    server.answers.put(Answer("never", gates=[(0, gate)]))
    page.send("three")
    page.wait_state("reading")
    browser.click("#stop")
    page.wait_state("stopped")
    gate.set()
    check(browser.run("return document.getElementById('input').value"), "three", "the message")
    check(len(page.turns()), 4, "turns after a stop without an answer")
    browser.run("document.getElementById('input').value = ''")


def check_stop_of_received(page):
    """Checks that a stop drops events that the browser has already received."""
    page.new()
    # The reply arrives whole, and the user stops after its first text.
    page.browser.run("const fetched = window.fetch, now = performance.now.bind(performance);"
                     "let ticks = 0;"
                     "performance.now = () => now() + 100 * ++ticks;"
                     "breathe = async () => { if (running.turn.content) stop(); };"
                     "window.fetch = async (path, options) => {"
                     " const reply = await fetched(path, options);"
                     " return options.method === 'POST' ? new Response(await reply.text()) : reply;"
                     "}")
    page.send("one", Answer("a ", "b ", "c "))
    page.wait_state("stopped")
    check(page.turns()[-1], ["assistant", "a "], "the answer up to its stop")
    page.open()


def check_edit(page):
    """Checks edit and regenerate, and the turns that they send."""
    browser = page.browser
    page.new()
    page.send("one", Answer("first"))
    page.send("two", Answer("second"))
    page.server.answers.put(Answer("other"))
    browser.click(".turn.assistant:last-of-type .again")
    browser.wait(ENDED, "another answer")
    check([m["content"] for m in page.server.bodies[-1]["messages"]], ["one", "first", "two"],
          "the messages of a second try")
    check([text for _, text in page.turns()], ["one", "first", "two", "other"], "the turns")
    page.server.answers.put(Refusal(503, "the server ends"))
    browser.click(".turn.assistant:last-of-type .again")
    page.wait_state("failed")
    check([text for _, text in page.turns()], ["one", "first", "two", "other"], "a failed try")
    check(browser.run("return document.getElementById('input').value"), "", "the input after it")
    browser.click(".turn.user .edit")
    browser.keys(".editor textarea", ESCAPE)
    check(len(page.turns()), 4, "turns after a cancelled edit")
    browser.click(".turn.user .edit")
    page.server.answers.put(Answer("third"))
    browser.keys(".editor textarea", " more" + ENTER)
    browser.wait(ENDED, "an answer to the edited message")
    check([text for _, text in page.turns()], ["one more", "third"], "the turns after an edit")
    # The arrow edits the last message. A failure keeps the turns.
    browser.keys("#input", UP)
    page.server.answers.put(Refusal(500, "the device is lost"))
    browser.keys(".editor textarea", "!" + ENTER)
    page.wait_state("failed")
    check([text for _, text in page.turns()], ["one more", "third"], "the turns after a failure")
    check(browser.run("return document.getElementById('input').value"), "one more!",
          "the edited message")
    browser.run("document.getElementById('input').value = ''")


def check_copy(page):
    browser = page.browser
    page.new()
    page.send("code", Answer("Some:\n```sh\nls <b>\n", "cd ..\n```\n"))
    browser.run("window.copied = []; navigator.clipboard.writeText ="
                " (text) => { window.copied.push(text); return Promise.resolve(); }")
    browser.click(".code .copy")
    browser.click(".turn.assistant .copy-turn")
    check(browser.run("return window.copied"),
          ["ls <b>\ncd ..", "Some:\n```sh\nls <b>\ncd ..\n```\n"], "what was copied")
    check(browser.run("return document.querySelector('.code .copy').textContent"), "Copied",
          "the button")


def check_conversations(page):
    """Checks the list: titles, order, rename, delete, undo, reload; an answer in another one."""
    browser = page.browser
    titles = "return [...document.querySelectorAll('#chats .open')].map(open => open.textContent)"
    browser.run("localStorage.clear(); chats = []; chat = null; openChat(newChat());")
    for name in ("first", "second", "third"):
        page.new()
        page.send(name, Answer("answer to " + name))
    check(browser.run(titles), ["third", "second", "first"], "the list")
    check(len({body["affinity"] for body in page.server.bodies[-3:]}), 3, "names for a proxy")
    browser.click("#chats li:nth-child(2) .rename")
    browser.keys("#chats input", "\ue009a\ue000a better <b>name" + ENTER)
    check(browser.run(titles), ["third", "a better <b>name", "first"], "a renamed one")
    browser.click("#chats li:nth-child(3) .delete")
    check(browser.run(titles), ["third", "a better <b>name"], "without the first")
    browser.click("#toast button")
    check(browser.run(titles)[-1], "first", "the first is back")
    check(page.turns()[1][1], "answer to first", "its turns")
    browser.click("#chats li:nth-child(1) .delete")
    page.open()
    check(browser.run(titles), ["a better <b>name", "first"], "the list after a reload")
    check(page.turns()[0][1], "first", "the conversation after a reload")
    # An answer goes on while another conversation is shown.
    gate = threading.Event()
    page.server.answers.put(Answer("be", "hind", gates=[(1, gate)]))
    page.send("more")
    browser.wait("return chat.turns.at(-1).content === 'be'", "the begin of an answer")
    browser.click("#chats li:nth-child(2) .open")
    check(page.turns()[0][1], "second", "another conversation")
    gate.set()
    browser.wait(ENDED, "the end of an answer that is not shown")
    check([text for _, text in page.turns()], ["second", "answer to second"], "its turns")
    browser.click("#chats li:nth-child(1) .open")
    check(page.turns()[-1], ["assistant", "behind"], "the answer that went on")
    # A draft stays with its conversation.
    browser.keys("#input", "a draft")
    browser.click("#chats li:nth-child(2) .open")
    value = "return document.getElementById('input').value"
    check(browser.run(value), "", "the input of another conversation")
    browser.click("#chats li:nth-child(1) .open")
    check(browser.run(value), "a draft", "a draft")
    # Broken storage does not break the page.
    browser.run("localStorage.setItem('mtp-serve/chat/x', '{\"turns\": [null, {\"role\": 1},"
                " {\"role\": \"assistant\", \"content\": \"<i>\", \"stats\": {\"rounds\": 3}}]}');"
                "localStorage.setItem('mtp-serve/chat/y', '{');"
                "localStorage.setItem('mtp-serve/settings', '{\"k\": 7, \"theme\": \"<\"}')")
    page.open()
    check("New conversation" in browser.run(titles), True, "conversations of broken storage")
    browser.run("localStorage.clear()")


def check_template(page):
    """Checks a model without a chat template, which goes on with the text."""
    page.server.has_chat = False
    page.open()
    page.new()
    check(page.browser.run("return document.getElementById('no-template')"
                           ".checkVisibility()"), True, "what the page says about it")
    page.send("Once upon", Answer(" a **time**\n\n\nthere"))
    check(page.server.bodies[-1]["prompt"], "Once upon", "the prompt")
    check(page.server.bodies[-1]["max_tokens"], 256, "its tokens")
    page.server.has_chat = True


with PageServer(sys.argv[1]) as fake, \
        Browser(sys.argv[2] if len(sys.argv) > 2 else None) as chromium:
    tested = Page(chromium, fake)
    tested.open()
    for part in (check_units, check_hostile, check_looks, check_keyboard, check_settings,
                 check_system, check_ends, check_clamp, check_stop, check_stop_of_received,
                 check_edit, check_copy, check_conversations, check_template):
        part(tested)
    allowed = ("status of 400", "status of 429", "status of 500", "status of 503")
    check([line for line in chromium.log() if not any(text in line for text in allowed)], [],
          "the browser's log")
    requested = chromium.run("return performance.getEntriesByType('resource').map(e => e.name)")
    check([name for name in requested if not name.startswith((fake.url, "data:"))], [],
          "requests to other hosts")
print("the page does what it should, whatever the model writes")
