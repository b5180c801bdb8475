//===- Model.cpp - A loaded artifact --------------------------------------===//

#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/program/PromptScoring.h"
#include "runtime/exec/program/RequestPorts.h"
#include "runtime/profile/ProfileFile.h"
#include "runtime/schema/ChatLimits.h"
#include "runtime/schema/LogitRules.h"

using namespace mtp;

static GenerationInfo makeGeneration(const Artifact &artifact) {
  GenerationInfo info;
  const schema::Generation *generation = artifact.generation;
  if (!generation)
    return info;
  if (generation->bos() >= 0)
    info.bos = generation->bos();
  info.addBos = generation->add_bos();
  if (generation->eos())
    info.eos.assign(generation->eos()->begin(), generation->eos()->end());
  info.temperature = generation->temperature();
  info.topK = generation->top_k();
  info.topP = generation->top_p();
  info.minP = generation->min_p();
  info.repetitionPenalty = generation->repetition_penalty();
  return info;
}

static EnvelopeInfo makeEnvelope(const Artifact &artifact,
                                 const ProgramTable &programs) {
  const schema::Envelope &envelope = *artifact.envelope;
  EnvelopeInfo info;
  info.maxK = envelope.max_k();
  info.maxBatch = envelope.max_batch();
  info.maxContext = envelope.max_context();
  info.prefillChunk = envelope.prefill_chunk();
  for (auto [least, most] : programs.chunks())
    info.prefillChunks.push_back(most);
  info.pageTokens = envelope.page_tokens();
  info.vocab = envelope.vocab();
  info.modules = artifact.ahead;
  info.maxNodes = mostNodes(envelope);
  info.maxRows = info.maxNodes * info.maxBatch;
  if (envelope.max_rows() != 0)
    info.maxRows = std::min(info.maxRows, envelope.max_rows());
  return info;
}

static_assert(kMostChatTemplateBytes <= kMaxTemplateBytes);

static ChatSource makeChat(const schema::Chat &chat) {
  ChatSource source;
  for (const schema::ChatTemplate *one : *chat.templates())
    source.templates.emplace_back(one->name()->string_view(),
                                  one->source()->string_view());
  for (uint32_t i = 0; i < vectorSize(chat.tokens()); ++i)
    source.tokens.emplace_back(chat.tokens()->Get(i)->name()->string_view(),
                               chat.tokens()->Get(i)->text()->string_view());
  return source;
}

Model::Impl::Impl(std::shared_ptr<const ArtifactFile> source,
                  const PlanChoice &choice)
    : file(std::move(source)), planIndex(choice.plan), device(choice.device),
      gpu(choice.gpu), programs(plan()),
      generation(makeGeneration(artifact())) {
  if (artifact().envelope)
    envelope = makeEnvelope(artifact(), programs);
  if (artifact().chat)
    chat = makeChat(*artifact().chat);
}

const profile::ProgramKeys &Model::Impl::programKeys() const {
  std::call_once(hashesPrograms, [&] { keys.emplace(plan()); });
  return *keys;
}

Model::Model(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Model::~Model() = default;

/// Reads a profile, which must be of the model; returns nothing without a path.
static Result<std::optional<profile::Profile>>
loadProfile(const Model::Impl &model, const std::string &path) {
  if (path.empty())
    return std::optional<profile::Profile>();
  MTP_ASSIGN_OR_RETURN(profile::Profile read, profile::loadProfile(path));
  Status status = profile::checkModel(
      profile::modelKeyOf(model.artifact(), model.plan()), read.model);
  if (!status.isOk())
    return status.withContext(path);
  return std::optional<profile::Profile>(std::move(read));
}

Result<std::shared_ptr<const Model>> Model::load(const std::string &path,
                                                 const LoadOptions &options) {
  MTP_ASSIGN_OR_RETURN(
      std::shared_ptr<const ArtifactFile> file,
      ArtifactFile::open(
          path, options.checkAllHashes ? HashCheck::All : HashCheck::Small,
          options.copy ? FileMemory::Copied : FileMemory::Mapped));
  Result<PlanChoice> choice =
      choosePlan(file->artifact(), options.device, options.gpu);
  if (!choice)
    return choice.status().withContext(path);
  auto impl = std::make_unique<Impl>(std::move(file), *choice);
  MTP_ASSIGN_OR_RETURN(impl->profile, loadProfile(*impl, options.profile));
  return std::shared_ptr<const Model>(new Model(std::move(impl)));
}

DeviceKind Model::device() const { return impl->device; }
uint32_t Model::gpu() const { return impl->gpu; }

const EnvelopeInfo *Model::envelope() const {
  return impl->envelope ? &*impl->envelope : nullptr;
}

const GenerationInfo &Model::generation() const { return impl->generation; }

const ChatSource *Model::chatTemplate() const {
  return impl->chat ? &*impl->chat : nullptr;
}

std::string_view Model::producer() const { return impl->artifact().producer; }

std::string_view Model::method() const { return impl->artifact().method; }

std::string_view Model::rule() const { return impl->artifact().rule; }

bool Model::isLossy() const { return impl->artifact().isLossy; }

std::string_view Model::name() const {
  const flatbuffers::String *name = impl->artifact().model;
  return name ? name->string_view() : std::string_view();
}

std::span<const uint8_t> Model::tokenizer() const {
  int32_t segment = impl->artifact().tokenizer;
  return segment < 0 ? std::span<const uint8_t>()
                     : impl->file->segment(uint32_t(segment));
}

std::vector<std::string> Model::functions() const {
  std::vector<std::string> names;
  for (const Program &program : impl->plan().programs)
    if (program.kind == schema::ProgramKind::Function)
      names.emplace_back(program.name);
  return names;
}

std::vector<PortType> mtp::portTypes(const std::vector<Port> &ports) {
  std::vector<PortType> types;
  for (const Port &port : ports)
    types.push_back(
        {std::string(port.name), {ElementType(port.dtype), port.shapeAt(0)}});
  return types;
}

Result<std::vector<PortType>>
Model::functionInputs(std::string_view name) const {
  MTP_ASSIGN_OR_RETURN(uint32_t program, impl->programs.function(name));
  return portTypes(impl->plan().programs[program].inputs);
}

Result<std::vector<PortType>>
Model::functionOutputs(std::string_view name) const {
  MTP_ASSIGN_OR_RETURN(uint32_t program, impl->programs.function(name));
  return portTypes(impl->plan().programs[program].outputs);
}

std::vector<PortType> Model::requestInputs() const {
  return mtp::requestInputs(impl->artifact());
}

bool Model::showsDrafts() const { return impl->programs.canStop(); }

bool Model::scoresPrompts() const {
  return findPromptScoring(impl->artifact(), impl->plan()).has_value();
}

bool Model::hasLogitRules() const {
  return impl->artifact().findState(kLogitRules).has_value();
}

bool Model::masksTokens() const {
  return hasLogitRules() && impl->artifact().findState(kLogitMasks).has_value();
}

std::vector<RequestOutputType> Model::requestOutputs() const {
  return mtp::requestOutputs(impl->plan());
}
