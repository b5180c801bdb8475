"""Models of one table, whose rounds accept by each of the rules. The target picks by the last token
alone, so its output must be a Markov chain. Standard library only.
"""

import math
import pathlib
import random
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1]))
import tensor_file  # noqa: E402

COLUMNS = 8
TREE = (-1, 0, 0, 0, 1, 1, 2, 4)
EPSILON, DELTA, FEW, NEAR = 0.25, 0.5, 2, 0.2


def tables():
    """Returns tables of logits. The drafter's are the target's with noise."""
    source = random.Random(3)
    target = [[source.gauss(0, 1.3) for _ in range(COLUMNS)] for _ in range(COLUMNS)]
    drafter = [[x + source.gauss(0, 0.9) for x in row] for row in target]
    # The program uses f32.
    return [[list(struct.unpack(f"<{COLUMNS}f", struct.pack(f"<{COLUMNS}f", *row)))
             for row in table] for table in (target, drafter)]


TARGET, DRAFTER = tables()


def write_weights(path):
    tensor_file.write(path, ((name, [COLUMNS, COLUMNS], [x for row in table for x in row])
                             for name, table in (("target", TARGET), ("drafter", DRAFTER))))


V = COLUMNS
S, G, L, N = "tensor<?xi32>", "tensor<?x?xi32>", f"tensor<?x?x{V}xf32>", "tensor<?x?xf32>"
F = "tensor<?xf32>"

CHAIN = f"    %parents = mtp.apply @chain(%slots, %d) : ({S}, {G}) -> {G}\n"
OF_TREE = f"""    %parents = mtp.per_slot %slots {{
    ^bb0(%index: index, %slot: i32):
      %all = arith.constant dense<{list(TREE)}> : tensor<{len(TREE)}xi32>
      %nodes = mtp.nodes
      %own = tensor.generate %nodes {{
      ^bb0(%j: index):
        %x = tensor.extract %all[%j] : tensor<{len(TREE)}xi32>
        tensor.yield %x : i32
      }} : tensor<?xi32>
      mtp.yield %own : tensor<?xi32>
    }} : ({S}) -> {G}
"""
P = f"    %p = mtp.probabilities %l of %slots : {L}, {S}\n"
Q = f"    %q = mtp.probabilities %dl of %slots : {L}, {S}\n"
BY_POSITION = (f"    %u, %v = mtp.apply @numbers(%slots, %at, %parents) : ({S}, {G}, {G})"
               f" -> ({N}, {N})\n")
BY_ANCHOR = f"    %u, %v = mtp.apply @numbers_by_anchor(%slots, %at) : ({S}, {G}) -> ({N}, {N})\n"
# A mistake: a row's number depends only on its position, so the next round gets it again.
BY_POSITION_ALONE = f"""    %u, %v = mtp.per_slot %slots(%at) {{
    ^bb0(%index: index, %slot: i32, %position: tensor<?xi32>):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %nodes = tensor.dim %position, %c0 : tensor<?xi32>
      %tries = tensor.generate %nodes {{
      ^bb0(%j: index):
        %before = arith.subi %j, %c1 : index
        %row = arith.maxsi %before, %c0 : index
        %place = tensor.extract %position[%row] : tensor<?xi32>
        %x = mtp.uniform %place, %one
        tensor.yield %x : f32
      }} : tensor<?xf32>
      %draws = tensor.generate %nodes {{
      ^bb0(%j: index):
        %place = tensor.extract %position[%j] : tensor<?xi32>
        %x = mtp.uniform %place, %zero
        tensor.yield %x : f32
      }} : tensor<?xf32>
      mtp.yield %tries, %draws : tensor<?xf32>, tensor<?xf32>
    }} : ({S}, {G}) -> ({N}, {N})
"""


def numbers(names):
    """Returns numbers per slot, equal for all slots."""
    lines = [f"    %{', %'.join(names)} = mtp.per_slot %slots {{\n",
             "    ^bb0(%index: index, %slot: i32):\n"]
    for name, value in names.items():
        lines.append(f"      %x_{name} = arith.constant {float(value)!r} : f32\n")
    lines.append("      mtp.yield " + ", ".join(f"%x_{name}" for name in names) + " : "
                 + ", ".join(["f32"] * len(names)) + "\n")
    lines.append(f"    }} : ({S}) -> ({', '.join([F] * len(names))})\n")
    return "".join(lines)


REJECTION = (f"    %n, %last, %own = mtp.apply @rejection(%slots, %d, %parents, %p, %u, %v) :"
             f" ({S}, {G}, {G}, {L}, {N}, {N}) -> ({S}, {S}, {S})\n")
DRAWN = (f"    %n, %own = mtp.apply @rejection_drawn(%slots, %d, %p, %q, %u, %v) :"
         f" ({S}, {G}, {L}, {L}, {N}, {N}) -> ({S}, {S})\n")
BLOCK = (f"    %n, %own = mtp.apply @block(%slots, %d, %p, %u, %v) :"
         f" ({S}, {G}, {L}, {N}, {N}) -> ({S}, {S})\n")
TYPICAL = (numbers({"eps": EPSILON, "delta": DELTA})
           + f"    %n, %last, %own = mtp.apply @typical(%slots, %d, %parents, %picks, %p, %eps, "
           f"%delta) : ({S}, {G}, {G}, {G}, {L}, {F}, {F}) -> ({S}, {S}, {S})\n")
BEST, LOGS = f"tensor<?x?x{FEW}xi32>", f"tensor<?x?x{FEW}xf32>"
RELAXED = (numbers({"delta": NEAR})
           + f"    %best, %logs = mtp.top_k %l k {FEW} : {L} -> {BEST}, {LOGS}\n"
           f"    %n, %last, %own = mtp.apply @relaxed(%slots, %d, %parents, %picks, %best, %logs,"
           f" %delta) : ({S}, {G}, {G}, {G}, {BEST}, {LOGS}, {F}) -> ({S}, {S}, {S})\n")

# For each name: the rule's code, and its attributes.
RULES = {
    "rejection": (P + Q + CHAIN + BY_POSITION + DRAWN, ""),
    "rejection_best": (P + CHAIN + BY_POSITION + REJECTION, "mtp.best_drafts"),
    "rejection_tree": (P + OF_TREE + BY_POSITION + REJECTION, "mtp.best_drafts"),
    "block": (P + BY_ANCHOR + BLOCK, "mtp.best_drafts"),
    "typical": (P + CHAIN + TYPICAL, 'mtp.lossy, mtp.rule = "typical:0.25,0.5"'),
    "typical_tree": (P + OF_TREE + TYPICAL, 'mtp.lossy, mtp.rule = "typical:0.25,0.5"'),
    "relaxed": (CHAIN + RELAXED, 'mtp.lossy, mtp.rule = "relaxed:2,0.2"'),
    "relaxed_tree": (OF_TREE + RELAXED, 'mtp.lossy, mtp.rule = "relaxed:2,0.2"'),
    # Mistakes.
    "block_by_position": (P + BY_POSITION_ALONE + BLOCK, "mtp.best_drafts"),
    "softmax_of_best": (P + Q + CHAIN + BY_POSITION + DRAWN, "mtp.best_drafts"),
}


# Models whose requests have rules of logits, and the rules of their requests: a bias, and the
# repetition penalty, which all tokens have as soon as the text has all of them.
RULED = {f"{name}_ruled": name for name in ("rejection", "rejection_best", "rejection_tree",
                                            "block")}
BIAS, REPETITION = {2: 1.5, 4: -math.inf, 6: -0.75}, 1.25
RULE_FLAGS = [*(f"--logit-bias={token}={bias}" for token, bias in BIAS.items()),
              f"--repetition-penalty={REPETITION}"]
RULE_STATES = f"""mtp.state @logit_rules[256] : i32
mtp.state @token_counts[{COLUMNS // 2}] : i32
mtp.state @logit_bias[{COLUMNS}] : i32
"""


def ruled(row):
    """Returns a row of logits after the rules of RULE_FLAGS."""
    biased = [x + BIAS.get(token, 0.0) for token, x in enumerate(row)]
    return [x / REPETITION if x > 0 else x * REPETITION for x in biased]


def text(name, library="<rules.mlir>"):
    states = RULE_STATES if name in RULED else ""
    name = RULED.get(name, name)
    rule, says = RULES[name]
    is_tree, sees_q = "tree" in name, "%dl" in rule
    tree = f" tree {list(TREE)}" if is_tree else ""
    result = "%count, %tokens, %path" if is_tree else "%count, %tokens"
    result_types = ", ".join([S, G, G] if is_tree else [S, G])
    sees = [("slots", "%slots", S), ("positions", "%at", G), ("drafts", "%d", G),
            ("picks", "%picks", G), ("logits", "%l", L)]
    sees += [("draft_logits", "%dl", L)] if sees_q else []
    used = ("@rejection", "@rejection_drawn", "@block", "@typical", "@relaxed", "@chain",
            "@numbers", "@numbers_by_anchor")
    taken = [f for f in used if f + "(" in rule] + (["@along"] if is_tree else [])
    end = (f"    %out, %way = mtp.apply @along(%slots, %d, %parents, %n, %last, %own) :"
           f" ({S}, {G}, {G}, {S}, {S}, {S}) -> ({G}, {G})\n"
           f"    mtp.yield %n, %out, %way : {S}, {G}, {G}\n" if is_tree
           else f"    mtp.yield %n, %own : {S}, {S}\n")
    chain = (f"mtp.draft_tree {list(TREE)}" if is_tree else "mtp.draft_chain")
    drafts = f"tensor<?x{len(TREE) - 1}xi32>" if is_tree else G
    rows = f"tensor<?x{V}xf32>"
    draft_results = "%drafts, %draft_logits" if sees_q else "%drafts"
    draft_types = f"{drafts}, {L}" if sees_q else drafts
    operands = ", ".join([drafts, rows] + ([L] if sees_q else []))
    nodes = f", max_nodes = {len(TREE)}" if is_tree else ""
    says = f" attributes {{{says}}}" if says else ""
    embed = (f"^bb0(%t: {S}, %rows: !mtp.rows):\n"
             f'    %table = mtp.weight "%s" : tensor<{V}x{V}xf32>\n'
             f"    %x = mtp.embed %t, %table : {S}, tensor<{V}x{V}xf32> -> {rows}\n")
    embed_of = lambda name: embed.replace("%s\"", name + '"')
    envelope = ("max_k = 3, max_batch = 4, max_context = 32768, prefill_chunk = 16, "
                f"page = 16{nodes}")
    given = " with %draft_logits" if sees_q else ""
    along = f" along %path : {S}, {G}, {rows}, {G}" if is_tree else f" : {S}, {G}, {rows}"
    return f"""module attributes {{mtp.envelope = #mtp.envelope<{envelope}>}} {{
mtp.weights files ["tables.safetensors"]
mtp.import "{library}" [{', '.join(taken)}]
{states}mtp.round @generate {{
  {draft_results} = {chain} {{
  {embed_of("drafter")}    mtp.yield %x : {rows}
  }} : {draft_types}
  %logits, %hidden = mtp.verify %drafts{tree} {{
  {embed_of("target")}    mtp.yield %x, %x : {rows}, {rows}
  }} : ({drafts}) -> ({rows}, {rows})
  {result} = mtp.accept %drafts, %logits{given} custom{tree}{says} {{
  ^bb0(%x: {rows}, %rows: !mtp.rows):
    %s = mtp.sample %x, %rows : {rows} -> {S}
    mtp.yield %s : {S}
  }} rule ({', '.join(n for n, _, _ in sees)}) {{
  ^bb0({', '.join(f"{v}: {t}" for _, v, t in sees)}):
{rule}{end}  }} : ({operands}) -> ({result_types})
  mtp.commit %count, %tokens, %hidden{along}
}}
}}
"""


# The target's distribution.


def distribution(row, temperature, top_k=0, top_p=1.0, min_p=0.0):
    """Returns the distribution after the filters: top-k, then top-p of the rest, then min-p."""
    if temperature == 0:
        return [float(i == row.index(max(row))) for i in range(len(row))]
    order = sorted(range(len(row)), key=lambda i: (-row[i], i))
    top = row[order[0]]
    weight = [math.exp((x - top) / temperature) for x in row]
    kept = order[:top_k] if top_k else order
    if top_p < 1:
        goal, total, run = top_p * sum(weight[i] for i in kept), 0.0, []
        for i in kept:
            if total >= goal and run:
                break
            run.append(i)
            total += weight[i]
        kept = run
    kept = [i for i in kept if weight[i] >= min_p]
    total = sum(weight[i] for i in kept)
    return [weight[i] / total if i in kept else 0.0 for i in range(len(row))]
