#!/usr/bin/env python3
"""Trains the drafter. Stopped at any time, it continues from its last checkpoint.

  train.py DATA TARGET CKPT --minutes M [--decay D]

DATA has write.py's shards: names with `train` are trained on, names with `held` are measured.
TARGET is the model's GGUF file. CKPT.pt is written every --save seconds, CKPT.csv is the
learning curve. SIGTERM ends the run with a checkpoint. M is the total of CPU minutes. The learning
rate is constant, and falls to zero over the last D minutes. --branch OTHER.pt begins with the state
of another run.
"""

import argparse
import os
import signal
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import net as nets
from data import Data, Target, frequent
from fit import Optimiser


MOST_STEPS = 3
FIGURES = ["loss"] + [f"{name}{j + 1}" for j in range(MOST_STEPS) for name in ("ce", "hit")]


def evaluate(net, target, head, data, k, texts):
    """Returns tokens per round of greedy chains of k on greedy texts, and per-depth rates."""
    done, rate = [0, 0], np.zeros(k + 1)
    greedy = [(s, i) for _, s, i in data.texts if s.temperatures[i] == 0][:texts]
    for s in range(0, len(greedy), 4):
        b = data.batch(greedy[s : s + 4], 360)
        with torch.autocast("cpu", torch.bfloat16):
            count = nets.accepted(net, target, head, b, k)
        for row, own in zip(count, b["own"][:, 2 : 2 + count.shape[1]]):
            row = row[: int(own.nonzero()[-1]) + 1]
            n = nets.rounds(row, own[: len(row)])
            done[0], done[1] = done[0] + n[0], done[1] + n[1]
            rate += np.bincount(row[own[: len(row)]].int().numpy(), minlength=k + 1)
    rate = rate[::-1].cumsum()[::-1] / rate.sum()
    return done[1] / max(1, done[0]), rate[1:]


class Run:
    """Network, optimiser and counts of a run, and its checkpoint."""

    def __init__(self, a, target, data):
        self.file = a.ckpt + ".pt"
        self.cpu = self.tokens = 0
        torch.manual_seed(1)
        self.net = nets.Net()
        self.opt = Optimiser(self.net, a.lr)
        begin = self.file if os.path.exists(self.file) else a.branch
        if begin:
            self._resume(torch.load(begin))
            return
        batches = [b for b, _ in zip(data.epoch(8, np.random.default_rng(1), a.most), range(20))]
        share = self.net.start_from(target, batches)
        print(f"the regression explains {share:.3f} of the next state's variance", flush=True)

    def _resume(self, s):
        self.net.load_state_dict(s["net"])
        self.opt.state, self.opt.step_count = s["opt"], s["step"]
        self.cpu, self.tokens = s["cpu"], s["tokens"]
        print(f"resumed at step {s['step']} after {self.cpu:.0f} s", flush=True)

    def save(self, cpu):
        state = {"net": self.net.state_dict(), "opt": self.opt.state, "step": self.opt.step_count}
        state.update(cpu=cpu, tokens=self.tokens)
        torch.save(state, self.file + ".tmp")
        os.replace(self.file + ".tmp", self.file)


def head_of(a, target):
    """Returns the draft vocabulary: ascending tokens, a map of all tokens, rows of the head."""
    kept, share = frequent(a.data, "train", a.vocab)
    print(f"{len(kept)} tokens can be drafted, {share:.4f} of the text", flush=True)
    is_kept = torch.zeros(len(target.embed), dtype=torch.bool)
    is_kept[kept] = True
    return kept, is_kept, target.embed[kept].bfloat16()


def scale_of(step, cpu, a):
    left = (60 * a.minutes - cpu) / (60 * a.decay) if a.decay else 1.0
    return min(1.0, (step + 1) / 50) * max(0.0, min(1.0, left))


def report(run, log, cpu, sums, count, held):
    """Writes a row of the curve. Figures of steps that are not trained are empty."""
    if log.tell() == 0:
        print("step", "tokens", "cpu_s", *FIGURES, *held, sep=",", file=log)
    means = [round(sums[k] / count, 4) if k in sums else "" for k in FIGURES]
    values = [round(float(v), 4) for v in held.values()]
    first = run.opt.step_count, run.tokens, round(cpu)
    print(*first, *means, *values, sep=",", file=log, flush=True)


def train(a):
    torch.set_num_threads(1)
    target = Target(a.target)
    data, held = (Data(a.data, name, target.norm) for name in ("train", "held"))
    run, log = Run(a, target, data), open(a.ckpt + ".csv", "a")
    head = None
    base = time.process_time() - run.cpu
    saved, sums, count, epoch, ends = run.cpu, {}, 0, None, []
    signal.signal(signal.SIGTERM, lambda *_: ends.append(1))
    while True:
        cpu = time.process_time() - base
        if cpu >= 60 * a.minutes or ends:
            break
        rng = np.random.default_rng([a.seed, run.opt.step_count])
        b = next(epoch, None) if epoch else None
        if b is None:
            data.refresh()
            head = head_of(a, target)
            print(f"step {run.opt.step_count}: {data.count} written tokens", flush=True)
            epoch = data.epoch(a.batch, rng, a.most)
            continue
        with torch.autocast("cpu", torch.bfloat16):
            loss, figures = nets.loss(run.net, target, head, b, rng, a.steps, a.rows)
        run.net.zero_grad(set_to_none=True)
        loss.backward()
        run.opt.step(scale_of(run.opt.step_count, cpu, a))
        run.tokens += int(b["own"].sum())
        for k, v in {"loss": float(loss.detach()), **figures}.items():
            sums[k] = sums.get(k, 0.0) + v
        count += 1
        if run.opt.step_count % a.every == 0:
            held.refresh()
            al, rate = evaluate(run.net, target, head, held, 4, a.texts)
            values = {"al4": al, **{f"depth{j + 1}": r for j, r in enumerate(rate)}}
            report(run, log, cpu, sums, count, values)
            sums, count = {}, 0
        if cpu - saved > a.save:
            run.save(cpu)
            saved = cpu
    run.save(time.process_time() - base)


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("data", "target", "ckpt"):
        ap.add_argument(name)
    ap.add_argument("--minutes", type=float, default=60)
    ap.add_argument("--decay", type=float, default=0)
    ap.add_argument("--branch")
    ap.add_argument("--vocab", type=int, default=8192, help="tokens that can be drafted")
    ap.add_argument("--lr", type=float, default=6e-4)
    ap.add_argument("--batch", type=int, default=5, help="texts of a step")
    ap.add_argument("--most", type=int, default=384, help="tokens of a text")
    ap.add_argument("--rows", type=int, default=1200, help="measured rows of a step")
    steps = range(1, MOST_STEPS + 1)
    ap.add_argument("--steps", type=int, default=3, choices=steps, help="drafted steps")
    ap.add_argument("--every", type=int, default=50, help="steps of a row of the curve")
    ap.add_argument("--texts", type=int, default=24, help="held-out texts of a row of the curve")
    ap.add_argument("--save", type=float, default=120)
    ap.add_argument("--seed", type=int, default=1)
    train(ap.parse_args())


if __name__ == "__main__":
    main()
