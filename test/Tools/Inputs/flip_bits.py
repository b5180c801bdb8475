"""flip_bits.py GOOD TOOL COPY: checks that TOOL refuses a copy of GOOD with one bit changed."""
import random, subprocess, sys

good, tool, copy = sys.argv[1:]
data = bytearray(open(good, "rb").read())
rng = random.Random(1)
used = [i for i, byte in enumerate(data) if byte]
for at in list(range(0, 96)) + rng.sample(used, 100):
    if at >= len(data):
        continue
    broken = bytearray(data)
    broken[at] ^= 1 << rng.randrange(8)
    with open(copy, "wb") as f:
        f.write(broken)
    ran = subprocess.run([tool, copy], capture_output=True, text=True)
    if ran.returncode != 1 or not ran.stderr.startswith(tool + ": error: "):
        sys.exit(f"byte {at}: expected status 1 and an error, got {ran.returncode}: {ran.stderr}")
