"""page.py ARTIFACT [SCREENSHOTS]: tests the page at / in a headless Chromium by WebDriver
(chromedriver): type, stream, stop, reload. SCREENSHOTS is a folder for pictures."""
import base64, json, os, re, signal, subprocess, sys, tempfile, time, urllib.request

from serving import Server, alone, check

ARTIFACT, PICTURES = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
# More tokens than arrive while the test waits for the page.
LONG = 20000
ENTER, ESCAPE = "\ue007", "\ue00c"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ANSWERS = ("return [...document.querySelectorAll('.turn.assistant')]"
           ".map(turn => turn.lastChild.textContent)")


class Browser:
    def __init__(self, home):
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if match := re.search(r"successfully on port (\d+)", line):
                break
        self.base = f"http://127.0.0.1:{match[1]}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1200,800", f"--user-data-dir={home}"]
        options = {"goog:chromeOptions": {"args": arguments},
                   "goog:loggingPrefs": {"browser": "ALL"}}
        session = self.call("POST", "/session", capabilities={"alwaysMatch": options})
        self.base += "/session/" + session["sessionId"]

    def call(self, method, path, **body):
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)["value"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call("DELETE", "")
        self.process.terminate()
        self.process.wait()

    def open(self, url):
        self.call("POST", "/url", url=url)

    def run(self, script):
        return self.call("POST", "/execute/sync", script=script, args=[])

    def keys(self, name, text):
        found = self.call("POST", "/element", using="css selector", value=name)
        self.call("POST", f"/element/{found[ELEMENT]}/value", text=text)

    def wait(self, script, what):
        """Returns the value of a script once it is true."""
        for _ in range(300):
            if value := self.run(script):
                return value
            time.sleep(0.05)
        state = self.run("return document.getElementById('state').textContent")
        sys.exit(f"expected {what}, got none; the page says: {state}")

    def picture(self, name):
        if PICTURES:
            with open(os.path.join(PICTURES, name + ".png"), "wb") as file:
                file.write(base64.b64decode(self.call("GET", "/screenshot")))


def set_number(browser, name, value):
    browser.run(f"document.getElementById('{name}').value = '{value}'")


def watch_affinity(browser):
    """Records the conversation id that each completion sends for proxies."""
    browser.run("const fetched = window.fetch; window.affinities = [];"
                "window.fetch = (path, options) => {"
                " if (options.method === 'POST')"
                "  window.affinities.push(options.headers['X-Prefix-Affinity']);"
                " return fetched(path, options); }")


STRICT = ("{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
          "{{ raise_exception('roles must alternate') }}{% endif %}{{ m.content }} {% endfor %}")


def check_roles(browser, port):
    """Checks that the conversation goes on after an error, and after a reload."""
    browser.open(f"http://127.0.0.1:{port}/")
    browser.wait(state_is("ready"), "a page that is ready")
    set_number(browser, "max_tokens", 100000)
    browser.keys("#input", "the house" + ENTER)
    browser.wait("return document.querySelector('.turn.bad') !== null", "an error on the page")
    value = "return document.getElementById('input').value"
    check(browser.run(value), "the house", "the message that was not answered")
    browser.open(f"http://127.0.0.1:{port}/")
    browser.wait(state_is("ready"), "a page that is ready again")
    check(browser.run(value), "the house", "the message after a reload")
    set_number(browser, "max_tokens", 5)
    for count, text in ((1, " was"), (2, "and a day")):
        browser.keys("#input", text + ENTER)
        browser.wait(f"return document.querySelectorAll('.turn.assistant').length === {count}"
                     " && !document.getElementById('send').disabled", "an answer")
        check(browser.run("return document.querySelectorAll('.turn.bad').length"), 0, "errors")


def check_return(browser, server):
    """Checks that the page reports a server that is gone, until it is back."""
    server.process.send_signal(signal.SIGTERM)
    server.process.wait()
    browser.wait("return document.getElementById('state').className === 'bad'",
                 "a page that says that its server is gone")
    with Server(ARTIFACT, "--no-request-log", "--port", str(server.port)):
        browser.wait(state_is("ready"), "a page that is ready once more")


def check_stop(browser, server):
    """Checks that a long answer ends when it is stopped."""
    set_number(browser, "max_tokens", LONG)
    browser.keys("#input", " and one" + ENTER)
    browser.wait("return document.querySelectorAll('.round').length > 2", "rounds")
    check(server.metric("vllm:num_requests_running"), 1, "who runs ahead of the stop")
    browser.keys("#input", ESCAPE)
    browser.wait(state_is("stopped"), "an answer that was stopped")
    for _ in range(100):
        if not server.metric("vllm:num_requests_running"):
            break
        time.sleep(0.05)
    check(server.metric("vllm:num_requests_running"), 0, "sequences that run after the stop")
    check(server.metric("vllm:request_success_total", finished_reason="abort"), 1, "aborts")
    check(server.metric("vllm:generation_tokens_total") < LONG, True, "the tokens of a stop")


def check_dark(browser):
    """Checks that the colours follow the user's system."""
    back = "return getComputedStyle(document.body).backgroundColor"
    colours = []
    for scheme in ("light", "dark"):
        browser.call("POST", "/goog/cdp/execute", cmd="Emulation.setEmulatedMedia",
                     params={"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        colours.append(browser.run(back))
        browser.picture(scheme)
    check(colours, ["rgb(246, 247, 249)", "rgb(20, 23, 28)"], "light and dark")


def check_affinity(browser):
    """Checks that one conversation has one id, and a new conversation another."""
    browser.run("document.getElementById('clear').click()")
    browser.keys("#input", "a day" + ENTER)
    browser.wait("return document.querySelectorAll('.turn.assistant').length === 1"
                 " && !document.getElementById('send').disabled", "an answer to something new")
    *one, other = browser.run("return window.affinities")
    check((len(one), len(set(one)), len(one[0]), other in one), (2, 1, 16, False),
          f"the conversations that were named: {one}, {other}")


def state_is(text):
    return f"return document.getElementById('state').textContent.startsWith('{text}')"


def check_page(browser, server):
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.wait(state_is("ready"), "a page that is ready")
    # Type and stream.
    set_number(browser, "max_tokens", 40)
    set_number(browser, "temperature", 0)
    browser.keys("#input", "the house was great" + ENTER)
    browser.wait("return document.querySelectorAll('.turn.assistant').length === 1"
                 " && !document.getElementById('send').disabled", "an answer that has ended")
    expected = alone(ARTIFACT, "the house was great", max_tokens=40, temperature=0)["text"]
    check(browser.run(ANSWERS), [expected], "the answer on the page")
    rounds = browser.run("return document.querySelectorAll('.round').length")
    tokens = browser.run("return document.querySelectorAll('.round i:not(.rejected)').length")
    check((0 < rounds <= 39, tokens), (True, 39), "rounds and tokens on the time line")
    marks = browser.run("return document.querySelectorAll('.round i').length")
    drafted = server.metric("vllm:spec_decode_num_draft_tokens_total")
    check(marks - rounds, int(drafted), "drafts on the time line")
    check(len(browser.run("return [...document.querySelectorAll('#accepted tr')]"
                          ".map(row => row.textContent)")), 2, "positions of drafts")
    browser.picture("answer")
    # A reload keeps the conversation.
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.wait(state_is("ready"), "a page that is ready again")
    check(browser.run(ANSWERS), [expected], "the answer after a reload")
    watch_affinity(browser)
    # After a stop the server has no sequence. A refused request shows its error.
    set_number(browser, "max_tokens", 100000)
    browser.keys("#input", " a day" + ENTER)
    browser.wait("return document.querySelector('.turn.bad') !== null", "an error on the page")
    message = browser.run("return document.querySelector('.turn.bad').textContent")
    check("max_tokens" in message or "context" in message, True, f"what is wrong: {message}")
    browser.picture("error")
    check(browser.run("return document.getElementById('input').value"), " a day",
          "the message that was not answered")
    check_stop(browser, server)
    check_dark(browser)
    set_number(browser, "max_tokens", 40)
    check_affinity(browser)
    # Nothing failed to load, and there were no requests to other hosts.
    wrong = [entry["message"] for entry in browser.call("POST", "/se/log", type="browser")
             if " 400 " not in entry["message"]]
    check(wrong, [], "the browser's log")
    names = browser.run("return performance.getEntriesByType('resource').map(e => e.name)")
    strangers = [n for n in names
                 if not n.startswith((f"http://127.0.0.1:{server.port}/", "data:"))]
    check(strangers, [], "requests to other hosts")


with tempfile.TemporaryDirectory() as profile, Browser(profile) as chromium:
    with Server(ARTIFACT, "--no-request-log") as running:
        check_page(chromium, running)
        with open("strict.jinja", "w") as file:
            file.write(STRICT)
        with Server(ARTIFACT, "--no-request-log", "--chat-template", "strict.jinja") as strict:
            check_roles(chromium, strict.port)
            check_return(chromium, strict)
print("the page does what it should")
