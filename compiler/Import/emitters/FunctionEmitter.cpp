//===- FunctionEmitter.cpp - Building blocks of functions -----------------===//

#include "compiler/Import/emitters/ModelEmitter.h"

namespace mtp::importer {

namespace {

/// Returns the part after the last dot: "self_attn.q_proj" -> "q_proj".
llvm::StringRef lastPart(llvm::StringRef key) {
  size_t separator = key.find_last_of("./");
  return separator == llvm::StringRef::npos ? key : key.substr(separator + 1);
}

int64_t widthOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape().back();
}

/// Returns null, with a diagnostic, if the dialect refuses a parameter.
mlir::mtp::RopeAttr ropeAttr(mlir::Location location, const RopeConfig &rope) {
  using mlir::mtp::RopeLayout, mlir::mtp::RopeScaling;
  RopeScaling scaling = RopeScaling::None;
  switch (rope.scaling) {
  case RopeScalingKind::None:
    break;
  case RopeScalingKind::Linear:
    scaling = RopeScaling::Linear;
    break;
  case RopeScalingKind::Llama3:
    scaling = RopeScaling::Llama3;
    break;
  case RopeScalingKind::Yarn:
    scaling = RopeScaling::Yarn;
    break;
  }
  auto number = [](double value) { return llvm::APFloat(value); };
  return mlir::mtp::RopeAttr::getChecked(
      [&] { return mlir::emitError(location); }, location.getContext(),
      rope.dim, number(rope.theta),
      rope.isInterleaved ? RopeLayout::Interleaved : RopeLayout::Half, scaling,
      number(rope.factor), number(rope.lowFreqFactor),
      number(rope.highFreqFactor), number(rope.betaFast), number(rope.betaSlow),
      number(rope.attentionFactor), rope.originalMaxPosition, rope.truncate);
}

} // namespace

FunctionEmitter::FunctionEmitter(ModelContext &context, llvm::StringRef name,
                                 llvm::ArrayRef<Argument> arguments,
                                 llvm::ArrayRef<mlir::Type> results,
                                 std::vector<std::string> prefixes)
    : context(context), prefixes(std::move(prefixes)) {
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Location> names;
  for (const Argument &argument : arguments) {
    types.push_back(argument.type);
    names.push_back(context.name(argument.name));
  }
  func = mlir::func::FuncOp::create(builder(), builder().getUnknownLoc(),
                                    context.functions + name.str(),
                                    builder().getFunctionType(types, results));
  func.setPrivate();
  mlir::Block *block = builder().createBlock(&func.getBody(), {}, types, names);
  builder().setInsertionPointToStart(block);
}

void FunctionEmitter::finish(mlir::ValueRange results) {
  mlir::func::ReturnOp::create(builder(), builder().getUnknownLoc(), results);
  builder().setInsertionPointAfter(func);
}

mlir::Type FunctionEmitter::elementOf(llvm::StringRef key,
                                      llvm::ArrayRef<int64_t> shape,
                                      int64_t stack) {
  Result<WeightType> type =
      context.weights.resolve(prefixes, key.str(), shape, stack);
  context.fail(type.status());
  return type && *type == WeightType::F32 ? mlir::Type(builder().getF32Type())
                                          : mlir::Type(builder().getBF16Type());
}

mlir::Value FunctionEmitter::part(llvm::StringRef key,
                                  llvm::ArrayRef<int64_t> shape,
                                  std::optional<RowRange> rows,
                                  llvm::StringRef text) {
  auto number = [&](int64_t value) {
    return builder().getI64IntegerAttr(value);
  };
  llvm::SmallVector<int64_t> dims(shape);
  int64_t &height = dims[dims.size() - 2];
  mlir::IntegerAttr begin, end, count, stack;
  if (shape.size() == 3)
    stack = number(shape.front());
  if (rows) {
    begin = number(rows->begin);
    end = number(rows->end);
    count = number(height);
    int64_t blocks = rows->every > 0 ? height / rows->every : 1;
    height = blocks * (rows->end - rows->begin);
  }
  std::string own = config().named(key);
  mlir::Type element = elementOf(own, shape, /*stack=*/0);
  return mlir::mtp::WeightOp::create(
      builder(), name(text), mlir::RankedTensorType::get(dims, element), own,
      begin, end, count, nullptr, nullptr, nullptr, stack);
}

mlir::Value FunctionEmitter::weight(llvm::StringRef key,
                                    llvm::ArrayRef<int64_t> shape,
                                    int64_t stack) {
  std::string own = config().named(key);
  mlir::Type element = elementOf(own, shape, stack);
  llvm::SmallVector<int64_t> dims(shape);
  mlir::IntegerAttr count;
  if (stack > 0) {
    dims.insert(dims.begin(), stack);
    count = builder().getI64IntegerAttr(stack);
  }
  llvm::StringRef base = key;
  const char *suffix = "_w";
  if (!base.consume_back(".weight"))
    suffix = base.consume_back(".bias") ? "_b" : "";
  return mlir::mtp::WeightOp::create(
      builder(), name(lastPart(base).str() + suffix),
      mlir::RankedTensorType::get(dims, element), own, nullptr, nullptr,
      nullptr, nullptr, nullptr, nullptr, count);
}

mlir::Value FunctionEmitter::embed(mlir::Value tokens, const std::string &key) {
  mlir::Value table = weight(key.empty() ? "/" + context.keys.embedding : key,
                             {config().vocab, config().hidden});
  mlir::FloatAttr scale;
  if (config().embeddingScale != 1.0)
    scale = builder().getF64FloatAttr(config().embeddingScale);
  return mlir::mtp::EmbedOp::create(builder(), name("e"), context.hidden(),
                                    tokens, table, scale);
}

mlir::Value FunctionEmitter::linear(mlir::Value x, llvm::StringRef key,
                                    int64_t outputs, bool hasBias) {
  mlir::Value matrix = weight(key.str() + ".weight", {outputs, widthOf(x)});
  mlir::Value bias;
  if (hasBias)
    bias = weight(key.str() + ".bias", {outputs});
  return mlir::mtp::LinearOp::create(builder(), name(lastPart(key)),
                                     activation(outputs), x, matrix, bias,
                                     mlir::mtp::ProjectionRoleAttr());
}

mlir::Value FunctionEmitter::linearPart(mlir::Value x, llvm::StringRef key,
                                        int64_t outputs, RowRange rows,
                                        llvm::StringRef text) {
  mlir::Value matrix = part(key.str() + ".weight", {outputs, widthOf(x)}, rows,
                            text.str() + "_w");
  int64_t width =
      llvm::cast<mlir::RankedTensorType>(matrix.getType()).getShape().front();
  return mlir::mtp::LinearOp::create(builder(), name(text), activation(width),
                                     x, matrix, mlir::Value(),
                                     mlir::mtp::ProjectionRoleAttr());
}

mlir::Value FunctionEmitter::router(mlir::Value x, llvm::StringRef key,
                                    int64_t outputs) {
  mlir::Value matrix = weight(key, {outputs, widthOf(x)});
  matrix.setType(mlir::RankedTensorType::get({outputs, widthOf(x)},
                                             builder().getF32Type()));
  llvm::StringRef base = key;
  base.consume_back(".weight");
  return mlir::mtp::LinearOp::create(
      builder(), name(lastPart(base)), activation(outputs), x, matrix,
      mlir::Value(),
      mlir::mtp::ProjectionRoleAttr::get(builder().getContext(),
                                         mlir::mtp::ProjectionRole::Router));
}

mlir::Value FunctionEmitter::norm(mlir::Value x, llvm::StringRef key,
                                  const NormForm &form, int64_t groups) {
  mlir::Value scale = weight(key.str() + ".weight", {widthOf(x) / groups});
  return mlir::mtp::RmsNormOp::create(builder(), name(lastPart(key)),
                                      x.getType(), x, scale, groups,
                                      llvm::APFloat(form.eps), form.offset);
}

mlir::Value FunctionEmitter::rope(mlir::Value x, mlir::Value rows,
                                  const RopeConfig &rotation, int64_t heads,
                                  int64_t headDim, int64_t offset) {
  auto attr = ropeAttr(name("rotated"), rotation);
  if (!attr) {
    context.fail(invalidArgument("the rotary embedding is not valid"));
    return x;
  }
  return mlir::mtp::RopeOp::create(builder(), name("rotated"), x.getType(), x,
                                   rows, heads, headDim, offset, attr);
}

mlir::Value FunctionEmitter::slice(mlir::Value x, int64_t begin, int64_t end,
                                   llvm::StringRef text) {
  return mlir::mtp::SliceOp::create(builder(), name(text),
                                    activation(end - begin), x, begin, end);
}

mlir::Value FunctionEmitter::add(mlir::Value a, mlir::Value b,
                                 llvm::StringRef text) {
  return mlir::mtp::AddOp::create(builder(), name(text), a.getType(), a, b);
}

mlir::Value FunctionEmitter::gated(mlir::Value x, llvm::StringRef key,
                                   int64_t width, Activation activation) {
  mlir::Value gate = linear(x, key.str() + "gate_proj", width);
  mlir::Value up = linear(x, key.str() + "up_proj", width);
  mlir::Value inner;
  if (activation == Activation::GeluTanh)
    inner = mlir::mtp::GegluTanhOp::create(builder(), name("geglu"),
                                           gate.getType(), gate, up);
  else
    inner = mlir::mtp::SwigluOp::create(builder(), name("swiglu"),
                                        gate.getType(), gate, up);
  return linear(inner, key.str() + "down_proj", widthOf(x));
}

mlir::Value FunctionEmitter::head(mlir::Value x, int64_t columns,
                                  const std::string &key) {
  if (columns == 0)
    columns = config().vocab;
  mlir::Value matrix = weight(key.empty() ? "/" + context.keys.head : key,
                              {columns, config().hidden});
  return mlir::mtp::LinearOp::create(
      builder(), name("logits"), activation(columns), x, matrix, mlir::Value(),
      mlir::mtp::ProjectionRoleAttr::get(builder().getContext(),
                                         mlir::mtp::ProjectionRole::Head));
}

mlir::Value applyLayer(ModelContext &context, size_t layer, mlir::Value x,
                       mlir::Value rows) {
  const LayerConfig &config = context.config.layers[layer];
  std::string function = layerFunction(context.config, config);
  std::string prefix = context.prefixOf(layer);
  int64_t place = placeAmongAlike(context.config, layer);
  if (!config.isRecurrent())
    return emitApply(context, function, {x, rows}, context.hidden(), "x",
                     prefix, context.cache, place)
        ->getResult(0);
  mlir::OpBuilder &builder = context.builder;
  auto apply = mlir::mtp::ApplyOp::create(
      builder, context.name("x"), mlir::TypeRange(context.hidden()),
      context.functions + function, mlir::ValueRange{x, rows}, prefix,
      /*cache=*/nullptr, /*layer=*/nullptr,
      mlir::FlatSymbolRefAttr::get(builder.getContext(), kTargetMemory),
      builder.getI64IntegerAttr(place));
  return apply->getResult(0);
}

mlir::Operation *emitApply(ModelContext &context, llvm::StringRef callee,
                           mlir::ValueRange inputs, mlir::TypeRange results,
                           llvm::StringRef name, llvm::StringRef prefix,
                           llvm::StringRef cache, int64_t layer) {
  mlir::OpBuilder &builder = context.builder;
  mlir::FlatSymbolRefAttr cacheName;
  mlir::IntegerAttr cacheLayer;
  if (!cache.empty()) {
    cacheName = mlir::FlatSymbolRefAttr::get(builder.getContext(), cache);
    cacheLayer = builder.getI64IntegerAttr(layer);
  }
  return mlir::mtp::ApplyOp::create(
      builder, context.name(name), results, context.functions + callee.str(),
      inputs, prefix, cacheName, cacheLayer, mlir::FlatSymbolRefAttr(),
      mlir::IntegerAttr());
}

} // namespace mtp::importer
