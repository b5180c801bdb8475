"""Measures the growth of a server's memory under a load in waves, between the waves."""
import time

from serving import check

# Allowed growth of memory in an hour, in bytes.
PER_HOUR = 1 << 20
# Additional growth allowed in shorter runs, which include a server's warm-up: buffers, tables, and
# memory that the allocator requests.
LONG_SECONDS, WARMING = 300, {"heap": 128 << 10, "resident": 1 << 20}
# The allocator must keep no memory per thread, because kept memory counts as allocated.
EXACT = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


def slope(xs, ys):
    """Returns the slope of the least-squares line through points, and its standard error."""
    count, x, y = len(xs), sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((a - x) ** 2 for a in xs)
    rise = sum((a - x) * (b - y) for a, b in zip(xs, ys)) / spread
    rest = sum((b - y - rise * (a - x)) ** 2 for a, b in zip(xs, ys))
    return rise, (rest / (count - 2) / spread) ** 0.5


class Growth:
    """Moments without a request: the time, the number of requests so far, and the memory.
    Allocated memory ("heap") shows a leak at once, and does not depend on the allocator's
    layout. Resident memory shows the rest."""

    def __init__(self):
        self.times, self.requests = [], []
        self.bytes = {"heap": [], "resident": []}

    def look(self, server, requests):
        self.times.append(time.monotonic())
        self.requests.append(requests)
        self.bytes["heap"].append(server.metric("mtp:heap_bytes"))
        self.bytes["resident"].append(server.resident())

    def report(self, seconds):
        """Checks the growth in a run of `seconds` seconds, and prints it with its error."""
        hour = 3600 / 1024
        for name, values in self.bytes.items():
            rise, error = slope(self.times, values)
            each, _ = slope(self.requests, values)
            print(f"{name} memory: {values[0] / 1024:.0f} KiB at first, {rise * hour:+.0f} KiB an "
                  f"hour, standard error {error * hour:.0f} ({len(values)} moments in "
                  f"{self.times[-1] - self.times[0]:.0f} s, {each:+.2f} bytes a request)")
            most = PER_HOUR / 3600
            if seconds < LONG_SECONDS:
                most += WARMING[name] / (self.times[-1] - self.times[0])
            # Three standard errors: chance exceeds them once in some hundred runs.
            check(rise - 3 * error <= most, True,
                  f"{name} memory that grows by {rise * hour:.0f} KiB an hour: {values}")
