"""A headless Chromium, driven by chromedriver with WebDriver's protocol."""
import base64, json, re, subprocess, sys, tempfile, time, urllib.request

ENTER, ESCAPE, TAB, UP = "\ue007", "\ue00c", "\ue004", "\ue013"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """`pictures` is a folder for screenshots, or None."""

    def __init__(self, pictures=None):
        self.pictures = pictures
        self.profile = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if match := re.search(r"successfully on port (\d+)", line):
                break
        self.base = f"http://127.0.0.1:{match[1]}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1200,800", f"--user-data-dir={self.profile.name}"]
        options = {"goog:chromeOptions": {"args": arguments},
                   "goog:loggingPrefs": {"browser": "ALL"}}
        session = self.call("POST", "/session", capabilities={"alwaysMatch": options})
        self.base += "/session/" + session["sessionId"]

    def call(self, method, path, **body):
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path} {body}: {error.read().decode()[:2000]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call("DELETE", "")
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()

    def open(self, url):
        self.call("POST", "/url", url=url)

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", script=script, args=list(arguments))

    def find(self, name):
        return self.call("POST", "/element", using="css selector", value=name)[ELEMENT]

    def click(self, name):
        self.call("POST", f"/element/{self.find(name)}/click")

    def keys(self, name, text):
        self.call("POST", f"/element/{self.find(name)}/value", text=text)

    def wait(self, script, what):
        """Returns the value of a script once it is true."""
        for _ in range(300):
            if value := self.run(script):
                return value
            time.sleep(0.05)
        state = self.run("return document.getElementById('state').textContent")
        sys.exit(f"expected {what}, got none; the page says: {state}")

    def command(self, name, **parameters):
        """Runs a command of Chromium's own protocol."""
        return self.call("POST", "/goog/cdp/execute", cmd=name, params=parameters)

    def show_as(self, width, scheme, height=800):
        """Emulates the width of a page in CSS pixels, and light or dark, without transitions."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=False)
        self.command("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": scheme},
                               {"name": "prefers-reduced-motion", "value": "reduce"}])

    def picture(self, name):
        if self.pictures:
            with open(f"{self.pictures}/{name}.png", "wb") as file:
                file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def log(self):
        return [entry["message"] for entry in self.call("POST", "/se/log", type="browser")]
