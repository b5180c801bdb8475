"""The training loop of all drafters: batches of prepare.py's rows, Muon for matrices and AdamW for
the rest as in ../bundled/train.py, a learning rate that follows the used CPU time, and resumption.
"""

import importlib.util, json, math, os, sys, time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
import torch.nn.functional as F

from target import BUNDLED, Target

_spec = importlib.util.spec_from_file_location("bundled_train", os.path.join(BUNDLED, "train.py"))
_bundled = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_bundled)
orthogonalise = _bundled.orthogonalise

TAPS = (2, 5, 8, 10)  # of prepare.py


class Data:
    """tokens [rows, T] and the target's states: taps by entered layer, and "f" after the norm."""

    def __init__(self, work):
        self.tokens = np.load(os.path.join(work, "tokens.npy"))
        rows, T = self.tokens.shape
        self.states = np.memmap(os.path.join(work, "states.bin"), np.float16, "r").reshape(
            rows, T, len(TAPS) + 1, -1
        )

    def batch(self, rows):
        rows = np.sort(rows)
        s = torch.from_numpy(self.states[rows].astype(np.float32))
        b = {i: s[:, :, k] for k, i in enumerate(TAPS)}
        return {"ids": torch.from_numpy(self.tokens[rows].astype(np.int64)), "f": s[:, :, -1], **b}


def sample_rows(valid, count, rng):
    """Returns `count` of the true elements of valid, as indices into its flattened form."""
    at = valid.flatten().nonzero()[:, 0]
    return at if len(at) <= count else at[torch.from_numpy(rng.permutation(len(at))[:count])]


def wanted_probabilities(logits):
    """Returns the training goal: the target's distribution at temperature 0.5. At 1 a drafter's
    probabilities are far below the rate at which its best token is the target's. A dynamic tree,
    which ranks by probabilities, then grows wide and flat. At 0 the drafter would learn only greedy
    text."""
    return torch.softmax(logits.float() * 2.0, -1)


def soft_cross_entropy(logits, wanted):
    """Returns the mean cross entropy to the target's logits `wanted`; rows [N, V]."""
    q = torch.log_softmax(logits.float(), -1)
    return -(wanted_probabilities(wanted) * q).sum(-1).mean()


class Optimiser:
    def __init__(self, net, lr, wd=0.05):
        self.params = [(n, p) for n, p in net.named_parameters() if p.requires_grad]
        self.state, self.lr, self.wd, self.step_count = {}, lr, wd, 0

    def is_muon(self, n, p):
        return (
            p.dim() == 2
            and not any(k in n for k in ("embed", "lm_head", "markov", "head.proj"))
            and min(p.shape) > 1
        )

    @torch.no_grad()
    def step(self, scale):
        self.step_count += 1
        total = math.sqrt(
            sum(float(p.grad.square().sum()) for _, p in self.params if p.grad is not None)
        )
        clip = min(1.0, 10.0 / (total + 1e-9))
        for n, p in self.params:
            if p.grad is None:
                continue
            g = p.grad * clip
            if self.is_muon(n, p) and max(p.shape) < 2048:
                mom = self.state.setdefault(n, torch.zeros_like(p))
                mom.lerp_(g, 0.05)
                u = orthogonalise(g.lerp(mom, 0.95)) * 0.2 * math.sqrt(max(p.shape))
                p.mul_(1 - self.lr * scale * self.wd).add_(u, alpha=-self.lr * scale)
                continue
            m, v = self.state.setdefault(n, (torch.zeros_like(p), torch.zeros_like(p)))
            m.lerp_(g, 0.1)
            v.lerp_(g.square(), 0.02)
            c1, c2 = 1 - 0.9**self.step_count, 1 - 0.98**self.step_count
            lr = self.lr * scale * (0.5 if p.dim() >= 2 else 0.3)
            p.addcdiv_(m, (v / c2).sqrt_().add_(1e-9), value=-lr / c1)


def fit(method, net, work, name, minutes, batch=8, lr=4e-3, seed=1, save_every=60):
    """Trains net with method.loss until `minutes` of CPU time are used, including earlier runs.
    Resumes from WORK/NAME.pt. WORK/NAME.csv is the log: step, tokens, CPU seconds, and the values
    of loss().
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    data, target = Data(work), Target()
    opt = Optimiser(net, lr)
    file, used = os.path.join(work, name + ".pt"), 0.0
    if os.path.exists(file):
        s = torch.load(file)
        net.load_state_dict(s["net"])
        opt.state, opt.step_count, used = s["opt"], s["step"], s["cpu"]
        print("resumed at step", s["step"], "after", round(used), "s")
    log = open(os.path.join(work, name + ".csv"), "a")
    begin, saved, sums, count = time.process_time() - used, time.process_time(), {}, 0
    rows = len(data.tokens)

    def save(cpu):
        torch.save(
            {"net": net.state_dict(), "opt": opt.state, "step": opt.step_count, "cpu": cpu},
            file + ".tmp",
        )
        os.replace(file + ".tmp", file)

    while True:
        cpu = time.process_time() - begin
        done = cpu / (60 * minutes)
        if done >= 1:
            break
        step = opt.step_count
        rng = np.random.default_rng([seed, step])
        b = data.batch(rng.choice(rows, batch, replace=False))
        with torch.autocast("cpu", torch.bfloat16):
            loss, figures = method.loss(net, target, b, rng)
        net.zero_grad(set_to_none=True)
        loss.backward()
        # Warm-up by step, then constant, then linear to zero over the last 40 % of the time.
        opt.step(min(1.0, (step + 1) / 50) * min(1.0, (1 - done) / 0.4))
        for k, v in {"loss": float(loss.detach()), **figures}.items():
            sums[k] = sums.get(k, 0.0) + v
        count += 1
        if opt.step_count % 50 == 0:
            if log.tell() == 0:
                print("step", "tokens", "cpu_s", *sums, sep=",", file=log)
            print(
                opt.step_count,
                opt.step_count * b["ids"].numel(),
                round(cpu),
                *(round(v / count, 4) for v in sums.values()),
                sep=",",
                file=log,
                flush=True
            )
            sums, count = {}, 0
        if time.process_time() - saved > save_every:
            save(cpu)
            saved = time.process_time()
    save(time.process_time() - begin)


def write(folder, config, tensors, file="model.safetensors", config_name="config.json"):
    """Writes the authors' layout: floating tensors in bf16, integers and bools unchanged."""
    from safetensors.torch import save_file

    os.makedirs(folder, exist_ok=True)
    t = {
        k: (v.detach().bfloat16() if v.is_floating_point() else v.detach()).contiguous().clone()
        for k, v in tensors.items()
    }
    save_file(t, os.path.join(folder, file), metadata={"format": "pt"})
    with open(os.path.join(folder, config_name), "w") as f:
        json.dump(config, f, indent=2)
        f.write("\n")
