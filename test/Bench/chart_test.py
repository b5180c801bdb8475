"""Tests of mtp-chart: its lines, scales and labels, and whole pictures of a report."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "mtp-bench" / "report" / "chart.py"
sys.path.insert(0, str(SCRIPT.parent))
import chart  # pylint: disable=wrong-import-position


def part(name, seconds, limit):
    return {"name": name, "commands": 1, "seconds": seconds, "busy_seconds": seconds / 2,
            "wait_seconds": seconds / 4, "limit_seconds": limit}


def point_at(batch, k, context):
    """A point whose round takes context + 10 batch + k seconds, half of them the target's. The
    target's limit is `batch` seconds, and the limit of the drafts is `k` seconds."""
    seconds = context + 10 * batch + k
    parts = [part("draft 1", seconds / 2, k), part("verify", seconds / 2, batch)]
    return {"batch": batch, "k": k, "context": context, "rows": batch * (k + 1),
            "seconds": seconds, "target_seconds": seconds / 2, "limit_seconds": batch + k,
            "target_limit_seconds": batch, "phases": parts, "kernels": list(parts)}


def report_of(points, batches, contexts, ks):
    rates = {"bytes_per_second": 5.0e10}
    return {"model": "some-model-1.1B", "producer": "mtpc 1", "date": "2026-11-23",
            "weight_formats": "int4 0.56 GB, bf16 0.13 GB", "turns": 3, "estimate": "median",
            "machine": {"processor": "A processor", "features": "AVX-512, bf16",
                        "processors": 64, "threads": 2, "pinned": True, "median": rates,
                        "too_noisy_to_tell": False},
            "batches": batches, "contexts": contexts, "ks": ks, "points": points}


def words_of(growth):
    """Each line as "name: at=seconds/limit .."."""
    return [f"{name}:" + "".join(f" {at}={seconds:g}/{limit:g}" for at, seconds, limit in points)
            for name, points in growth[2]]


class ScalingCurve(unittest.TestCase):
    def test_with_context_has_steps_and_the_most_drafts(self):
        # The values are given unordered and twice; other batches are left out. k = 3 has one
        # context only, as in a measurement of rows.
        points = [point_at(*at) for at in [
            (2, 0, 500), (2, 0, 50), (1, 0, 50), (1, 0, 500), (2, 1, 50), (2, 1, 500), (2, 2, 50),
            (2, 2, 500), (2, 3, 500)]]
        growth = chart.growth_with_context(
            report_of(points, [2, 1], [500, 50, 500], [0, 1, 2, 3]))
        self.assertEqual(growth[0], "A round against context, batch 2")
        self.assertEqual(words_of(growth), ["plain step: 50=70/2 500=520/2",
                                            "k = 2: 50=72/4 500=522/4"])

    def test_with_batch_has_steps_and_every_k(self):
        # Batch 8 is only there for its rows, and was not asked for.
        points = [point_at(*at) for at in [
            (4, 0, 50), (1, 0, 50), (1, 0, 500), (8, 0, 50), (1, 1, 50), (4, 1, 50), (1, 2, 50),
            (4, 2, 50)]]
        growth = chart.growth_with_batch(report_of(points, [4, 1], [50, 500], [2, 0, 1]))
        self.assertEqual(growth[0], "A round against batch, context 50")
        self.assertEqual(words_of(growth), ["plain step: 1=60/1 4=90/4", "k = 1: 1=61/2 4=91/5",
                                            "k = 2: 1=62/3 4=92/6"])

    def test_with_rows_is_the_targets_alone(self):
        points = [point_at(*at) for at in [(1, 0, 50), (1, 2, 50), (4, 2, 50), (4, 0, 50)]]
        growth = chart.growth_with_rows(report_of(points, [1], [50], [0, 1, 2]))
        self.assertEqual(words_of(growth), ["one row a slot: 1=30/1 4=45/4",
                                            "one slot, k + 1 rows: 1=30/1 3=31/1"])

    def test_needs_two_points(self):
        report = report_of([point_at(1, 0, 50), point_at(1, 1, 50)], [1], [50], [0, 1])
        self.assertEqual(words_of(chart.growth_with_context(report)), [])
        self.assertEqual(words_of(chart.growth_with_batch(report)), [])
        self.assertEqual(words_of(chart.growth_with_rows(report)),
                         ["one slot, k + 1 rows: 1=30/1 2=30.5/1"])


class Chart(unittest.TestCase):
    def test_grids_have_four_to_ten_round_steps(self):
        for most, step in [(18.9, 2), (25, 5), (0.31, 0.05), (9.5, 1)]:
            self.assertAlmostEqual(chart.grid_step(most), step)
        most = 0.001
        while most < 1e5:
            self.assertGreater(most / chart.grid_step(most), 3.999, most)
            self.assertLess(most / chart.grid_step(most), 10.001, most)
            most *= 1.07

    def test_labels_do_not_touch(self):
        self.assertEqual(chart.labels_that_fit([0, 100, 200, 300, 400], [20] * 5),
                         [0, 1, 2, 3, 4])
        # The second label overlaps the first, and the fourth the last, which always stays.
        self.assertEqual(chart.labels_that_fit([0, 20, 50, 90, 110], [20] * 5), [0, 2, 4])
        self.assertEqual(chart.labels_that_fit([0, 10], [20, 20]), [0, 1])
        self.assertEqual(chart.labels_that_fit([], []), [])

    def test_draws_each_line_with_its_limit(self):
        svg = chart.Svg()
        lines = [("one", [(1, 2, 1), (4, 3, 1)]), ("two", [(1, 4, 2), (2, 5, 2)])]
        self.assertGreater(chart.draw_chart(svg, ("Title", "axis", lines), 100, 700, 50), 250)
        text = svg.finish(400)
        for words in ['class="series color0"', 'class="limit color0"', 'class="series color1"',
                      'class="limit color1"', ">axis<", ">ms<", ">Title<", ">1<", ">2<", ">4<",
                      "<title>two at 2: 5e+03 ms, 40 % of limit</title>"]:
            self.assertIn(words, text)

    def test_an_empty_chart_takes_no_room(self):
        svg = chart.Svg()
        self.assertEqual(chart.draw_chart(svg, ("Title", "axis", []), 100, 700, 50), 50)
        self.assertEqual(svg.parts, [])

    def test_axes_begin_at_zero_and_grow_upwards(self):
        svg = chart.Svg()
        chart.draw_chart(svg, ("Title", "axis", [("one", [(0, 0.1, 0), (10, 0.2, 0)])]), 100, 700,
                         50)
        dots = [(float(x), float(y)) for x, y in
                re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', "".join(svg.parts))]
        bottom = 50 + 32 + chart.CHART_HEIGHT
        self.assertEqual([x for x, _ in dots], [100 + chart.INSET, 700 - chart.INSET])
        self.assertAlmostEqual(2 * (bottom - dots[0][1]), bottom - dots[1][1], delta=0.2)


class Picture(unittest.TestCase):
    def report(self):
        points = [point_at(batch, k, context) for batch in (1, 2) for k in (0, 1)
                  for context in (8, 16)]
        points[2]["kernels"] += [part("a_kernel_of_a_long_name", 5, 1),
                                 part('say "hi" & <go>\n', 4, 0), part("small", 0.01, 0)]
        return report_of(points, [1, 2], [8, 16], [0, 1])

    def test_has_rounds_kernels_and_three_charts(self):
        text = chart.draw(self.report())
        document = xml.dom.minidom.parseString(text)
        self.assertGreater(len(document.getElementsByTagName("rect")), 10)
        for words in ["A round, batch 1, context 8", "k = 0", "k = 1", "Its kernels, k = 1",
                      "others", "The target's pass against rows", "against context, batch 1",
                      "against batch, context 8", "say \"hi\" &amp; &lt;go&gt;<"]:
            self.assertIn(words, text)

    def test_names_subject_and_machine(self):
        report = self.report()
        text = chart.draw(report)
        for fact in ["some-model-1.1B: int4 0.56 GB, bf16 0.13 GB",
                     "A processor (AVX-512, bf16), 64 processors", "2 threads, pinned",
                     "read 50.0 GB/s", "medians of 3 turns", "mtpc 1", "2026-11-23"]:
            self.assertIn(fact, text)
        self.assertNotIn("noisy", text)
        report["machine"]["too_noisy_to_tell"] = True
        report["estimate"] = "fastest"
        report["machine"]["fastest"] = report["machine"]["median"]
        text = chart.draw(report)
        self.assertIn("fastest runs", text)
        self.assertIn("too noisy to tell", text)

    def test_no_text_is_wider_than_its_space(self):
        for x, rest, words in re.findall(r'<text x="([0-9.]+)"([^>]*)>([^<]*)<',
                                         chart.draw(self.report())):
            x, width = float(x), chart.text_width(words)
            is_left = 'anchor="end"' in rest
            self.assertGreaterEqual(x - width if is_left else x, 0, words)
            self.assertLessEqual(x if is_left else x + width, chart.WIDTH, words)


class Script(unittest.TestCase):
    def run_script(self, text, *flags):
        return subprocess.run([sys.executable, SCRIPT, "-", *flags], input=text,
                              capture_output=True, text=True, check=False)

    def test_writes_a_file_or_standard_output(self):
        text = json.dumps(report_of([point_at(1, 0, 8)], [1], [8], [0]))
        done = self.run_script(text)
        self.assertTrue(done.stdout.endswith("</svg>\n"), done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "round.svg"
            self.assertEqual(self.run_script(text, "-o", str(path)).returncode, 0)
            self.assertEqual(path.read_text(encoding="utf-8"), done.stdout)

    def test_refuses_what_it_cannot_draw(self):
        for text, words in [("[]", "-: expected the report of mtp-bench --json, got other JSON"),
                            ("{", "mtp-chart: error: Expecting property name"),
                            ('{"points": []}', "-: expected a report with points")]:
            done = self.run_script(text)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(words, done.stderr)
        self.assertEqual(self.run_script("{}", "--size=3").returncode, 2)


if __name__ == "__main__":
    unittest.main()
