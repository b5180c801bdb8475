#!/usr/bin/env python3
"""Trains the bundled model on a CPU.

  python3 train.py WORK_DIR [--procs 2] [--tokens 4096] [--seq 256] [--grow-from HF_DIR]

Two processes with one torch thread each. Each process computes the gradient of its half of the
batch, and updates its half of the parameters (Muon for matrices, AdamW for the rest) in shared
memory. The learning rate is constant, with an exponential average of the weights.

WORK_DIR/ctl.json controls a run: {"decay_steps": 500} starts a linear decay to zero, after which
the run ends; {"save": 1} saves at once; {"seq": 512} changes the length of rows. The run resumes
from WORK_DIR/ckpt.pt. --grow-from starts from an exported model with fewer layers.
"""
import argparse, json, math, os, sys, time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
import torch
import torch.multiprocessing as mp
from model import CONFIG, Model


class HeadLoss(torch.autograd.Function):
    """Mean cross entropy of x @ W.T in row chunks that stay in the cache."""

    @staticmethod
    def forward(ctx, x, W, target, chunk=256):
        n = x.shape[0]
        xb, Wb = x.bfloat16(), W.bfloat16()
        g = torch.empty(n, W.shape[0], dtype=torch.bfloat16)
        dx = torch.empty_like(xb)
        loss = 0.0
        for s in range(0, n, chunk):
            t = target[s:s + chunk]
            gc = g[s:s + chunk]
            torch.softmax(xb[s:s + chunk] @ Wb.t(), -1, out=gc)
            r = torch.arange(len(t))
            p = gc[r, t].float()
            loss -= float(p.clamp_min(1e-30).log().sum())
            gc[r, t] = (p - 1).bfloat16()
            dx[s:s + chunk] = gc @ Wb
        ctx.save_for_backward(dx, g.t() @ xb)
        ctx.n = n
        return torch.tensor(loss / n)

    @staticmethod
    def backward(ctx, go):
        dx, dW = ctx.saved_tensors
        return dx.float() * (go / ctx.n), dW.float() * (go / ctx.n), None, None


def orthogonalise(G, steps=5):
    """Orthogonalises G by Newton-Schulz as in Muon, batched over the leading dimension."""
    X = G.bfloat16()
    tall = X.shape[-2] > X.shape[-1]
    if tall:
        X = X.mT
    X = X / (X.norm(dim=(-2, -1), keepdim=True) * 1.02 + 1e-7)
    for _ in range(steps):
        A = X @ X.mT
        X = 3.4445 * X + (-4.7750 * A + 2.0315 * (A @ A)) @ X
    return (X.mT if tall else X).float()


def is_muon(name, p):
    return p.dim() >= 2 and name not in ("embed", "head") and not name.endswith(".gate")


def worker(rank, a, S, bar):
    torch.set_num_threads(1)
    P, M, V, EMA, G, B, CNT, CTL = S
    m = Model()
    params, off = [], 0
    for name, p in m.named_parameters():
        n = p.numel()
        sl = slice(off, off + n)
        p.data = P[sl].view(p.shape)
        p.grad = G[rank, sl].view(p.shape)
        params.append((name, p, sl))
        off += n
    moes = [x for x in m.modules() if hasattr(x, "bias") and hasattr(x, "w13")]
    for i, x in enumerate(moes):
        x.bias = B[i]
    # Splits the update by cost.
    def cost(name, p):
        if not is_muon(name, p):
            return p.numel() * 12
        r, c = min(p.shape[-2:]), max(p.shape[-2:])
        return p.numel() // (r * c) * r * r * (2 * c + r) * 5 // 8
    load, mine = [0] * a.procs, []
    for t in sorted(params, key=lambda t: -cost(t[0], t[1])):
        r = load.index(min(load))
        load[r] += cost(t[0], t[1])
        if r == rank:
            mine.append(t)
    data = np.memmap(os.path.join(a.work, "train.bin"), dtype=np.uint16, mode="r")
    step = int(CTL[0])
    log = open(os.path.join(a.work, "log.csv"), "a") if rank == 0 else None
    t0 = t_log = t_save = time.time()
    acc, n_acc = [0.0] * 3, 0
    while True:
        seq = int(CTL[2])
        rows = max(1, a.tokens // a.procs // seq)
        rng = np.random.default_rng([a.seed, step, rank])
        starts = rng.integers(0, len(data) - seq - 4, rows)
        x = torch.from_numpy(np.stack([data[s:s + seq + 3] for s in starts]).astype(np.int64))
        G[rank].zero_()
        with torch.autocast("cpu", torch.bfloat16):
            outs = m.streams(x[:, :seq + 2])
        D = len(outs) - 1
        loss = 0
        for d, o in enumerate(outs):
            t = x[:, d + 1:d + 1 + seq].reshape(-1)
            o = o.reshape(-1, o.shape[-1])
            if d:   # The modules' loss uses a random part of the rows: unbiased and cheaper.
                keep = torch.from_numpy(rng.permutation(len(t))[:len(t) * 5 // 8 if d == 1 else len(t) * 3 // 8])
                t, o = t[keep], o[keep]
            l = HeadLoss.apply(o, m.head, t)
            acc[d] += float(l.detach())
            loss = loss + (l if d == 0 else a.mtp_lambda / D * l)
        n_acc += 1
        loss.backward()
        for i, y in enumerate(moes):
            CNT[rank, i] = y.counts
        bar.wait()
        scale = float(CTL[1])
        warm = min(1.0, (step + 1) / 150)
        lr = a.lr * warm * scale
        with torch.no_grad():
            for name, p, sl in mine:
                g = G[:, sl].sum(0).div_(a.procs)
                if is_muon(name, p):
                    mom = M[sl]
                    mom.lerp_(g, 0.05)
                    u = orthogonalise(g.lerp_(mom, 0.95).view(-1, *p.shape[-2:]))
                    u = u.reshape(-1).mul_(0.2 * math.sqrt(max(p.shape[-2:])))
                    w = P[sl]
                    w.mul_(1 - lr * a.wd).add_(u, alpha=-lr)
                else:
                    M[sl].lerp_(g, 0.1)
                    V[sl].lerp_(g.square_(), 0.02)
                    c1, c2 = 1 - 0.9 ** (step + 1), 1 - 0.98 ** (step + 1)
                    k = lr * (0.7 if p.dim() >= 2 else 0.3)
                    if p.dim() >= 2:
                        P[sl].mul_(1 - k * a.wd * 0.2)
                    P[sl].addcdiv_(M[sl], (V[sl] / c2).sqrt_().add_(1e-10), value=-k / c1)
                if step % 4 == 0:
                    EMA[sl].lerp_(P[sl], 4 * max(0.003, 1 / (step + 10)) if step > 40 else 1.0)
            if rank == 0:
                c = CNT.sum(0).float()
                B.add_(0.001 * scale * torch.sign(c.mean(1, keepdim=True) - c))
        if rank == 0:
            step0 = step + 1
            now = time.time()
            if step0 % 20 == 0:
                dt = now - t_log
                t_log = now
                c = CNT.sum(0).float()
                line = [step0, step0 * a.tokens, round(now - t0), *(round(v / n_acc, 4) for v in acc), round(lr, 6),
                        round(20 * a.tokens / dt), round(float((c.max(1)[0] / c.mean(1)).mean()), 2)]
                print(*line, sep=",", file=log, flush=True)
                acc, n_acc = [0.0] * 3, 0
            ctl = os.path.join(a.work, "ctl.json")
            save = now - t_save > 240
            if os.path.exists(ctl):
                c = json.load(open(ctl))
                os.unlink(ctl)
                if "decay_steps" in c:
                    CTL[3], CTL[4], CTL[6] = step0, step0 + c["decay_steps"], CTL[1]
                CTL[2] = c.get("seq", CTL[2])
                save = save or "save" in c
            if CTL[4] > 0:
                CTL[1] = max(0.0, (CTL[4] - step0) / float(CTL[4] - CTL[3])) * CTL[6]
            CTL[5] = 1 if (CTL[4] > 0 and step0 >= CTL[4]) or (a.steps and step0 >= a.steps) else 0
            CTL[0] = step0
        bar.wait()
        if rank == 0 and (save or CTL[5]):
            f = os.path.join(a.work, "ckpt.pt")
            torch.save({"P": P, "M": M, "V": V, "EMA": EMA, "B": B, "step": step + 1}, f + ".tmp")
            os.replace(f + ".tmp", f)
            t_save = now
        step += 1
        if CTL[5]:
            return


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("work")
    ap.add_argument("--procs", type=int, default=2)
    ap.add_argument("--tokens", type=int, default=4096)
    ap.add_argument("--seq", type=int, default=256)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--wd", type=float, default=0.1)
    ap.add_argument("--mtp-lambda", type=float, default=0.4)
    ap.add_argument("--seed", type=int, default=7)
    ap.add_argument("--steps", type=int, default=0)
    ap.add_argument("--grow-from", metavar="HF_DIR")
    a = ap.parse_args()
    torch.manual_seed(a.seed)
    m = Model()
    m.init(a.seed)
    n = sum(p.numel() for p in m.parameters())
    print("parameters", n, flush=True)
    small = Model.load(a.grow_from) if a.grow_from else None
    if small:
        m.grow_from(small)
    moes = [x.bias for x in m.modules() if hasattr(x, "bias") and hasattr(x, "w13")]
    sh = lambda *s: torch.zeros(*s).share_memory_()
    P, M, V, EMA, G = sh(n), sh(n), sh(n), sh(n), sh(a.procs, n)
    P.copy_(torch.cat([p.detach().flatten() for p in m.parameters()]))
    B = sh(len(moes), CONFIG["n_routed_experts"])
    B.copy_(torch.stack(moes))
    CNT = torch.zeros(a.procs, len(moes), CONFIG["n_routed_experts"], dtype=torch.int64).share_memory_()
    # Step, learning-rate scale, length of rows, decay start, decay end, stop, scale at the decay's
    # start.
    CTL = torch.tensor([0, 1, a.seq, 0, 0, 0, 1], dtype=torch.float64).share_memory_()
    f = os.path.join(a.work, "ckpt.pt")
    if os.path.exists(f):
        s = torch.load(f)
        for k, v in (("P", P), ("M", M), ("V", V), ("EMA", EMA), ("B", B)):
            v.copy_(s[k])
        CTL[0] = s["step"]
        print("resumed at step", s["step"])
    ctx = mp.get_context("fork")
    bar = ctx.Barrier(a.procs)
    ps = [ctx.Process(target=worker, args=(r, a, (P, M, V, EMA, G, B, CNT, CTL), bar)) for r in range(a.procs)]
    for p in ps:
        p.start()
    for p in ps:
        p.join()


if __name__ == "__main__":
    main()
