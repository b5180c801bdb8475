"""deploy.py ARTIFACT DEPLOY: tests the files of tools/mtp-serve/deploy with servers. nginx runs if
it is installed; otherwise its part is skipped with a message."""
import http.client, json, os, re, shutil, socket, subprocess, sys, time

from serving import Server, check

ARTIFACT, DEPLOY = sys.argv[1:]


def check_dashboard(server):
    """Checks that the server has each metric that a panel uses."""
    with open(os.path.join(DEPLOY, "grafana.json")) as file:
        dashboard = json.load(file)
    text = server.ask("GET", "/metrics")[2]
    known = set(re.findall(r"^([a-z][\w:]*)\{", text, re.M))
    asked = set()
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            names = re.findall(r"\b((?:vllm|mtp):\w+)", target["expr"])
            check(bool(names), True, f"metrics in {target['expr']}")
            asked.update(names)
    check(asked - known, set(), "metrics of the dashboard that there are none of")
    for label in ("position", "finished_reason", "model_name"):
        check(f'{label}="' in text, True, f"the label {label}")


def check_manifests():
    """Checks that the files are YAML of the right kinds, if Python can read YAML."""
    try:
        import yaml
    except ImportError:
        return
    with open(os.path.join(DEPLOY, "kubernetes.yaml")) as file:
        parts = list(yaml.safe_load_all(file))
    check([part["kind"] for part in parts],
          ["Service", "Deployment", "PodDisruptionBudget", "HorizontalPodAutoscaler"], "kinds")
    labels = parts[1]["spec"]["template"]["metadata"]["labels"]
    for part in (parts[0]["spec"]["selector"], parts[1]["spec"]["selector"]["matchLabels"],
                 parts[2]["spec"]["selector"]["matchLabels"]):
        check(part, labels, "what is selected")


class Proxy:
    """nginx with the tree's configuration, in front of two servers."""

    def __init__(self, servers):
        with open(os.path.join(DEPLOY, "nginx.conf")) as file:
            text = file.read()
        for port, server in zip(("8081", "8082"), servers):
            check(text.count(f"127.0.0.1:{port}"), 1, f"servers at {port}")
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{server.port}")
        self.port = free_port()
        check(text.count("listen 8080;"), 1, "places to listen at")
        text = text.replace("listen 8080;", f"listen 127.0.0.1:{self.port};")
        folder = os.path.abspath("nginx")
        os.makedirs(folder)
        paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(os.path.join(folder, "nginx.conf"), "w") as file:
            file.write(f"daemon off;\nmaster_process off;\npid {folder}/pid;\n"
                       f"error_log {folder}/error.log;\nevents {{}}\n"
                       f"http {{\naccess_log off;\n{paths}{text}\n}}\n")
        command = ["nginx", "-p", folder, "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]
        tried = subprocess.run([*command, "-t"], capture_output=True, text=True)
        check((tried.returncode, "warn" in tried.stderr), (0, False), f"nginx -t: {tried.stderr}")
        self.process = subprocess.Popen(command)

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        self.process.terminate()
        self.process.wait(30)


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def ask(proxy, affinity, **body):
    """Returns status and text of an answer through the proxy."""
    for _ in range(100):
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
        try:
            connection.request("POST", "/v1/completions",
                               json.dumps({"prompt": [1, 2, 3], "max_tokens": 4, **body}),
                               {"Content-Type": "application/json",
                                "X-Prefix-Affinity": affinity})
            reply = connection.getresponse()
            return reply.status, reply.read().decode()
        except ConnectionRefusedError:
            time.sleep(0.05)
        finally:
            connection.close()
    sys.exit("expected nginx to listen")


def answered(server):
    return server.metric("vllm:request_success_total", finished_reason="length")


def check_proxy(servers):
    with Proxy(servers) as proxy:
        before = [answered(server) for server in servers]
        # A conversation stays on its server.
        for _ in range(10):
            check(ask(proxy, "one")[0], 200, "an answer through nginx")
        counts = [answered(server) - old for server, old in zip(servers, before)]
        check(sorted(counts), [0, 10], "servers of one conversation")
        for number in range(40):
            ask(proxy, f"c{number}")
        counts = [answered(server) - old for server, old in zip(servers, before)]
        check(min(counts) > 3, True, f"conversations on both servers ({counts})")
        status, text = ask(proxy, "one", stream=True, max_tokens=40)
        check((status, text.endswith("data: [DONE]\n\n")), (200, True), "a stream through nginx")
        # If one server is gone, the other gets all requests.
        servers[0].process.kill()
        servers[0].process.wait()
        for number in range(20):
            check(ask(proxy, f"c{number}")[0], 200, "an answer of the server that is left")


with Server(ARTIFACT, "--no-request-log") as one:
    one.complete(prompt=[1, 2, 3], max_tokens=8)
    check_dashboard(one)
check_manifests()
HAS_NGINX = shutil.which("nginx") is not None
if HAS_NGINX:
    with Server(ARTIFACT, "--no-request-log") as one:
        two = Server(ARTIFACT, "--no-request-log")
        try:
            check_proxy([two, one])
        finally:
            two.process.kill()
            two.reader.join()
print(f"what is deployed fits, {'with' if HAS_NGINX else 'without'} nginx")
