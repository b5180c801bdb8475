"""page.py ARTIFACT [SCREENSHOTS]: tests the page at / in a headless Chromium by WebDriver
(chromedriver): type, stream, stop, reload. SCREENSHOTS is a folder for pictures."""
import signal, sys, time

from browser import ENTER, ESCAPE, Browser
from serving import Server, alone, check

ARTIFACT = sys.argv[1]
# More tokens than arrive while the test waits for the page.
LONG = 20000
ANSWERS = ("return chat.turns.filter(turn => turn.role === 'assistant')"
           ".map(turn => turn.content)")
SHOWN = ("return [...document.querySelectorAll('.turn.assistant .text')]"
         ".map(text => text.textContent)")
ENDED = "!running && !document.getElementById('send').hidden"


def set_number(browser, name, value):
    browser.run(f"document.getElementById('{name}').value = '{value}';"
                f"document.getElementById('{name}').dispatchEvent(new Event('change'))")


def watch_requests(browser):
    """Records the conversation id that each completion sends for proxies. While `isEndless` is
    true, completions ignore the model's end of text: an answer must not end before its stop."""
    browser.run("const fetched = window.fetch; window.affinities = []; window.isEndless = false;"
                "window.fetch = (path, options) => {"
                " if (options.method === 'POST') {"
                "  window.affinities.push(options.headers['X-Prefix-Affinity']);"
                "  if (window.isEndless)"
                "   options.body = JSON.stringify({...JSON.parse(options.body),"
                "                                  ignore_eos: true});"
                " }"
                " return fetched(path, options); }")


STRICT = ("{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
          "{{ raise_exception('roles must alternate') }}{% endif %}{{ m.content }} {% endfor %}")


def check_roles(browser, port):
    """Checks that the conversation goes on after an error, and after a reload."""
    browser.open(f"http://127.0.0.1:{port}/")
    browser.wait(state_is("ready"), "a page that is ready")
    system = ("const system = document.getElementById('system'); system.value = arguments[0];"
              "system.dispatchEvent(new Event('input'))")
    browser.run(system, "a role that the template refuses")
    browser.keys("#input", "the house" + ENTER)
    browser.wait("return document.querySelector('.turn.bad') !== null", "an error on the page")
    value = "return document.getElementById('input').value"
    check(browser.run(value), "the house", "the message that was not answered")
    browser.open(f"http://127.0.0.1:{port}/")
    browser.wait(state_is("ready"), "a page that is ready again")
    check(browser.run(value), "the house", "the message after a reload")
    browser.run(system, "")
    set_number(browser, "max_tokens", 5)
    for count, text in ((1, " was"), (2, "and a day")):
        browser.keys("#input", text + ENTER)
        browser.wait(f"return document.querySelectorAll('.turn.assistant').length === {count}"
                     f" && {ENDED}", "an answer")
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


def check_clamp(browser):
    """Checks that an answer takes the rest of the context if its limit is beyond."""
    set_number(browser, "max_tokens", 100000)
    browser.keys("#input", " and two" + ENTER)
    browser.wait("return document.querySelectorAll('.round').length > 2", "rounds")
    browser.keys("#input", ESCAPE)
    browser.wait(state_is("stopped"), "an answer that was stopped")
    check(browser.run("return document.querySelectorAll('.turn.bad').length"), 0, "errors")


def check_dark(browser):
    """Checks that the colours follow the user's system."""
    back = "return getComputedStyle(document.body).backgroundColor"
    colours = []
    for scheme in ("light", "dark"):
        browser.show_as(1200, scheme)
        colours.append(browser.run(back))
        browser.picture(scheme)
    check(colours, ["rgb(255, 255, 255)", "rgb(23, 25, 30)"], "light and dark")


def check_affinity(browser):
    """Checks that one conversation has one id, and a new conversation another."""
    browser.click("#new")
    browser.keys("#input", "a day" + ENTER)
    browser.wait("return document.querySelectorAll('.turn.assistant').length === 1"
                 f" && {ENDED}", "an answer to something new")
    *one, other = browser.run("return window.affinities")
    check((len(one), len(set(one)), len(one[0]), other in one), (3, 1, 16, False),
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
                 f" && {ENDED}", "an answer that has ended")
    expected = alone(ARTIFACT, "the house was great", max_tokens=40, temperature=0)["text"]
    check(browser.run(ANSWERS), [expected], "the answer of the page")
    check(browser.run(SHOWN), [expected], "the text on the page")
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
    watch_requests(browser)
    # After a stop the server has no sequence. A refused request shows its error.
    long_text = "document.getElementById('input').value"
    browser.run(long_text + " = 'the house '.repeat(20000)")
    browser.keys("#input", ENTER)
    browser.wait("return document.querySelector('.turn.bad') !== null", "an error on the page")
    message = browser.run("return document.querySelector('.turn.bad').textContent")
    check("context" in message, True, f"what is wrong: {message}")
    browser.picture("error")
    check(browser.run(f"return {long_text}.length"), 200000, "the message that was not answered")
    browser.run(long_text + " = ''")
    browser.run("window.isEndless = true")
    check_stop(browser, server)
    check_clamp(browser)
    browser.run("window.isEndless = false")
    check_dark(browser)
    set_number(browser, "max_tokens", 40)
    check_affinity(browser)
    # Nothing failed to load, and there were no requests to other hosts.
    wrong = [message for message in browser.log() if " 400 " not in message]
    check(wrong, [], "the browser's log")
    names = browser.run("return performance.getEntriesByType('resource').map(e => e.name)")
    strangers = [n for n in names
                 if not n.startswith((f"http://127.0.0.1:{server.port}/", "data:"))]
    check(strangers, [], "requests to other hosts")


with Browser(sys.argv[2] if len(sys.argv) > 2 else None) as chromium:
    with Server(ARTIFACT, "--no-request-log") as running:
        check_page(chromium, running)
        with open("strict.jinja", "w") as file:
            file.write(STRICT)
        with Server(ARTIFACT, "--no-request-log", "--chat-template", "strict.jinja") as strict:
            check_roles(chromium, strict.port)
            check_return(chromium, strict)
print("the page does what it should")
