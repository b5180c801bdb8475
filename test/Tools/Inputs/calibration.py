"""calibration.py PLAN SCORE PLAIN: checks that the calibration of a plan's report has the numbers
of mtp-run: SCORE of the quantised model, PLAIN of the model before."""
import json, math, sys

plan, score, plain = (json.load(open(path)) for path in sys.argv[1:])
got = plan["calibration"]
expected = {"tokens": score["tokens"], "perplexity_after": score["perplexity"],
            "perplexity_before": plain["perplexity"], "divergence": score["divergence"]}
for name, number in expected.items():
    if not math.isclose(got[name], number, rel_tol=1e-5):
        sys.exit(f"{name}: expected {number}, got {got[name]}")
