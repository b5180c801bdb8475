//===- MTPEnums.td - Enumerations --------------------------*- tablegen -*-===//

#ifndef MTP_ENUMS_TD
#define MTP_ENUMS_TD

include "dialects/MTP/IR/MTPDialect.td"
include "mlir/IR/EnumAttr.td"

class MTP_Enum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::mlir::mtp";
}

/// Prints as the keyword, with a space before it: operations that use one leave
/// their own space out.
class MTP_EnumAttr<EnumInfo info, string name>
    : EnumAttr<MTP_Dialect, info, name>;

def MTP_RopeLayout : MTP_Enum<"RopeLayout",
    "which dimensions rotate together", [
  I32EnumCase<"Half", 0, "half">,               // (i, i + dim/2)
  I32EnumCase<"Interleaved", 1, "interleaved">  // (2i, 2i + 1)
]>;

def MTP_RopeScaling : MTP_Enum<"RopeScaling", "how frequencies are scaled", [
  I32EnumCase<"None", 0, "none">,
  I32EnumCase<"Linear", 1, "linear">,
  I32EnumCase<"Llama3", 2, "llama3">,
  I32EnumCase<"Yarn", 3, "yarn">
]>;

def MTP_ActivationKind : MTP_Enum<"ActivationKind",
    "what follows a projection", [
  I32EnumCase<"None", 0, "none">,
  I32EnumCase<"Swiglu", 1, "swiglu">,
  I32EnumCase<"GegluTanh", 2, "geglu_tanh">
]>;
def MTP_ActivationKindAttr
    : MTP_EnumAttr<MTP_ActivationKind, "activation">;

def MTP_ProjectionRole : MTP_Enum<"ProjectionRole",
    "what a projection's result decides", [
  I32EnumCase<"Head", 0, "head">,     // which tokens are picked
  I32EnumCase<"Router", 1, "router">  // which experts see a row
]>;
def MTP_ProjectionRoleAttr : MTP_EnumAttr<MTP_ProjectionRole, "role">;

def MTP_Scoring : MTP_Enum<"Scoring", "how router logits become scores", [
  I32EnumCase<"Sigmoid", 0, "sigmoid">,
  I32EnumCase<"Softmax", 1, "softmax">
]>;
def MTP_ScoringAttr : MTP_EnumAttr<MTP_Scoring, "scoring">;

def MTP_AcceptRule : MTP_Enum<"AcceptRule", "when a drafted token is kept", [
  I32EnumCase<"Exact", 0, "exact">,  // if it equals the target's pick
  I32EnumCase<"Custom", 1, "custom"> // if a region of the op says so
]>;
def MTP_AcceptRuleAttr : MTP_EnumAttr<MTP_AcceptRule, "accept_rule">;

def MTP_RuleArgument : MTP_Enum<"RuleArgument",
    "what the rule of mtp.accept may see", [
  I32EnumCase<"Slots", 0, "slots">,
  I32EnumCase<"Rows", 1, "rows">,                 // the verified rows
  I32EnumCase<"Positions", 2, "positions">,       // of these rows
  I32EnumCase<"Picks", 3, "picks">,               // from the target's logits
  I32EnumCase<"Drafts", 4, "drafts">,
  I32EnumCase<"Logits", 5, "logits">,             // the target's
  I32EnumCase<"DraftLogits", 6, "draft_logits">
]>;
def MTP_RuleArgumentAttr : MTP_EnumAttr<MTP_RuleArgument, "rule_argument">;
def MTP_RuleArgumentArrayAttr
    : TypedArrayAttrBase<MTP_RuleArgumentAttr, "names of a rule's arguments">;

def MTP_FusionOrder : MTP_Enum<"FusionOrder",
    "how a drafter joins embedding and hidden state", [
  I32EnumCase<"EmbeddingHidden", 0, "embedding_hidden">,
  I32EnumCase<"HiddenEmbedding", 1, "hidden_embedding">
]>;

def MTP_CarryPoint : MTP_Enum<"CarryPoint",
    "which hidden state is handed on, relative to the final norm", [
  I32EnumCase<"PreNorm", 0, "pre_norm">,
  I32EnumCase<"PostNorm", 1, "post_norm">
]>;

def MTP_ExtentUnit : MTP_Enum<"ExtentUnit",
    "what an extent of a state grows with", [
  I32EnumCase<"Fixed", 0, "fixed">,
  I32EnumCase<"MaxK", 1, "max_k">,
  I32EnumCase<"MaxBatch", 2, "max_batch">,
  I32EnumCase<"MaxContext", 3, "max_context">,
  I32EnumCase<"MaxPages", 4, "max_pages">,         // of one slot
  I32EnumCase<"PrefillChunk", 5, "prefill_chunk">
]>;

def MTP_Rebuild : MTP_Enum<"Rebuild",
    "how a slot's state comes back where prompt tokens are not run again", [
  I32EnumCase<"Rows", 0, "rows">,      // by a prefill of the last rows
  I32EnumCase<"Tokens", 1, "tokens">,  // by the host, from its tokens
  I32EnumCase<"Never", 2, "never">,
  I32EnumCase<"Save", 3, "save">,      // by the host, after a preemption
  I32EnumCase<"Run", 4, "run">         // by running all rows from position 0 on
]>;
def MTP_RebuildAttr : MTP_EnumAttr<MTP_Rebuild, "rebuild">;

def MTP_OutputRows : MTP_Enum<"OutputRows",
    "what a declared output has a row for", [
  I32EnumCase<"Slots", 1, "slots">,
  I32EnumCase<"Tokens", 2, "tokens">  // verified rows
]>;
def MTP_OutputRowsAttr : MTP_EnumAttr<MTP_OutputRows, "output_rows">;

#endif // MTP_ENUMS_TD
