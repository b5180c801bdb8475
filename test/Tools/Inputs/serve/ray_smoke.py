"""ray_smoke.py ARTIFACT FOLDER: the deployment of Ray Serve in FOLDER with two replicas, of which
first the server and then the replica is killed. Needs ray[serve]."""
import contextlib, http.client, json, os, pathlib, signal, socket, sys, time
from concurrent.futures import ThreadPoolExecutor

ARTIFACT, FOLDER = (os.path.abspath(name) for name in sys.argv[1:])
os.environ.update(MTP_SERVE_COMMAND=f"mtp-serve {ARTIFACT} --threads 1 --no-request-log",
                  PYTHONPATH=FOLDER, RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0")
sys.path.insert(0, FOLDER)
import ray
from ray import serve

from serving import alone, check

BODY = {"prompt": [5, 6, 7], "max_tokens": 20, "temperature": 0, "ignore_eos": True}


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def ask(port, **body):
    """Status and text of an answer."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=300)) as client:
        client.request("POST", "/v1/completions", json.dumps({**BODY, **body}),
                       {"Content-Type": "application/json"})
        reply = client.getresponse()
        return reply.status, reply.read().decode()


def servers():
    """The mtp-serve processes of this artifact, and the replicas that own them."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes().split(b"\0")
                if command[0] == b"mtp-serve" and ARTIFACT.encode() in command:
                    parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
                    found[int(entry.name)] = int(parent)
    return found


def wait_for_two(gone):
    """Two servers that answer, none of which is `gone`."""
    for _ in range(600):
        if len(servers()) == 2 and gone not in servers():
            return
        time.sleep(0.2)
    sys.exit(f"expected two servers again, got {servers()}")


def kill_in_the_middle(port, victim_of):
    """Streams that run on both replicas while one is killed, and requests just behind that."""
    with ThreadPoolExecutor(40) as pool:
        streams = [pool.submit(ask, port, stream=True, max_tokens=3000, n=8) for _ in range(8)]
        time.sleep(0.7)
        victim = sorted(servers())[0]
        os.kill(victim_of(victim), signal.SIGKILL)
        plain = [pool.submit(ask, port) for _ in range(20)]
        texts = [future.result() for future in streams]
        answers = [future.result() for future in plain]
    check({status for status, _ in answers}, {200}, "answers behind a kill")
    ids = {tuple(json.loads(text)["choices"][0]["token_ids"]) for _, text in answers}
    check(ids, {EXPECTED}, "their tokens")
    check({status for status, _ in texts}, {200}, "streams")
    whole = sum(text.endswith("data: [DONE]\n\n") for _, text in texts)
    failed = sum('"the replica is gone"' in text.splitlines()[-2] for _, text in texts)
    check(whole + failed, 8, f"streams that end, {whole} of them whole and {failed} with an error")
    check(whole > 0 and failed > 0, True, f"both kinds of ends, got {whole} and {failed}")
    return victim


EXPECTED = tuple(alone(ARTIFACT, BODY["prompt"], max_tokens=20, temperature=0,
                       ignore_eos=True)["output_ids"])
PORT = free_port()
ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="error")
serve.start(http_options={"host": "127.0.0.1", "port": PORT})
import serve_mtp
serve.run(serve_mtp.app)
try:
    wait_for_two(0)
    BODY["return_token_ids"] = True
    check(tuple(json.loads(ask(PORT)[1])["choices"][0]["token_ids"]), EXPECTED, "an answer")
    check(ask(PORT, k=99)[0], 400, "the status of a refusal")
    wait_for_two(kill_in_the_middle(PORT, lambda server: server))
    wait_for_two(kill_in_the_middle(PORT, lambda server: servers()[server]))
    check(ask(PORT)[0], 200, "an answer of new replicas")
finally:
    serve.shutdown()
    ray.shutdown()
for _ in range(100):
    if not servers():
        break
    time.sleep(0.2)
check(servers(), {}, "servers that are left")
print("one replica of two may be killed")
