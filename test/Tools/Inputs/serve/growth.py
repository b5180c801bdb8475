"""What a server's memory grows by under a load that comes in waves, looked at between them."""
import time

from serving import check

# Bytes that memory may grow by in an hour.
PER_HOUR = 1 << 20
# Runs that are shorter measure how a server warms up, too: buffers, tables, and what the
# allocator asks the system for. They may grow by so much beside it.
LONG_SECONDS, WARMING = 300, {"heap": 128 << 10, "resident": 1 << 20}
# What the allocator keeps for a thread counts as allocated, so it is to keep nothing.
EXACT = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


def slope(xs, ys):
    """The slope of the line through points by least squares, and its standard error."""
    count, x, y = len(xs), sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((a - x) ** 2 for a in xs)
    rise = sum((a - x) * (b - y) for a, b in zip(xs, ys)) / spread
    rest = sum((b - y - rise * (a - x)) ** 2 for a, b in zip(xs, ys))
    return rise, (rest / (count - 2) / spread) ** 0.5


class Growth:
    """Moments without a request: when, behind how many requests, and what memory there was.
    What is allocated and not freed ("heap") tells of a leak at once, and does not depend on how
    the allocator lays it out; what is resident tells of the rest."""

    def __init__(self):
        self.times, self.requests = [], []
        self.bytes = {"heap": [], "resident": []}

    def look(self, server, requests):
        self.times.append(time.monotonic())
        self.requests.append(requests)
        self.bytes["heap"].append(server.metric("mtp:heap_bytes"))
        self.bytes["resident"].append(server.resident())

    def report(self, seconds):
        """Checks the growth of a run of so many seconds, and prints it with its error."""
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
            # Three errors are what chance makes once in some hundred runs.
            check(rise - 3 * error <= most, True,
                  f"{name} memory that grows by {rise * hour:.0f} KiB an hour: {values}")
