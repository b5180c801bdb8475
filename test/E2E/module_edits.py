"""Changes of imported modules, named in rows of artifact_table.py. Each function rewrites the file
of a module."""

import re

TREE = "[-1, 0, 0, 1]"


def replace(source, *changes):
    """Replaces texts that occur once each in the module."""
    text = source.read_text()
    for old, new in changes:
        if text.count(old) != 1:
            raise RuntimeError(f"{source}: expected '{old}' once, got it {text.count(old)} times")
        text = text.replace(old, new)
    source.write_text(text)


def tree(source):
    """Converts the chain of the imported round to a tree."""
    replace(source, ("mtp.draft_chain {", f"mtp.draft_tree {TREE} {{"),
            ("} : tensor<?x?xi32>\n", "} : tensor<?x3xi32>\n"),
            ("await_host %drafts : tensor<?x?xi32>", "await_host %drafts : tensor<?x3xi32>"),
            ("mtp.verify %drafts {", f"mtp.verify %drafts tree {TREE} {{"),
            (" exact {", f" exact tree {TREE} {{"),
            ("(tensor<?x?xi32>) ->", "(tensor<?x3xi32>) ->"),
            ("(tensor<?x?xi32>, tensor<", "(tensor<?x3xi32>, tensor<"))


# Outputs the drafter's probability of each draft of a round.
CHANCES = """  %most = mtp.k
  %nothing = arith.constant 0 : index
  %some = arith.cmpi ugt, %most, %nothing : index
  scf.if %some {{
    %logs = mtp.log_softmax %from : tensor<?x?x{0}xf32>
    %each = mtp.gather %logs[%drafts] : tensor<?x?x{0}xf32>, tensor<?x?xi32> -> tensor<?x?xf32>
    %asked = mtp.slots : tensor<?xi32>
    %chances = mtp.per_slot %asked(%each) {{
    ^bb0(%index: index, %slot: i32, %own: tensor<?xf32>):
      %k = mtp.k
      %none = arith.constant 1.0 : f32
      %all = tensor.generate {{
      ^bb0(%j: index):
        %log = tensor.extract %own[%j] : tensor<?xf32>
        %is_one = arith.cmpi slt, %j, %k : index
        %chance = arith.select %is_one, %log, %none : f32
        tensor.yield %chance : f32
      }} : tensor<{1}xf32>
      mtp.yield %all : tensor<{1}xf32>
    }} : (tensor<?xi32>, tensor<?x?xf32>) -> tensor<?x{1}xf32>
    mtp.output "chances" %chances for slots : tensor<?x{1}xf32>
  }}
"""


def chances(source):
    """Makes the chain of an imported round output the log probabilities of its drafts; 1 for no
    draft."""
    text = source.read_text()
    columns = re.search(r"mtp\.accept .*\n *\^bb0\(%\w+: tensor<\?x(\d+)xf32>", text).group(1)
    most = re.search(r"max_k = (\d+)", text).group(1)
    replace(source, ("%drafts = mtp.draft_chain", "%drafts, %from = mtp.draft_chain"),
            ("  } : tensor<?x?xi32>\n",
             f"  }} : tensor<?x?xi32>, tensor<?x?x{columns}xf32>\n"
             + CHANCES.format(columns, most)))
