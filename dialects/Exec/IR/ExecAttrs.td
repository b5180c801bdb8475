//===- ExecAttrs.td - Attributes ---------------------------*- tablegen -*-===//

#ifndef EXEC_ATTRS
#define EXEC_ATTRS

include "dialects/Exec/IR/ExecDialect.td"
include "dialects/Exec/IR/ExecEnums.td"
include "dialects/Exec/IR/ExecInterfaces.td"
include "dialects/MTP/IR/MTPEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/TensorEncoding.td"

def Exec_CountAttr : AttrDef<Exec_Dialect, "Count", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "count";
  let summary = "a number that grows with n";
  let description = [{
    `base + step * n`, where n is what the program runs over: the slots of a
    round, the rows of a chunk. On a tensor it is the number of rows, which no
    number says.

    ```mlir
    #exec.count<8>
    #exec.count<3 * n>
    tensor<?x192xf32, #exec.count<1 + 3 * n>>
    ```

    Constraints:
    - (C1) on a tensor: the first extent alone is dynamic; it grows with n, from
      0 rows on, and base and step are less than 2^31.
  }];
  let parameters = (ins "int64_t":$base, "int64_t":$step);
  let builders = [
    AttrBuilder<(ins "::mlir::exec::Count":$count), [{
      return $_get($_ctxt, count.base, count.step);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::mlir::exec::Count getCount() const { return {getBase(), getStep()}; }
  }];
}

def Exec_CountArrayAttr
    : TypedArrayAttrBase<Exec_CountAttr, "an array of counts">;

def Exec_RotationAttr : AttrDef<Exec_Dialect, "Rotation"> {
  let mnemonic = "rotation";
  let summary = "which columns of a head are turned, and in which pairs";
  let description = [{
    Columns `offset` to `offset + dim` of every head; the angles are a table's.

    ```mlir
    #exec.rotation<dim = 8>
    #exec.rotation<dim = 8, offset = 16, layout = interleaved>
    ```

    Constraints:
    - (C1) dim is even and at least 2; offset is not negative.
  }];
  let parameters = (ins
    "int64_t":$dim,
    DefaultValuedParameter<"int64_t", "0">:$offset,
    DefaultValuedParameter<
        "::mlir::mtp::RopeLayout", "::mlir::mtp::RopeLayout::Half",
        "pairs">:$layout
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Exec_SourceAttr : AttrDef<Exec_Dialect, "Source"> {
  let mnemonic = "source";
  let summary = "a tensor of the weight files, or a part of it";
  let description = [{
    The tensor of this key, in which `{}` is the number of the matrix in a
    stack; rows `row_begin` to `row_end` and columns `col_begin` to `col_end` of
    it, -1 being its end. Where a stack's matrices are parts of one tensor, each
    begins `row_stride` rows after the one before. With `transpose` what is
    taken has inputs as rows. `shape` is what the tensor has to have, -1 where
    anything will do.

    ```mlir
    #exec.source<key = "lm_head.weight">
    #exec.source<key = "kv_b", row_end = 32, row_stride = 64, transpose = true>
    ```

    Constraints:
    - (C1) shape has one dimension or two.
  }];
  let parameters = (ins
    StringRefParameter<>:$key,
    DefaultValuedParameter<"int64_t", "0">:$row_begin,
    DefaultValuedParameter<"int64_t", "-1">:$row_end,
    DefaultValuedParameter<"int64_t", "0">:$row_stride,
    DefaultValuedParameter<"int64_t", "0">:$col_begin,
    DefaultValuedParameter<"int64_t", "-1">:$col_end,
    DefaultValuedParameter<"bool", "false">:$transpose,
    OptionalParameter<"::mlir::DenseI64ArrayAttr">:$shape
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The tensor's key, without the slash of an absolute one.
    ::llvm::StringRef getTensor() const {
      ::llvm::StringRef tensor = getKey();
      tensor.consume_front("/");
      return tensor;
    }
  }];
}

def Exec_SourcesAttr
    : TypedArrayAttrBase<Exec_SourceAttr, "an array of #exec.source">;

def Exec_FormatAttr : AttrDef<Exec_Dialect, "Format"> {
  let mnemonic = "format";
  let summary = "what the elements of a weight are";
  let description = [{
    Floats, or symmetric integers with a scale per output and `group` inputs.
    `runtime/schema/WeightFormat.h` says what follows from it: bytes of panels
    and rows, and whether tensor cores have an order for them.

    ```mlir
    #exec.format<bf16>
    #exec.format<int4, group = 64>
    ```

    Constraints:
    - (C1) integers have a group, a multiple of 32 up to 128; floats have none.
  }];
  let parameters = (ins
    "::mlir::exec::WeightElements":$elements,
    DefaultValuedParameter<"int64_t", "0">:$group
  );
  let builders = [
    AttrBuilder<(ins "const ::mtp::WeightFormat &":$format), [{
      return $_get($_ctxt, static_cast<WeightElements>(format.elements),
                   format.group);
    }]>,
    // Of weights as they are: f32 or bf16.
    AttrBuilderWithInferredContext<(ins "::mlir::FloatType":$elements), [{
      return $_get(elements.getContext(),
                   elements.isBF16() ? WeightElements::BF16
                                     : WeightElements::F32, 0);
    }]>
  ];
  let assemblyFormat = "`<` $elements (`,` `group` `=` $group^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::mtp::WeightFormat getFormat() const {
      return {static_cast<::mtp::WeightElements>(getElements()), getGroup()};
    }
    bool isQuantized() const { return getFormat().isQuantized(); }
    bool isBF16() const { return getFormat().isBF16(); }
    /// Elements of the buffer that holds such a weight: bytes, of integers.
    ::mlir::Type getBufferElement() const;
  }];
}

class Exec_LayoutAttr<string name, string attrMnemonic>
    : AttrDef<Exec_Dialect, name, [
        DeclareAttrInterfaceMethods<Exec_WeightLayoutAttrInterface>]> {
  let mnemonic = attrMnemonic;
}

class Exec_PanelLayoutAttr<string name, string attrMnemonic>
    : Exec_LayoutAttr<name, attrMnemonic> {
  let parameters = (ins "int64_t":$width,
                        DefaultValuedParameter<"bool", "false">:$fragments);
  let assemblyFormat =
      "`<` $width (`,` `fragments` `=` $fragments^)? `>`";
  let genVerifyDecl = 1;
}

def Exec_RawLayoutAttr : Exec_LayoutAttr<"RawLayout", "raw"> {
  let summary = "rows as they are, one after the other";
  let description = [{
    Norms, biases and tables whose rows are looked up; of integers, each row has
    its scales in it.

    ```mlir
    #exec.raw
    ```
  }];
}

def Exec_PanelsAttr : Exec_PanelLayoutAttr<"Panels", "panels"> {
  let summary = "panels of `width` outputs, inputs outermost";
  let description = [{
    A panel holds `width` outputs of a matrix, for each input (of bf16: each
    pair of inputs) one after the other, so that a kernel streams it from front
    to back. Outputs are padded to whole panels, inputs of bf16 to pairs.
    `runtime/schema/FORMAT.md` has the bytes.

    With `fragments` a panel is in blocks of 32 inputs (of integers: in groups),
    and these in the order in which tensor cores take them; inputs are not
    padded.

    ```mlir
    #exec.panels<32>
    #exec.panels<32, fragments = true>
    ```

    Constraints:
    - (C1) width is a power of two from 4 to 256; of fragments, it is 32.
  }];
}

def Exec_GatedPanelsAttr : Exec_PanelLayoutAttr<"GatedPanels", "gated_panels"> {
  let summary = "panels of gates, each followed by its panel of ups";
  let description = [{
    The first half of a matrix's outputs are gates, the second half ups: panel
    2t holds gates from output width * t on, panel 2t + 1 the ups beside them.

    ```mlir
    #exec.gated_panels<32>
    #exec.gated_panels<32, fragments = true>
    ```

    Constraints:
    - (C1) width is a power of two from 4 to 256; of fragments, it is 32.
  }];
}

#endif // EXEC_ATTRS
