//===- ArtifactTables.cpp - From exec IR to the artifact's tables ---------===//

#include "compiler/Artifact/ArtifactTables.h"
#include "compiler/Artifact/CommandList.h"
#include "dialects/Exec/IR/KernelContract.h"
#include "dialects/MTP/IR/MTPAttrs.h"
#include "dialects/MTP/IR/RuleAttrs.h"
#include "dialects/MTP/IR/TreeAttr.h"

using namespace mtp;
using namespace mtp::compiler;
using namespace mlir;

namespace {

/// Writes the tables of one plan, and the tables of the root that all plans
/// share. The members are the state of the builder.
class TableBuilder {
public:
  TableBuilder(flatbuffers::FlatBufferBuilder &fbb, const PlanInputs &plan,
               const FileLayout &file, size_t number)
      : fbb(fbb), plan(plan), module(plan.module), file(file), number(number),
        layout(file.plans[number]), dispatches(fbb) {}

  Offset<schema::Envelope> makeEnvelope();
  Offset<schema::Generation> makeGeneration();
  Offset<flatbuffers::Vector<Offset<schema::Cache>>> makeCaches();
  Offset<flatbuffers::Vector<Offset<schema::State>>> makeStates();
  Offset<schema::Plan> makePlan();

private:
  template <typename Op, typename F>
  auto tableOf(F make) {
    std::vector<decltype(make(std::declval<Op>()))> entries;
    for (Op op : module.getOps<Op>())
      entries.push_back(make(op));
    return fbb.CreateVector(entries);
  }
  Offset<flatbuffers::Vector<uint64_t>> shapeOf(MemRefType type) {
    return fbb.CreateVector(
        std::vector<uint64_t>(type.getShape().begin(), type.getShape().end()));
  }

  Offset<schema::Target> makeTarget();
  Offset<schema::Cache> makeCache(exec::CacheOp op);
  Offset<schema::State> makeState(exec::StateOp op);
  Offset<schema::BufferContract> makeBuffer(const exec::BufferContract &buffer);
  Offset<schema::Contract> makeContract(exec::KernelOp op);
  /// Returns the launch parameters of a kernel on a GPU; null on other
  /// machines.
  const KernelLaunch *launchOf(exec::KernelOp op) const;
  Offset<schema::CudaLaunch> makeLaunch(const KernelLaunch *launch);
  Offset<schema::Gemm> makeGemm(exec::KernelOp op);
  Offset<schema::Kernel> makeKernel(exec::KernelOp op);
  Offset<flatbuffers::Vector<Offset<schema::GemmAlgorithm>>> makeAlgorithms();
  Offset<flatbuffers::Vector<Offset<schema::Blob>>>
  makeBlobs(const std::vector<BlobLayout> &blobs);
  Offset<schema::PlanProgram> makeProgram(exec::ProgramOp op);
  Offset<schema::PlanPort>
  makePort(StringRef name, Value buffer,
           std::optional<mlir::mtp::OutputRows> declared = std::nullopt);
  schema::Place makePlace(Value buffer, int64_t elementOffset);
  schema::Place makeReference(exec::RefOp op, int64_t offset);

  flatbuffers::FlatBufferBuilder &fbb;
  const PlanInputs &plan;
  ModuleOp module;
  const FileLayout &file;
  /// Number of the plan in the file.
  const size_t number;
  const PlanLayout &layout;
  SharedDispatches dispatches;
};

} // namespace

Offset<schema::Target> TableBuilder::makeTarget() {
  Machine machine = plan.target->machine();
  auto arch = fbb.CreateString(machine.arch);
  auto cpu = fbb.CreateString(machine.cpu);
  auto features = fbb.CreateVectorOfStrings(machine.features);
  return schema::CreateTarget(fbb, arch, cpu, features);
}

Offset<schema::Envelope> TableBuilder::makeEnvelope() {
  auto envelope =
      module->getAttrOfType<mlir::mtp::EnvelopeAttr>(mlir::mtp::kEnvelopeAttr);
  bool hasRound = module->hasAttr(exec::kModelAttr);
  if (!envelope || !hasRound)
    return 0; // functions only
  Offset<flatbuffers::Vector<int32_t>> tree;
  if (auto parents =
          module->getAttrOfType<DenseI64ArrayAttr>(mlir::mtp::kTreeAttr))
    tree = fbb.CreateVector(std::vector<int32_t>(parents.asArrayRef().begin(),
                                                 parents.asArrayRef().end()));
  return schema::CreateEnvelope(
      fbb, envelope.getMaxK(), envelope.getMaxBatch(), envelope.getMaxContext(),
      envelope.getPrefillChunk(), envelope.getPage(),
      exec::moduleNumber(module, exec::kModelAttr, exec::kVocab),
      envelope.getMaxNodes(), envelope.getMaxRows(), tree);
}

Offset<schema::Generation> TableBuilder::makeGeneration() {
  auto entries =
      module->getAttrOfType<DictionaryAttr>(mlir::mtp::kGenerationAttr);
  if (!entries)
    return 0;
  auto integer = [&](StringRef key, int64_t fallback) {
    auto value = entries.getAs<IntegerAttr>(key);
    return value ? value.getInt() : fallback;
  };
  auto real = [&](StringRef key, float fallback) {
    auto value = entries.getAs<FloatAttr>(key);
    return value ? static_cast<float>(value.getValueAsDouble()) : fallback;
  };
  auto flag = entries.getAs<BoolAttr>("add_bos");
  std::vector<int32_t> eos;
  if (auto list = entries.getAs<DenseI32ArrayAttr>("eos"))
    eos.assign(list.asArrayRef().begin(), list.asArrayRef().end());
  auto eosVector = fbb.CreateVector(eos);
  return schema::CreateGeneration(
      fbb, integer("bos", -1), flag && flag.getValue(), eosVector,
      real("temperature", 0.0f), integer("top_k", 0), real("top_p", 1.0f),
      real("min_p", 0.0f), real("repetition_penalty", 1.0f));
}

Offset<schema::Cache> TableBuilder::makeCache(exec::CacheOp op) {
  auto name = fbb.CreateString(op.getSymName().str());
  return schema::CreateCache(fbb, name, op.getLayers(), op.getEntry(),
                             dtypeOf(op.getDtype()), op.getHeads());
}

/// Returns the value of an attribute of f32, i32 or i64; 0 if it is absent.
static double numberOf(TypedAttr attribute) {
  if (auto real = dyn_cast_if_present<FloatAttr>(attribute))
    return real.getValueAsDouble();
  auto integer = dyn_cast_if_present<IntegerAttr>(attribute);
  return integer ? static_cast<double>(integer.getInt()) : 0;
}

static schema::Rebuild rebuildOf(mlir::mtp::Rebuild rebuild) {
  switch (rebuild) {
  case mlir::mtp::Rebuild::Rows:
    return schema::Rebuild::Rows;
  case mlir::mtp::Rebuild::Tokens:
    return schema::Rebuild::Tokens;
  case mlir::mtp::Rebuild::Never:
    return schema::Rebuild::Never;
  case mlir::mtp::Rebuild::Save:
    return schema::Rebuild::Save;
  case mlir::mtp::Rebuild::Run:
    return schema::Rebuild::Run;
  }
  llvm_unreachable("all rebuilds have a case");
}

Offset<schema::State> TableBuilder::makeState(exec::StateOp op) {
  auto type = cast<MemRefType>(op.getType());
  auto name = fbb.CreateString(op.getSymName().str());
  auto shape = shapeOf(type);
  auto upkeep = schema::CreateUpkeep(
      fbb, op.getShared(), numberOf(op.getInitAttr()),
      rebuildOf(op.getRebuild()), uint32_t(op.getRebuildRows()), op.getInput());
  return schema::CreateState(fbb, name, dtypeOf(type.getElementType()), shape,
                             upkeep);
}

Offset<schema::BufferContract>
TableBuilder::makeBuffer(const exec::BufferContract &buffer) {
  if (buffer.entries) {
    const exec::CacheEntries &entries = *buffer.entries;
    auto cache =
        schema::CreateCacheContract(fbb, entries.page, entries.width,
                                    entries.heads, dtypeOf(entries.element));
    return schema::CreateBufferContract(fbb, 0, buffer.isWritten,
                                        buffer.alignment, false, cache);
  }
  std::vector<schema::Term> terms;
  for (exec::Extent::Term term : buffer.bytes.terms())
    terms.emplace_back(term.factor, uint8_t(term.first), uint8_t(term.second));
  auto bytes = fbb.CreateVectorOfStructs(terms);
  return schema::CreateBufferContract(fbb, bytes, buffer.isWritten,
                                      buffer.alignment, buffer.isPageTable);
}

Offset<schema::Contract> TableBuilder::makeContract(exec::KernelOp op) {
  std::optional<exec::KernelContract> contract = exec::kernelContract(op);
  if (!contract)
    return 0; // a builtin
  std::vector<Offset<schema::BufferContract>> buffers;
  for (const exec::BufferContract &buffer : contract->buffers)
    buffers.push_back(makeBuffer(buffer));
  std::vector<schema::ParamContract> params;
  for (exec::ParamRange range : contract->params)
    params.emplace_back(range.least, range.most);
  auto bufferVector = fbb.CreateVector(buffers);
  auto paramVector = fbb.CreateVectorOfStructs(params);
  exec::TaskShape tasks = contract->tasks;
  uint64_t mostTasks = 0;
  if (const KernelLaunch *launch = launchOf(op)) {
    tasks = {launch->rowsPerGroup, int64_t(launch->blocks)};
    mostTasks = launch->mostBlocks;
  }
  return schema::CreateContract(
      fbb, bufferVector, paramVector, tasks.tasks, tasks.rowsPerGroup,
      plan.code.scratchOf.lookup(op.getSymName()), mostTasks);
}

const KernelLaunch *TableBuilder::launchOf(exec::KernelOp op) const {
  auto found = plan.code.launchOf.find(op.getSymName());
  return found == plan.code.launchOf.end() ? nullptr : &found->second;
}

Offset<schema::CudaLaunch>
TableBuilder::makeLaunch(const KernelLaunch *launch) {
  if (!launch)
    return 0;
  return schema::CreateCudaLaunch(fbb, launch->threads, launch->sharedBytes,
                                  launch->takesActive);
}

/// Writes the product that a library computes; null if the plan has code.
Offset<schema::Gemm> TableBuilder::makeGemm(exec::KernelOp op) {
  auto gemm = dyn_cast<exec::GemmKernelAttr>(op.getKernel());
  if (!gemm)
    return 0;
  return schema::CreateGemm(fbb, uint32_t(gemm.getN()), uint32_t(gemm.getK()),
                            uint64_t(gemm.getWorkspace()));
}

Offset<schema::Kernel> TableBuilder::makeKernel(exec::KernelOp op) {
  std::string config;
  llvm::raw_string_ostream(config) << op.getKernel();
  exec::KernelSignature signature = exec::kernelSignature(op.getKernel());
  // A GPU has no builtins, and its kernels have their own names in the image.
  const KernelLaunch *launch = launchOf(op);
  bool hasCode = launch || (!op.getKernel().isBuiltin() &&
                            !isa<exec::GemmKernelAttr>(op.getKernel()));
  auto symbol =
      fbb.CreateString(launch ? launch->symbol : op.getSymName().str());
  auto kind = fbb.CreateString(op.getKind().str());
  auto text = fbb.CreateString(config);
  auto contract = makeContract(op);
  auto start = makeLaunch(launch);
  int image = launch ? int(launch->image) : hasCode ? 0 : -1;
  return schema::CreateKernel(
      fbb, symbol, kind, text, image, signature.buffers, signature.params,
      contract, start, makeGemm(op),
      isa<exec::ProcessLogitsKernelAttr>(op.getKernel()));
}

Offset<flatbuffers::Vector<Offset<schema::Blob>>>
TableBuilder::makeBlobs(const std::vector<BlobLayout> &blobs) {
  std::vector<Offset<schema::Blob>> entries;
  for (const BlobLayout &blob : blobs) {
    auto name = fbb.CreateString(blob.name);
    auto shape = fbb.CreateVector(blob.shape);
    entries.push_back(schema::CreateBlob(
        fbb, name, blob.segment, blob.offset, blob.size, blob.dtype, shape,
        blob.format, blob.group, blob.inputs, schema::BlobScales(blob.scales),
        blob.hasOffset));
  }
  return fbb.CreateVector(entries);
}

/// Returns the number of bytes of a buffer from `offset` on.
static schema::Count bytesFrom(Value buffer, int64_t offset) {
  // The dialect has verified that the number exists.
  return toSchema(*exec::bufferBytes(buffer) + -offset);
}

schema::Place TableBuilder::makeReference(exec::RefOp op, int64_t offset) {
  StringRef name = op.getResource();
  if (layout.cacheIndex.contains(name)) {
    return schema::Place(schema::Space::Kv, layout.cacheIndex.lookup(name),
                         toSchema(int64_t(op.getLayer())), toSchema(0));
  }
  auto lookup = [&](const llvm::StringMap<uint32_t> &index,
                    schema::Space space) {
    return schema::Place(space, index.lookup(name),
                         toSchema(op.getRowOffset() + offset),
                         bytesFrom(op.getResult(), offset));
  };
  if (layout.weightIndex.contains(name))
    return lookup(layout.weightIndex, schema::Space::Weight);
  if (layout.constantIndex.contains(name))
    return lookup(layout.constantIndex, schema::Space::Constant);
  return lookup(layout.stateIndex, schema::Space::State);
}

schema::Place TableBuilder::makePlace(Value buffer, int64_t elementOffset) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t offset = elementOffset * (type.getElementTypeBitWidth() / 8);
  if (auto ref = buffer.getDefiningOp<exec::RefOp>())
    return makeReference(ref, offset);
  auto alloc = buffer.getDefiningOp<exec::AllocOp>();
  return schema::Place(schema::Space::Arena, 0,
                       toSchema(alloc.getOffsetAttr().getCount() + offset),
                       bytesFrom(buffer, offset));
}

static schema::PortRows
portRowsOf(std::optional<mlir::mtp::OutputRows> declared) {
  if (!declared)
    return schema::PortRows::None;
  return *declared == mlir::mtp::OutputRows::Slots ? schema::PortRows::Slots
                                                   : schema::PortRows::Tokens;
}

Offset<schema::PlanPort>
TableBuilder::makePort(StringRef name, Value buffer,
                       std::optional<mlir::mtp::OutputRows> declared) {
  auto type = cast<MemRefType>(buffer.getType());
  schema::Place place = makePlace(buffer, 0);
  auto nameString = fbb.CreateString(name.str());
  std::vector<schema::Count> dims;
  for (exec::Count extent : exec::extentsOf(buffer))
    dims.push_back(toSchema(extent));
  auto shape = fbb.CreateVectorOfStructs(dims);
  return schema::CreatePlanPort(fbb, nameString, &place,
                                dtypeOf(type.getElementType()), shape,
                                portRowsOf(declared));
}

static schema::ProgramKind kindOf(exec::ProgramOp op) {
  switch (op.getKind()) {
  case exec::ProgramKind::Decode:
    return schema::ProgramKind::Decode;
  case exec::ProgramKind::Prefill:
    return schema::ProgramKind::Prefill;
  case exec::ProgramKind::Function:
    return schema::ProgramKind::Function;
  }
  llvm_unreachable("all kinds of programs have a case");
}

Offset<schema::PlanProgram> TableBuilder::makeProgram(exec::ProgramOp op) {
  std::vector<Offset<schema::PlanPort>> programInputs, outputs;
  CommandList commands(fbb, dispatches);
  uint32_t cut = 0, onRequest = 0;
  for (Operation &inner : op.getBody().front()) {
    if (auto alloc = dyn_cast<exec::AllocOp>(inner)) {
      if (alloc.getInput())
        programInputs.push_back(makePort(*alloc.getInput(), alloc.getResult()));
    } else if (auto dispatch = dyn_cast<exec::DispatchOp>(inner)) {
      std::vector<uint32_t> bindings;
      for (auto [buffer, offset] :
           llvm::zip(dispatch.getBuffers(), dispatch.getOffsets())) {
        bindings.push_back(commands.place(makePlace(buffer, offset)));
      }
      int32_t live = -1;
      if (Value number = dispatch.getLive())
        live = int32_t(commands.place(makePlace(number, /*elementOffset=*/0)));
      commands.add(layout.kernelIndex.lookup(dispatch.getKernel()), bindings,
                   dispatch.getCounts(), live);
    } else if (isa<exec::AwaitHostOp>(inner)) {
      cut = commands.size();
    } else if (isa<exec::OnRequestOp>(inner)) {
      onRequest = commands.size();
    } else if (auto schedule = dyn_cast<exec::ScheduleOp>(inner)) {
      commands.addSchedule(schedule);
    } else if (auto output = dyn_cast<exec::OutputOp>(inner)) {
      outputs.push_back(
          makePort(output.getName(), output.getValue(), output.getOf()));
    }
  }
  schema::ProgramKind kind = kindOf(op);
  bool isPrefill = kind == schema::ProgramKind::Prefill;
  commands.finish();
  auto name = fbb.CreateString(op.getSymName().str());
  auto inputVector = fbb.CreateVector(programInputs);
  auto outputVector = fbb.CreateVector(outputs);
  schema::Count arenaBytes = toSchema(compiler::arenaBytes(op));
  return schema::CreatePlanProgram(
      fbb, name, kind, op.getLeast(), op.getMost() + 1,
      isPrefill ? 0 : op.getK(),
      isPrefill || op.getPrompts() ? op.getSequences() : 0,
      /*drafts=*/isPrefill && op.getK() > 0, &arenaBytes, commands.placeVector,
      commands.actionVector, commands.commandVector, commands.cpuVector,
      inputVector, outputVector, uint32_t(op.getPositions().value_or(0)), cut,
      uint32_t(op.getPrompts().value_or(0)),
      uint32_t(op.getCatchUp().value_or(0)), onRequest);
}

/// Writes the algorithms of a library's products; null if there are none.
Offset<flatbuffers::Vector<Offset<schema::GemmAlgorithm>>>
TableBuilder::makeAlgorithms() {
  std::vector<Offset<schema::GemmAlgorithm>> entries;
  for (const LibraryAlgorithm &known : plan.code.algorithms) {
    auto chip = fbb.CreateString(known.chip);
    auto words = fbb.CreateVector(known.words);
    entries.push_back(schema::CreateGemmAlgorithm(
        fbb, known.version, chip, known.gemm.rows, known.gemm.outputs,
        known.gemm.inputs, words));
  }
  if (entries.empty())
    return 0;
  return fbb.CreateVector(entries);
}

Offset<schema::Plan> TableBuilder::makePlan() {
  auto target = makeTarget();
  std::vector<Offset<schema::Image>> images;
  for (size_t image = 0; image < plan.code.images.size(); ++image)
    images.push_back(schema::CreateImage(
        fbb, plan.code.format,
        file.imageSegment({number, image, /*isPtx=*/false}),
        file.imageSegment({number, image, /*isPtx=*/true})));
  auto imageVector = fbb.CreateVector(images);
  auto kernels = tableOf<exec::KernelOp>(
      [&](exec::KernelOp op) { return makeKernel(op); });
  auto weights = makeBlobs(layout.weights);
  auto constants = makeBlobs(layout.constants);
  std::vector<uint64_t> offsets;
  for (exec::StateOp state : module.getOps<exec::StateOp>())
    offsets.push_back(*state.getOffset());
  auto stateOffsets = fbb.CreateVector(offsets);
  auto programs = tableOf<exec::ProgramOp>(
      [&](exec::ProgramOp op) { return makeProgram(op); });
  auto algorithms = makeAlgorithms();
  return schema::CreatePlan(
      fbb, target, imageVector, kernels, weights, constants, stateOffsets,
      exec::moduleNumber(module, exec::kPlanAttr, exec::kStateBytes),
      exec::moduleNumber(module, exec::kPlanAttr, exec::kArenaBytes),
      plan.code.scratchBytes, programs, plan.code.loopImage, algorithms);
}

Offset<flatbuffers::Vector<Offset<schema::Cache>>> TableBuilder::makeCaches() {
  return tableOf<exec::CacheOp>(
      [&](exec::CacheOp op) { return makeCache(op); });
}

Offset<flatbuffers::Vector<Offset<schema::State>>> TableBuilder::makeStates() {
  return tableOf<exec::StateOp>(
      [&](exec::StateOp op) { return makeState(op); });
}

static Offset<schema::Chat> makeChat(flatbuffers::FlatBufferBuilder &fbb,
                                     const ChatSource &chat) {
  if (chat.templates.empty())
    return {};
  std::vector<Offset<schema::ChatTemplate>> templates;
  for (const auto &[name, source] : chat.templates)
    templates.push_back(schema::CreateChatTemplate(fbb, fbb.CreateString(name),
                                                   fbb.CreateString(source)));
  std::vector<Offset<schema::ChatToken>> tokens;
  for (const auto &[name, text] : chat.tokens)
    tokens.push_back(schema::CreateChatToken(fbb, fbb.CreateString(name),
                                             fbb.CreateString(text)));
  auto templateVector = fbb.CreateVector(templates);
  return schema::CreateChat(fbb, templateVector, fbb.CreateVector(tokens));
}

namespace {
/// The module's description of its rounds, for people; empty if it has none.
struct DraftingTexts {
  StringRef method, rule;
  bool isLossy;
};
} // namespace

static DraftingTexts draftingOf(ModuleOp module) {
  auto text = [&](StringRef name) {
    auto attr = module->getAttrOfType<StringAttr>(name);
    return attr ? attr.getValue() : StringRef();
  };
  DraftingTexts texts = {text(mlir::mtp::kMethodAttr),
                         text(mlir::mtp::kRuleAttr),
                         module->hasAttr(mlir::mtp::kLossyAttr)};
  // A rule without a name is exact, except a rule in code, which only its
  // author can describe.
  bool hasRounds = module->hasAttr(mlir::mtp::kEnvelopeAttr);
  if (texts.rule.empty() && hasRounds &&
      !module->hasAttr(mlir::mtp::kCustomRuleAttr))
    texts.rule = "exact";
  return texts;
}

/// Writes a text; null if it is empty.
static Offset<flatbuffers::String> makeLine(flatbuffers::FlatBufferBuilder &fbb,
                                            StringRef text) {
  return text.empty() ? Offset<flatbuffers::String>()
                      : fbb.CreateString(text.data(), text.size());
}

static Offset<flatbuffers::Vector<Offset<schema::Segment>>>
makeSegments(flatbuffers::FlatBufferBuilder &fbb, const FileLayout &layout) {
  std::vector<Offset<schema::Segment>> segments;
  for (const SegmentLayout &segment : layout.segments)
    segments.push_back(schema::CreateSegment(fbb, segment.kind, segment.offset,
                                             segment.size, segment.hash));
  return fbb.CreateVector(segments);
}

flatbuffers::DetachedBuffer compiler::buildTables(const ArtifactInputs &inputs,
                                                  const FileLayout &layout) {
  flatbuffers::FlatBufferBuilder fbb;
  fbb.ForceDefaults(true); // a hash of 0 also needs its bytes
  std::vector<TableBuilder> builders;
  for (auto [i, plan] : llvm::enumerate(inputs.plans))
    builders.emplace_back(fbb, plan, layout, i);
  // Tables that all plans share.
  TableBuilder &root = builders.front();
  auto producer = fbb.CreateString(inputs.producer);
  auto model = fbb.CreateString(inputs.model);
  auto envelope = root.makeEnvelope();
  auto generation = root.makeGeneration();
  auto caches = root.makeCaches();
  auto states = root.makeStates();
  auto segmentVector = makeSegments(fbb, layout);
  std::vector<Offset<schema::Plan>> plans;
  for (TableBuilder &builder : builders)
    plans.push_back(builder.makePlan());
  auto planVector = fbb.CreateVector(plans);
  auto chat = makeChat(fbb, inputs.chat);
  const DraftingTexts drafting = draftingOf(inputs.plans.front().module);
  auto method = makeLine(fbb, drafting.method);
  auto rule = makeLine(fbb, drafting.rule);

  schema::ArtifactBuilder artifact(fbb);
  artifact.add_producer(producer);
  artifact.add_model(model);
  if (!envelope.IsNull())
    artifact.add_envelope(envelope);
  if (!generation.IsNull())
    artifact.add_generation(generation);
  artifact.add_caches(caches);
  artifact.add_states(states);
  artifact.add_segments(segmentVector);
  artifact.add_tokenizer(layout.tokenizerSegment());
  artifact.add_plans(planVector);
  if (!chat.IsNull())
    artifact.add_chat(chat);
  if (!method.IsNull())
    artifact.add_method(method);
  if (!rule.IsNull())
    artifact.add_rule(rule);
  artifact.add_lossy(drafting.isLossy);
  schema::FinishArtifactBuffer(fbb, artifact.Finish());
  return fbb.Release();
}
