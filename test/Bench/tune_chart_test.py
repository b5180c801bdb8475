"""Tests of mtp-tune-chart: pictures of reports with many slots, contexts and nodes."""

import itertools
import pathlib
import re
import sys
import unittest
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "mtp-tune"))
import chart  # pylint: disable=wrong-import-position

SHARES = (0.5, 0.15, 0.08, 0.04)


def reader(name, choice, default, shape="", note="", **numbers):
    return {"reader": "session", "name": name, "shape": shape, "choice": choice,
            "default": default, "note": note, **numbers}


# Decisions of all kinds: with and without a gain, with the default, and without a choice.
READERS = [reader("k", "1", "4", "slots 16, context 512..", gain=1.1, doubt=0.02, confidence=1),
           reader("threads", "2", "4", gain=1.04, doubt=0.03, confidence=0.9088),
           reader("prompt rows", "128", "16", "slots 1, context 32..", gain=7.5, doubt=0.6,
                  confidence=1),
           reader("prompt rows", "64", "16", "slots 2, context 32..", gain=0.9, doubt=0.01,
                  confidence=0),
           reader("confidence", "", "", note="expected at least 100 drafts"),
           reader("draft vocabulary", "32000", "32000", gain=1, doubt=0.01, confidence=0.5),
           reader("dynamic tree", "depth 10, width 10, nodes 64", "63 nodes, depth 16", gain=1.2),
           reader("library algorithms", "the fastest of 12 products", "the library's")]


def report_of(slots, contexts, most_k, least=12):
    """A report: rounds of each number of slots that differ little, and a tree whose nodes were
    tried `least` times or more. From five slots on, another program runs."""
    decisions, costs, nodes = [], [], []
    for context, batch in itertools.product(contexts, slots):
        seconds = [1e-3 * (2 + 0.01 * batch) * (1 + 0.2 * k) for k in range(most_k + 1)]
        alternatives = [{"k": k, "seconds": of, "length": 1 + 0.1 * k, "gain": 1.0}
                        for k, of in enumerate(seconds)]
        decisions.append({"slots": batch, "context": context, "best_k": 1,
                          "alternatives": alternatives})
        for k, of in enumerate(seconds):
            shape = {"slots": batch, "k": k, "context": context,
                     "program": str(k + 100 * (batch > 4))}
            costs.append({**shape, "rows": batch * (k + 1), "seconds": of})
            if batch > 1 and k:
                costs.append({**shape, "rows": batch + batch // 2 * k, "seconds": of * 0.9})
    for depth in range(1, 6):
        for path in itertools.product(range(len(SHARES)), repeat=depth):
            tried = 1000
            for rank in path[:-1]:
                tried = int(tried * SHARES[rank])
            if tried >= least:
                nodes.append({"path": list(path), "tried": tried,
                              "accepted": int(tried * SHARES[path[-1]])})
    return {"tried": [1000, 500], "accepted": [500, 250], "nodes": nodes, "tree": [[0], [0, 1]],
            "machines": [{"name": "A processor", "threads": 2, "busy": False, "tunables": [],
                          "decisions": decisions, "costs": costs, "readers": READERS,
                          "prefills": [{"rows": rows, "seconds": 1e-4 * rows, "predicted":
                                        1.1e-4 * rows} for rows in (16, 64, 256)]}]}


def boxes_of(picture):
    """The words of a picture with left, right, top and bottom of their boxes."""
    for x, y, rest, words in re.findall(r'<text x="([\d.-]+)" y="([\d.-]+)"([^>]*)>([^<]*)<',
                                        picture):
        size = float(re.search(r'font-size="(\d+)"', rest)[1])
        width = 0.55 * size * len(words)
        left = float(x) - width * ("middle" in rest) / 2 - width * ('"end"' in rest)
        yield words, left, left + width, float(y) - 0.75 * size, float(y) + 0.2 * size


class TuneChart(unittest.TestCase):
    def check_words(self, report):
        """Checks that no words lie on others or outside of the picture, and returns the picture."""
        picture = chart.draw(report)
        width = int(xml.dom.minidom.parseString(picture).documentElement.getAttribute("width"))
        boxes = list(boxes_of(picture))
        for words, left, right, _, _ in boxes:
            self.assertTrue(0 <= left and right <= width, words)
        for one, other in itertools.combinations(boxes, 2):
            self.assertFalse(one[1] < other[2] and other[1] < one[2] and one[3] < other[4]
                             and other[3] < one[4], f"{one} on {other}")
        return picture

    def test_words_do_not_lie_on_others(self):
        self.check_words(report_of([1], [32], 1))
        self.check_words(report_of([1, 2, 3, 4, 6, 8, 12, 16, 24, 32], [32, 512], 4))
        self.check_words(report_of([1, 2], [16, 32, 64, 128, 256, 512], 16))

    def test_nodes_do_not_lie_on_others(self):
        picture = chart.draw(report_of([1, 2], [32], 4, least=1))
        self.assertTrue(re.search(r"chosen tree filled \(\d+ of \d\d\d nodes\)", picture))
        nodes = [(float(x), float(y)) for x, y in
                 re.findall(rf'<circle cx="([\d.]+)" cy="([\d.]+)" r="{chart.RADIUS}"', picture)]
        self.assertGreater(len(nodes), 20)
        for (x1, y1), (x2, y2) in itertools.combinations(nodes, 2):
            self.assertTrue(abs(x1 - x2) >= 2 * chart.RADIUS or abs(y1 - y2) > chart.RADIUS)
        # The chosen nodes stay.
        for path in ("[0]", "[0, 1]"):
            self.assertTrue(f"ranks {path}: " in picture, path)
        self.assertEqual(picture.count(f'fill="{chart.COLORS[0]}"><title>ranks'), 2)

    def test_a_bar_is_where_a_program_begins(self):
        report = report_of([1, 2, 4, 6], [32], 2)
        report["machines"][0].update(prefills=[], readers=[])
        picture = chart.draw(report)
        # One for each k; rounds with fewer drafts are rings and no part of a line.
        self.assertEqual(len(re.findall(r'<line [^>]*stroke-width="1.8"', picture)), 3)
        self.assertEqual(picture.count('fill="white" stroke='), 6)
        self.assertTrue("<title>2 slots, k = 2, 4 rows: 2.55 ms</title>" in picture)

    def test_a_list_has_each_decision(self):
        picture = chart.draw(report_of([1, 2], [32], 2))
        for name, result in [("session: threads = 2, default 4", "1.04 +- 0.03, 90.9 %"),
                             ("session: confidence", "not decided"),
                             ("session: draft vocabulary = 32000", "the default"),
                             ("session: library algorithms = the fastest of 12 products, "
                              "default the...",
                              "gain unknown")]:
            where = re.search(rf'y="([\d.]+)"[^>]*>{re.escape(chart.escape(name))}<', picture)
            self.assertTrue(where, name)
            self.assertTrue(re.search(rf'y="{where[1]}"[^>]*>{re.escape(result)}<', picture), name)
        # Intervals lie on their side of the default's rate.
        of_list = picture[picture.index("rate over"):]
        one = float(re.search(r'<text x="([\d.]+)"[^>]*>1<', of_list)[1])
        ends = re.findall(r'<line x1="([\d.]+)" x2="([\d.]+)" y1="([\d.]+)" y2="\3" '
                          r'stroke="#1b6ca8" stroke-width', picture)
        self.assertEqual([float(left) < float(right) for left, right, _ in ends],
                         [True, True, True, True, False])
        self.assertEqual([(float(left) > one, float(right) > one) for left, right, _ in ends],
                         [(True, True), (True, True), (True, True), (False, False), (True, True)])

    def test_prompts_have_a_bar_at_each_choice(self):
        picture = chart.draw(report_of([1, 2], [32], 2))
        bars = re.findall(rf'<line x1="([\d.]+)" x2="\1" [^>]*stroke="{chart.COLORS[1]}"', picture)
        rows = [(float(x) - chart.MARGIN) / chart.WIDTH * 256 * 1.05 for x in bars]
        for expected in (64, 128):
            self.assertTrue(any(abs(r - expected) < 0.5 for r in rows), rows)

    def test_counted_axes_have_whole_numbers(self):
        self.assertEqual(chart.ticks(1, is_whole=True), [0, 1])
        self.assertEqual(chart.ticks(4, is_whole=True), [0, 1, 2, 3, 4])
        self.assertEqual(chart.ticks(1), [0, 0.25, 0.5, 0.75, 1])

    def test_names_stay_in_order_and_inside(self):
        self.assertEqual(chart.spread_out([10, 11, 40], 12, 100), [10, 22, 40])
        self.assertEqual(chart.spread_out([90, 95, 99], 12, 100), [76, 88, 100])
        self.assertEqual(chart.spread_out([], 12, 100), [])


if __name__ == "__main__":
    unittest.main()
