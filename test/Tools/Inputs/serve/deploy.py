"""deploy.py ARTIFACT DEPLOY: tests the files of tools/mtp-serve/deploy with servers. nginx itself
runs if it is installed; otherwise its part prints a message and is skipped."""
import http.client, json, os, re, shutil, signal, socket, subprocess, sys, time

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
    """Checks that the file is YAML with the expected kinds, if Python can read it."""
    try:
        import yaml
    except ImportError:
        return
    with open(os.path.join(DEPLOY, "kubernetes.yaml")) as file:
        parts = list(yaml.safe_load_all(file))
    kinds = {}
    for part in parts:
        kinds.setdefault(part["kind"], {})[part["metadata"]["name"]] = part["spec"]
    check({kind: sorted(names) for kind, names in kinds.items()}, {
        "Service": ["mtp-serve", "mtp-servers"], "Deployment": ["mtp-gate", "mtp-serve"],
        "NetworkPolicy": ["mtp-serve"], "PodDisruptionBudget": ["mtp-gate", "mtp-serve"],
        "HorizontalPodAutoscaler": ["mtp-serve"]}, "kinds and names")
    for name, deployment in kinds["Deployment"].items():
        labels = deployment["template"]["metadata"]["labels"]
        for selected in (deployment["selector"], kinds["PodDisruptionBudget"][name]["selector"]):
            check(selected["matchLabels"], labels, f"what is selected for {name}")
    gate, server = ({"app": name} for name in ("mtp-gate", "mtp-serve"))
    check([kinds["Service"][name]["selector"] for name in ("mtp-serve", "mtp-servers")],
          [gate, server], "pods of the services")
    policy = kinds["NetworkPolicy"]["mtp-serve"]
    check((policy["podSelector"]["matchLabels"],
           policy["ingress"][0]["from"][0]["podSelector"]["matchLabels"]), (server, gate),
          "who may reach a server")
    command = kinds["Deployment"]["mtp-gate"]["template"]["spec"]["containers"][0]["args"]
    check(command[command.index("--name") + 1], "mtp-servers:8080", "the name of the servers")


def probe(port):
    """Sends the request of a readiness probe as the kubelet does. Returns whether the pod is ready.
    """
    with open(os.path.join(DEPLOY, "kubernetes.yaml")) as file:
        paths = set(re.findall(r"readinessProbe:\s+httpGet: \{path: (\S+), port: http\}",
                               file.read()))
    check(len(paths), 1, f"paths of readiness probes ({paths})")
    request = (f"GET {paths.pop()} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
               "User-Agent: kube-probe/1.31\r\nAccept: */*\r\nConnection: close\r\n\r\n")
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(request.encode())
            status = int(connection.makefile().readline().split()[1])
    except ConnectionError:
        return False
    return 200 <= status < 400


def check_probe():
    """Probes a server and a gate from before they listen to their end."""
    port = free_port()
    check(probe(port), False, "ready before it listens")
    flags = ("--no-request-log", "--replica", "--api-key", "key", "--shutdown-timeout", "30")
    with Server(ARTIFACT, *flags, "--port", str(port)) as server:
        folder = os.path.join(DEPLOY, "..", "gate", "gate.py")
        gate = subprocess.Popen([sys.executable, "-B", folder, "--port", "0", "--patience", "0",
                                 "--server", f"127.0.0.1:{port}"],
                                stderr=subprocess.PIPE, text=True)
        own = int(gate.stderr.readline().strip().rsplit(":", 1)[1])
        check((probe(port), probe(own)), (True, True), "ready")
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            # The client reads nothing, so the answer goes on.
            body = json.dumps({"prompt": [1, 2, 3], "stream": True, "n": 64, "max_tokens": 180,
                               "ignore_eos": True}).encode()
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\n"
                               b"Authorization: Bearer key\r\nContent-Length: %d\r\n\r\n"
                               % len(body) + body)
            check(connection.recv(12), b"HTTP/1.1 200", "the begin of an answer")
            server.process.send_signal(signal.SIGTERM)
            for _ in range(100):
                if not probe(port):
                    break
                time.sleep(0.02)
            check(server.process.poll(), None, "a server with an answer ends")
            check((probe(port), probe(own)), (False, False), "ready after SIGTERM")
        server.process.kill()
        server.stop = lambda: (server.process.wait(), server.reader.join())
        check((probe(port), probe(own)), (False, False), "ready after the end")
        gate.terminate()
        gate.wait(30)
        gate.stderr.close()


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
        # Without one server all requests go to the other.
        servers[0].process.kill()
        servers[0].process.wait()
        for number in range(20):
            check(ask(proxy, f"c{number}")[0], 200, "an answer of the server that is left")


with Server(ARTIFACT, "--no-request-log") as one:
    one.complete(prompt=[1, 2, 3], max_tokens=8)
    check_dashboard(one)
check_manifests()
check_probe()
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
