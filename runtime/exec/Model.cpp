//===- Model.cpp - A loaded artifact --------------------------------------===//

#include "runtime/exec/ModelImpl.h"
#include "runtime/artifact/StateRule.h"

using namespace mtp;

static GenerationInfo makeGeneration(const schema::Artifact &artifact) {
  GenerationInfo info;
  const schema::Generation *generation = artifact.generation();
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
  return info;
}

static EnvelopeInfo makeEnvelope(const schema::Artifact &artifact,
                                 const ProgramTable &programs) {
  const schema::Envelope &envelope = *artifact.envelope();
  EnvelopeInfo info;
  info.maxK = envelope.max_k();
  info.maxBatch = envelope.max_batch();
  info.maxContext = envelope.max_context();
  info.prefillChunk = envelope.prefill_chunk();
  info.prefillChunks = programs.chunks();
  info.pageTokens = envelope.page_tokens();
  info.vocab = envelope.vocab();
  info.modules = placesAhead(artifact);
  return info;
}

Model::Impl::Impl(std::shared_ptr<const ArtifactFile> artifact)
    : file(std::move(artifact)), programs(file->program()),
      generation(makeGeneration(file->program())) {
  if (file->program().envelope())
    envelope = makeEnvelope(file->program(), programs);
}

Model::Model(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Model::~Model() = default;

Result<std::shared_ptr<const Model>> Model::load(const std::string &path,
                                                 const LoadOptions &options) {
  MTP_ASSIGN_OR_RETURN(
      std::shared_ptr<const ArtifactFile> file,
      ArtifactFile::open(
          path, options.checkAllHashes ? HashCheck::All : HashCheck::Small,
          options.copy ? FileMemory::Copied : FileMemory::Mapped));
  return std::shared_ptr<const Model>(
      new Model(std::make_unique<Impl>(std::move(file))));
}

const EnvelopeInfo *Model::envelope() const {
  return impl->envelope ? &*impl->envelope : nullptr;
}

const GenerationInfo &Model::generation() const { return impl->generation; }

std::string_view Model::producer() const {
  return impl->file->program().producer()->string_view();
}

std::string_view Model::name() const {
  const flatbuffers::String *name = impl->file->program().model();
  return name ? name->string_view() : std::string_view();
}

std::span<const uint8_t> Model::tokenizer() const {
  int32_t segment = impl->file->program().tokenizer();
  return segment < 0 ? std::span<const uint8_t>()
                     : impl->file->segment(uint32_t(segment));
}

std::vector<std::string> Model::functions() const {
  std::vector<std::string> names;
  const schema::Artifact &artifact = impl->file->program();
  for (uint32_t i = 0; i < vectorSize(artifact.programs()); ++i)
    if (artifact.programs()->Get(i)->kind() == schema::ProgramKind::Function)
      names.push_back(artifact.programs()->Get(i)->name()->str());
  return names;
}

std::vector<PortType> mtp::portTypes(const PortVector *ports) {
  std::vector<PortType> types;
  for (uint32_t i = 0; i < vectorSize(ports); ++i) {
    const schema::Port *port = ports->Get(i);
    PortType type;
    type.name = port->name()->str();
    type.type.element = ElementType(port->dtype());
    if (port->shape())
      type.type.shape.assign(port->shape()->begin(), port->shape()->end());
    types.push_back(std::move(type));
  }
  return types;
}

Result<std::vector<PortType>>
Model::functionInputs(std::string_view name) const {
  MTP_ASSIGN_OR_RETURN(uint32_t program, impl->programs.function(name));
  return portTypes(impl->file->program().programs()->Get(program)->inputs());
}

Result<std::vector<PortType>>
Model::functionOutputs(std::string_view name) const {
  MTP_ASSIGN_OR_RETURN(uint32_t program, impl->programs.function(name));
  return portTypes(impl->file->program().programs()->Get(program)->outputs());
}
