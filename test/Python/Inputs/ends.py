"""Ways in which a process with generating threads ends.

usage: ends.py ARTIFACT CASE
"""

import asyncio
import atexit
import concurrent.futures
import multiprocessing
import os
import signal
import sys
import threading
import time

import mtpc

TEXT = "The king said to the king"
LONG = {"max_tokens": 400, "ignore_eos": True}


class FromHandler(Exception):
    pass


def forever(model):
    while True:
        model.generate(TEXT, **LONG)


def begin_daemon(model):
    threading.Thread(target=forever, args=(model,), daemon=True).start()
    time.sleep(0.05)


def at_exit(model):
    begin_daemon(model)
    atexit.register(lambda: print(len(model.generate(TEXT, max_tokens=5).tokens)))


def sys_exit(model):
    begin_daemon(model)
    sys.exit(3)


def terminate(model):
    begin_daemon(model)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)


def executor(model):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = pool.map(lambda _: model.generate(TEXT, max_tokens=20), range(20))
        print(sum(len(one.tokens) for one in done))


def handler(model):
    def fail(*_):
        raise FromHandler

    signal.signal(signal.SIGALRM, fail)
    count = 0
    for i in range(1, 30):
        signal.setitimer(signal.ITIMER_REAL, 0.002 * i)
        try:
            while True:
                with model.session() as session:
                    session.generate(TEXT, max_tokens=100)
        except FromHandler:
            count += 1
    print(count, len(model.generate(TEXT, max_tokens=5).tokens))


def loop(model):
    async def begin():
        tasks = [asyncio.create_task(model.stream(TEXT, **LONG).result_async()) for _ in range(5)]
        await asyncio.sleep(0.02)
        return len(tasks)

    print(asyncio.run(begin()), model._for_texts().unfinished)


def fork(model):
    begin_daemon(model)
    child = os.fork()
    if child == 0:
        sys.exit(len(model.generate(TEXT, max_tokens=5).tokens))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def pool(model):
    model.generate(TEXT, max_tokens=5)
    with multiprocessing.get_context("fork").Pool(3) as workers:
        print(workers.map(lengths, [model.path] * 4))


def lengths(path):
    return len(mtpc.Model(path, threads=1).generate(TEXT, max_tokens=20).tokens)


if __name__ == "__main__":
    globals()[sys.argv[2]](mtpc.Model(sys.argv[1], threads=2))
