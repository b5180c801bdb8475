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
    `base + step * n`, where n is the number of slots of a round, or of rows of
    a chunk. As the encoding of a tensor it gives the number of rows.

    ```mlir
    #exec.count<8>
    #exec.count<3 * n>
    tensor<?x192xf32, #exec.count<1 + 3 * n>>
    ```

    Constraints:
    - (C1) on a tensor: only the first extent is dynamic; the count grows with
      n, is at least 0, and base and step are less than 2^31.
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
  let summary = "the columns of a head that rotate, and their pairs";
  let description = [{
    Columns `offset` to `offset + dim` of every head rotate, by the angles of a
    table.

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
    The tensor of this key, in which `{}` stands for the number of the matrix in
    a stack. The source is its rows `row_begin` to `row_end` and columns
    `col_begin` to `col_end`; -1 is the end. If the matrices of a stack are
    parts of one tensor, each begins `row_stride` rows after the previous one.
    `transpose` means that rows of the source are inputs. `shape` is the
    required shape of the tensor; -1 allows any extent.

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
    /// Returns the tensor's key, without the slash of an absolute key.
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
  let summary = "the format of a weight's elements";
  let description = [{
    Floats, or integers with a scale per output and `group` inputs. With
    `offset` each scale has an offset, and integers are unsigned. `scales` is
    the form of both in memory, f32 by default.
    `runtime/schema/WeightFormat.h` derives from it the bytes of panels and
    rows, and whether tensor cores have an order for them.

    ```mlir
    #exec.format<bf16>
    #exec.format<int4, group = 64>
    #exec.format<int5, group = 32, scales = f16x6, offset = true>
    ```

    Constraints:
    - (C1) integers have a group of 16 or a multiple of 32 up to 128; floats
      have neither group, nor scales, nor offset.
    - (C2) the group suits the elements and the scales (WeightFormat::isValid).
  }];
  let parameters = (ins
    "::mlir::exec::WeightElements":$elements,
    DefaultValuedParameter<"int64_t", "0">:$group,
    DefaultValuedParameter<"::mlir::exec::WeightScales",
                           "::mlir::exec::WeightScales::F32">:$scales,
    DefaultValuedParameter<"bool", "false">:$offset
  );
  let builders = [
    AttrBuilder<(ins "const ::mtp::WeightFormat &":$format), [{
      return $_get($_ctxt, static_cast<WeightElements>(format.elements),
                   format.group, static_cast<WeightScales>(format.scales),
                   format.hasOffset);
    }]>,
    // The format of unquantised weights: f32 or bf16.
    AttrBuilderWithInferredContext<(ins "::mlir::FloatType":$elements), [{
      return $_get(elements.getContext(),
                   elements.isBF16() ? WeightElements::BF16
                                     : WeightElements::F32, 0,
                   WeightScales::F32, false);
    }]>
  ];
  let assemblyFormat =
      "`<` $elements (`,` struct($group, $scales, $offset)^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::mtp::WeightFormat getFormat() const {
      return {static_cast<::mtp::WeightElements>(getElements()), getGroup(),
              static_cast<::mtp::WeightScales>(getScales()), getOffset()};
    }
    bool isQuantized() const { return getFormat().isQuantized(); }
    bool isBF16() const { return getFormat().isBF16(); }
    /// Returns the element type of the buffer of such a weight. Integers are in
    /// a buffer of bytes.
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
  let summary = "plain rows, one after the other";
  let description = [{
    Layout of norms, biases, and tables whose rows are looked up. A row of
    integers contains its scales.

    ```mlir
    #exec.raw
    ```
  }];
}

def Exec_PanelsAttr : Exec_PanelLayoutAttr<"Panels", "panels"> {
  let summary = "panels of `width` outputs, inputs outermost";
  let description = [{
    A panel holds `width` outputs of a matrix: for each input (for bf16, each
    pair of inputs) one value per output, so that a kernel streams it from front
    to back. Outputs are padded to whole panels, bf16 inputs to pairs.
    `runtime/schema/FORMAT.md` specifies the bytes.

    With `fragments` a panel consists of blocks of 32 inputs (for integers,
    within groups) in the order that tensor cores read; inputs are not padded.

    ```mlir
    #exec.panels<32>
    #exec.panels<32, fragments = true>
    ```

    Constraints:
    - (C1) width is a power of two from 4 to 256; with fragments it is 32.
  }];
}

def Exec_GatedPanelsAttr : Exec_PanelLayoutAttr<"GatedPanels", "gated_panels"> {
  let summary = "panels of gates, each followed by its panel of ups";
  let description = [{
    The first half of a matrix's outputs are gates, the second half are ups.
    Panel 2t holds gates from output width * t on, and panel 2t + 1 the
    corresponding ups.

    ```mlir
    #exec.gated_panels<32>
    #exec.gated_panels<32, fragments = true>
    ```

    Constraints:
    - (C1) width is a power of two from 4 to 256; with fragments it is 32.
  }];
}

#endif // EXEC_ATTRS
