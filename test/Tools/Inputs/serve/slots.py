"""slots.py ARTIFACT OTHER [FLAG]...: saves a prefix, ends the server, and restores the prefix in a
new one. Answers that begin with it have the tokens of a run that computes all of them. OTHER is
another artifact, which refuses the file. FLAGs go to all servers."""
import os, stat, sys, tempfile

from serving import Server, alone, check

ARTIFACT, OTHER, *FLAGS = sys.argv[1:]
DEVICE = next((f.split("=")[1] for f in FLAGS if f.startswith("--device=")), "cpu")
WORDS = "the one and a house the dog and one the cat in a house and the "
PROMPT = (WORDS * 4).strip()
BODIES = [{"prompt": PROMPT + end, "max_tokens": tokens, "temperature": 0.8 * (number % 2),
           "seed": number, "ignore_eos": True}
          for number, (end, tokens) in enumerate([("", 9), (" one", 12), (" dog and a", 7)])]


def begin(artifact, folder, k):
    return Server(artifact, "--no-request-log", "-k", str(k), f"--slot-save-path={folder}", *FLAGS)


def act(server, action, expected=200, **body):
    status, _, answer = server.ask("POST", f"/slots/0?action={action}", body)
    check(status, expected, f"the status of {action} {body}: {answer}")
    return answer


def check_answers(server, least):
    """Compares answers with lone runs; the first prompt begins with pages of the cache."""
    for number, body in enumerate(BODIES):
        answer = server.complete(**body)
        cached = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
        if number == 0:
            check(cached >= least, True, f"{cached} cached tokens, at least {least}")
        check(answer["choices"][0]["text"], alone(ARTIFACT, device=DEVICE, **body)["text"],
              f"the text of {body}")


def check_k(folder, k):
    with begin(ARTIFACT, folder, k) as server:
        act(server, "save", 404, filename="chat", prompt=PROMPT)
        server.complete(**BODIES[0])
        saved = act(server, "save", filename="chat", prompt=PROMPT)
        check(saved["n_saved"] > 0, True, f"saved tokens in {saved}")
    path = os.path.join(folder, "chat")
    check(saved["n_written"], os.path.getsize(path), "the size of the file")
    check(stat.S_IMODE(os.stat(path).st_mode), 0o600, "the permissions of the file")
    with begin(ARTIFACT, folder, k) as server:
        restored = act(server, "restore", filename="chat")
        check(restored["n_restored"], saved["n_saved"], "restored tokens")
        check_answers(server, saved["n_saved"])
        # A changed file is refused, and the server goes on.
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        error = act(server, "restore", 500, filename="chat")["error"]["message"]
        check("do not have their hash" in error, True, error)
        check(folder in error, False, error)
        check_answers(server, saved["n_saved"])
        act(server, "save", filename="chat", prompt=PROMPT)


with tempfile.TemporaryDirectory() as FOLDER:
    for K in (0, 2):
        check_k(FOLDER, K)
    with begin(OTHER, FOLDER, 2) as OTHERS:
        ERROR = act(OTHERS, "restore", 400, filename="chat")["error"]["message"]
        check(ERROR.startswith("expected a prefix of the artifact '"), True, ERROR)
        check("got one of '" in ERROR, True, ERROR)
        act(OTHERS, "erase", filename="chat")
    check(os.listdir(FOLDER), [], "files that are left")
print("prefixes outlive their server")
