"""chat_colors.py PLAIN COLORED DRAFTS: checks that the colored answer is the plain one with DRAFTS
drafts of several letters in green."""
import re, sys

plain, colored = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])
if re.sub(r"\033\[[0-9;]*m", "", colored) != plain:
    sys.exit("expected the same text")
green = re.findall(r"\033\[32m([^\033]*)\033\[0m", colored)
share = sum(map(len, green)) / len(plain)
print(f"green {'some' if 0 < share < 1 else 'none or all'}")
