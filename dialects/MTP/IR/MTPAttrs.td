//===- MTPAttrs.td - Attributes ----------------------------*- tablegen -*-===//

#ifndef MTP_ATTRS_TD
#define MTP_ATTRS_TD

include "dialects/MTP/IR/MTPDialect.td"
include "dialects/MTP/IR/MTPEnums.td"
include "mlir/IR/AttrTypeBase.td"

class MTP_Attr<string name, string attrMnemonic> : AttrDef<MTP_Dialect, name> {
  let mnemonic = attrMnemonic;
  let genVerifyDecl = 1;
}

def MTP_EnvelopeAttr : MTP_Attr<"Envelope", "envelope"> {
  let summary = "the shapes a program must cover";
  let description = [{
    Every batch size and k up to these limits has a program with exact memory
    sizes.

    ```mlir
    #mtp.envelope<max_k = 4, max_batch = 4, max_context = 1024,
                  prefill_chunk = 64, page = 16>
    #mtp.envelope<max_k = 4, max_batch = 4, max_context = 1024,
                  prefill_chunk = 64, page = 16, max_nodes = 26>
    ```

    `max_nodes` is the number of rows that a slot verifies in a round of
    `max_k`, including the anchor. The default is max_k + 1. Each draft less
    removes at least one node (`getNodes`).

    `max_rows` is the number of rows that a round verifies over all slots, and
    the number that it has memory for. By default all rows of all windows fit. A
    round with more rows is trimmed.

    Constraints:
    - (C1) 0 <= max_k <= 16.
    - (C2) 1 <= max_batch <= 1024.
    - (C3) 2 <= max_context <= 2^22.
    - (C4) 1 <= prefill_chunk <= 4096.
    - (C5) page is a power of two, 1 <= page <= 1024.
    - (C6) max_k + 1 <= max_nodes <= 64, if it is given.
    - (C7) 0 <= round_prompt_rows <= prefill_chunk.
    - (C8) max_batch <= max_rows <= max_batch * 64, if it is given.
    - (C9) 0 <= catch_up_rows <= 4096.
  }];
  let parameters = (ins
    "int64_t":$max_k,          // drafts that a round may accept
    "int64_t":$max_batch,      // slots
    "int64_t":$max_context,    // tokens per slot
    "int64_t":$prefill_chunk,  // rows per prefill program
    "int64_t":$page,           // tokens per cache page
    // rows of a slot's window; 0: max_k + 1
    OptionalParameter<"int64_t">:$max_nodes,
    // Prompt rows of a mixed batch: they share a round's pass over the target's
    // weights. 0: prompts run only in passes of their own.
    DefaultValuedParameter<"int64_t", "0">:$round_prompt_rows,
    // Rows of all slots' windows together; 0: all rows of all windows.
    DefaultValuedParameter<"int64_t", "0">:$max_rows,
    // Largest lag of a drafter in tokens; each slot keeps the hidden states
    // to catch up. 0: none are kept.
    DefaultValuedParameter<"int64_t", "0">:$catch_up_rows
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Returns the number of pages of a slot of full length.
    int64_t getPagesPerSlot() const;
    /// Returns whether windows of `nodes` rows per slot may have more rows than
    /// a round verifies.
    bool trims(int64_t nodes) const {
      return getMaxRows() != 0 && nodes * getMaxBatch() > getMaxRows();
    }
    /// Returns the largest number of rows of a slot's window in a round of k.
    int64_t getNodes(int64_t k) const;
    /// Returns the number of nodes of `tree` that a round of k has: the nodes
    /// before the first one that is deeper than k, at most getNodes(k). Without
    /// `tree` the slot computes its tree, and depth is no limit.
    int64_t getNodes(int64_t k,
                     std::optional<::llvm::ArrayRef<int64_t>> tree) const;
  }];
}

def MTP_ExtentAttr : MTP_Attr<"Extent", "extent"> {
  let summary = "a size that may grow with the envelope";
  let description = [{
    A number, a size of the envelope, or the sum of both. `max_pages` is the
    number of pages of one slot of full length.

    ```mlir
    #mtp.extent<192>
    #mtp.extent<max_k + 1>
    #mtp.extent<max_context>
    ```

    Constraints:
    - (C1) the number is not negative; without a size of the envelope it is at
      least 1.
    - (C2) the number is at most 2^30.
  }];
  let parameters = (ins EnumParameter<MTP_ExtentUnit>:$unit,
                        "int64_t":$offset);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Returns the size within `envelope`.
    int64_t getSize(EnvelopeAttr envelope) const;
    /// Parses and prints the text between the brackets.
    static FailureOr<ExtentAttr> parseSize(AsmParser &parser);
    void printSize(AsmPrinter &printer) const;
  }];
}
def MTP_ExtentArrayAttr
    : TypedArrayAttrBase<MTP_ExtentAttr, "extents of a state">;

def MTP_RopeAttr : MTP_Attr<"Rope", "rope"> {
  let summary = "rotary position embedding: frequencies, layout and scaling";
  let description = [{
    Prints only parameters that differ from their defaults.

    ```mlir
    #mtp.rope<dim = 64, theta = 10000.0>
    #mtp.rope<dim = 64, theta = 10000.0, layout = interleaved, scaling = yarn,
              factor = 40.0, beta_fast = 32.0, beta_slow = 1.0,
              attention_factor = 1.0, original_max_position = 4096>
    #mtp.rope<dim = 64, theta = 500000.0, scaling = llama3, factor = 8.0,
              low_freq_factor = 1.0, high_freq_factor = 4.0,
              original_max_position = 8192>
    ```

    `attention_factor` (YaRN's mscale) multiplies the cosines and sines.

    Constraints:
    - (C1) dim is even, 2 <= dim <= 4096.
    - (C2) theta, factor, low_freq_factor, high_freq_factor, beta_fast,
      beta_slow and attention_factor are finite and positive.
    - (C3) llama3 and yarn need original_max_position >= 1.
    - (C4) llama3: low_freq_factor < high_freq_factor.
    - (C5) yarn: beta_slow <= beta_fast.
    - (C6) parameters of another scaling are left at their defaults.
  }];
  let parameters = (ins
    "int64_t":$dim,
    APFloatParameter<"base of the frequencies">:$theta,
    EnumParameter<MTP_RopeLayout>:$layout,
    EnumParameter<MTP_RopeScaling>:$scaling,
    APFloatParameter<"context extension">:$factor,
    APFloatParameter<"llama3">:$low_freq_factor,
    APFloatParameter<"llama3">:$high_freq_factor,
    APFloatParameter<"yarn">:$beta_fast,
    APFloatParameter<"yarn">:$beta_slow,
    APFloatParameter<"yarn: multiplies cosines and sines">:$attention_factor,
    "int64_t":$original_max_position,
    "bool":$truncate           // yarn: correction range rounded to integers
  );
  let hasCustomAssemblyFormat = 1;
}

def MTP_WiringAttr : MTP_Attr<"Wiring", "wiring"> {
  let summary = "the declared wiring of a drafter module";
  let description = [{
    The importer writes the attribute on the module's function, from the model's
    family. `mtp-verify-wiring` compares it with the structure of the body.
    Wrong wiring lowers acceptance and changes no token, so reading output does
    not reveal it.

    ```mlir
    func.func private @module(...) attributes {
      mtp.wiring = #mtp.wiring<order = embedding_hidden, mask_first = true,
                               carry = pre_norm>}
    ```

    Constraints: none, every combination occurs in a real model.
  }];
  let genVerifyDecl = 0;
  let parameters = (ins
    EnumParameter<MTP_FusionOrder>:$order,
    "bool":$mask_first,                  // embeddings at position 0 are zeroed
    EnumParameter<MTP_CarryPoint>:$carry // hidden state for the next step
  );
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // MTP_ATTRS_TD
