"""start.py MODEL: checks that mtp-serve starts from a model's files, and again from the cache."""
import sys

from serving import Server, check

MODEL = sys.argv[1]
FLAGS = ["--max-batch", "2", "--max-context", "64"]
BODY = {"prompt": [1, 2, 3], "max_tokens": 8, "temperature": 0, "return_token_ids": True}


def answer(expected):
    with Server(MODEL, *FLAGS) as server:
        check(expected in "".join(server.log), True, f"'{expected}' in the log")
        check(server.ask("GET", "/v1/models")[2]["data"][0]["id"], "story", "the name")
        check(server.ask("GET", "/props")[2]["total_slots"], 2, "slots")
        return server.complete(**BODY)["choices"][0]["token_ids"]


first = answer("mtp-serve: compiled in ")
check(answer("mtp-serve: loads the artifact of "), first, "tokens of the second start")
print("starts from files and from the cache")
