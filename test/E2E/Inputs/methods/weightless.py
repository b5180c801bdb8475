"""Models of the drafters in compiler/Import/library, by their papers, in plain Python and from
tokens only. `known` is the sequence so far; its last token is the anchor.
"""


def lookup(known, k, least, most):
    """Returns the tokens after the first occurrence of the longest of the last `most` to `least`
    tokens, as vLLM's n-gram proposer does."""
    for size in range(most, least - 1, -1):
        own = known[len(known) - size:]
        for begin in range(len(known) - size):
            if len(own) == size and known[begin:begin + size] == own:
                return known[begin + size:begin + size + k]
    return []


def latest(known, k):
    """Returns, draft by draft, the token after the last occurrence of the anchor that has one."""
    n, drafts = len(known) - 1, []
    for j in range(1, k + 1):
        places = [p for p in range(n + 1 - j) if known[p] == known[n]]
        if not places:
            break
        drafts.append(known[places[-1] + j])
    return drafts


PARTS = 16


def longest_match(known, begin, end, most):
    """Returns (size, position) of the longest suffix that ends at a position in [begin, end), and
    its first end."""
    best = (0, 0)
    for p in range(begin, end):
        size = 0
        while size < min(most, p + 1) and known[p - size] == known[-1 - size]:
            size += 1
        if size > best[0]:
            best = (size, p)
    return best


def suffix(known, k, most, percent):
    """Returns drafts by votes of the longest matches of the text's parts, token by token."""
    n = len(known) - 1
    matches = [longest_match(known, n * i // PARTS, n * (i + 1) // PARTS, most)
               for i in range(PARTS)]
    size = max(size for size, _ in matches)
    if size == 0:
        return []
    voters = [end for own, end in matches if own == size]
    all_matches, drafts = len(voters) + 1, []
    while len(drafts) < min(k, size):
        votes = [known[end + 1 + len(drafts)] for end in voters
                 if end + 1 + len(drafts) <= n]
        token = max(votes, key=votes.count, default=None)  # ties go to the first
        if token is None or 100 * votes.count(token) < percent * all_matches:
            break
        voters = [end for end in voters if end + 1 + len(drafts) <= n
                  and known[end + 1 + len(drafts)] == token]
        drafts.append(token)
    return drafts


class Lookahead:
    """The window and the n-grams of a sequence (arXiv:2402.02057)."""

    def __init__(self, window, size, guesses):
        self.window, self.size, self.guesses = window, size, guesses
        self.cells = {}
        # By row of the table: the token that owns it, and its n-grams, the latest used last.
        self.runs = {}
        self.accepted = 0

    @property
    def parents(self):
        """Returns the parents by node. Node of window cell `level * window + column`; cell 0 is the
        anchor."""
        runs = self.guesses * (self.size - 1)
        parents = [-1] + [0 if i % (self.size - 1) == 0 else i for i in range(runs)]
        for cell in range(1, (self.size - 1) * self.window):
            above = cell - (1 if cell < self.window else self.window)
            parents.append(runs + above if above else 0)
        return parents

    def draft(self, known):
        """Returns the tokens of all nodes; -1 for none."""
        owner, runs = self.runs.get(known[-1] % 256, (None, []))
        nodes = [known[-1]]
        for place in range(self.guesses):
            nodes += runs[place][1] if owner == known[-1] and place < len(runs) \
                else (-1,) * (self.size - 1)
        for cell in range(1, (self.size - 1) * self.window):
            level, column = divmod(cell, self.window)
            moved = column + self.accepted
            guess = self.cells.get((level, moved)) if moved < self.window else None
            nodes.append(known[cell * 13 % len(known)] if guess is None else guess)
        return nodes

    def learn(self, nodes, best, k):
        """Completes the columns' n-grams with the target's tokens after the last level."""
        first = self.guesses * (self.size - 1)
        for column in range(self.window):
            if column + self.size - 2 > k:
                continue
            cells = [first + level * self.window + column for level in range(self.size - 1)]
            run = tuple(nodes[cell] for cell in cells[1:]) + (best(cells[-1]),)
            self.keep(nodes[cells[0]] if column else nodes[0], run)
            for level, token in enumerate(run):
                self.cells[level, column] = token

    def keep(self, token, run):
        owner, runs = self.runs.get(token % 256, (None, []))
        if owner != token:
            runs = []
        now = max((seen for seen, _ in runs), default=0) + 1
        known = [place for place, (_, own) in enumerate(runs) if own == run]
        if known:
            runs[known[0]] = (now, run)
        elif len(runs) < self.guesses:
            runs.append((now, run))
        else:
            runs[min(range(len(runs)), key=lambda place: runs[place][0])] = (now, run)
        self.runs[token % 256] = (token, runs)


# Small cases, computed by hand.
assert lookup([1, 2, 3, 4, 2, 3], 4, 2, 3) == [4, 2, 3]
assert lookup([1, 2, 9, 1, 2, 8, 1, 2], 1, 2, 2) == [9]
assert lookup([7, 7, 7], 2, 1, 2) == [7]
assert lookup([1, 2, 3], 4, 2, 3) == []
assert suffix([1, 2, 3, 1, 2, 4, 1, 2, 4, 1, 2], 2, 8, 10) == [4, 1]
assert suffix([1, 2, 3, 1, 2, 4, 1, 2, 4, 1, 2], 2, 8, 60) == []
assert suffix([5, 6], 3, 8, 10) == []
assert Lookahead(8, 5, 8).parents[:6] == [-1, 0, 1, 2, 3, 0]
assert len(Lookahead(8, 5, 8).parents) == 64
