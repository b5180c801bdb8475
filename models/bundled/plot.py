#!/usr/bin/env python3
"""Converts WORK_DIR/log.csv to loss.csv (every 5th line) and loss.svg. Standard library only.

  python3 plot.py WORK_DIR
"""
import csv, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ["step", "tokens", "seconds", "loss", "mtp1_loss", "mtp2_loss", "lr", "tokens_per_second", "expert_max_over_mean"]


def main():
    rows = [[float(v) for v in r] for r in csv.reader(open(os.path.join(sys.argv[1], "log.csv")))]
    # A resumed run repeats some steps; the later lines count.
    rows = [r for i, r in enumerate(rows) if all(r[0] < later[0] for later in rows[i + 1:])]
    with open(os.path.join(HERE, "loss.csv"), "w") as f:
        print(",".join(NAMES), file=f)
        for i, r in enumerate(rows):
            if i % 5 == 4 or i == len(rows) - 1:
                print(",".join("%g" % v if k > 1 else "%d" % v for k, v in enumerate(r)), file=f)
    W, H, L, B = 720, 360, 56, 40
    x1, y0, y1 = rows[-1][1] / 1e6, 3.2, 4.4
    X = lambda v: L + (W - L - 16) * v / x1
    Y = lambda v: 14 + (H - B - 14) * (y1 - min(max(v, y0), y1)) / (y1 - y0)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" font-family="sans-serif" font-size="12">',
           f'<rect width="{W}" height="{H}" fill="#ffffff"/>']
    for k in range(7):
        v = 3.2 + 0.2 * k
        out.append(f'<path d="M{L} {Y(v):.1f}H{W - 16}" stroke="#dddddd"/><text x="{L - 8}" y="{Y(v) + 4:.1f}" text-anchor="end">{v:.1f}</text>')
    step = 1 if x1 < 12 else 2 if x1 < 24 else 5
    for k in range(0, int(x1) + 1, step):
        out.append(f'<text x="{X(k):.1f}" y="{H - 22}" text-anchor="middle">{k}</text>')
    out.append(f'<text x="{W / 2}" y="{H - 6}" text-anchor="middle">million tokens</text>')
    for c, (col, name) in enumerate((("#1f5fa8", "next token"), ("#c2571a", "MTP 1"), ("#3a8a3a", "MTP 2"))):
        acc, pts = None, []
        for r in rows:
            acc = r[3 + c] if acc is None else 0.8 * acc + 0.2 * r[3 + c]
            pts.append(f"{X(r[1] / 1e6):.1f},{Y(acc):.1f}")
        out.append(f'<polyline fill="none" stroke="{col}" stroke-width="1.5" points="{" ".join(pts)}"/>')
        out.append(f'<text x="{W - 180}" y="{40 + 16 * c}" fill="{col}">{name} (training loss)</text>')
    out.append("</svg>")
    open(os.path.join(HERE, "loss.svg"), "w").write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
