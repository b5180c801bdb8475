"""shared_flags.py ROOT TOOL...: checks that a flag of several tools has one help text in all,
except where its value or default differs for a reason."""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "tools" / "docs"))
import tool_pages  # pylint: disable=wrong-import-position

DIFFERENT = {
    "--api-key": "mtp-serve requires a key, mtp-bench sends one",
    "--chat-template": "mtp-serve uses the template for all conversations",
    "--ids": "mtp-bench measures one prompt",
    "--json": "each report has its own keys",
    "--k": "mtp-bench measures several numbers",
    "--max-tokens": "mtp-bench has another default, and requests of --serve",
    "--rounds-per-launch": "mtp-bench times one round unless told otherwise",
    "--seed": "mtp-bench draws tokens and acceptance",
    "--temperature": "mtp-bench is greedy by default",
    "--tool-parser": "without a format mtp-serve refuses tools in requests",
}

found = collections.defaultdict(set)
for tool in sys.argv[2:]:
    options, _ = tool_pages.read_help(tool)
    for option in options:
        found[max(option.names, key=len)].add((tool, option.value, option.text))
differ = {name for name, uses in found.items() if len({use[1:] for use in uses}) > 1}
assert differ == set(DIFFERENT), (sorted(differ ^ set(DIFFERENT)),
                                  [found[name] for name in differ - set(DIFFERENT)])
print(sum(len(uses) > 1 for uses in found.values()) - len(differ), "flags are equal")
