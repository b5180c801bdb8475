"""check_bench.py REPORT ARTIFACT: checks that mtp-bench and mtp-run report equal acceptance."""

import json
import subprocess
import sys

report = json.load(open(sys.argv[1]))
assert report["estimate"] == "median"
assert report["points"] == [] and report["prefill"] == []
results = {r["k"]: r for r in report["speculative"]}
assert set(results) == {0, 2}, results
assert results[2]["r"] > 0 and results[2]["r_at_limit"] is None
assert results[0]["acceptance_length"] == 1 and results[0]["speedup"] == 1
run = subprocess.run(["mtp-run", sys.argv[2], "--ids", "1,2,3,4", "-k", "2", "-n", "21",
                      "--ignore-eos", "--json"], capture_output=True, check=True)
expected = json.loads(run.stdout)["sequences"][0]
assert results[2]["acceptance"] == expected["acceptance"], (results[2], expected)
assert results[2]["acceptance_length"] == expected["acceptance_length"]
