//===- CModel.cpp - Models, tokenizers and decoders from C ----------------===//

#include "runtime/api/CSupport.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/ArtifactFormat.h"

using namespace mtp;
using namespace mtp::capi;

struct mtp_decoder {
  /// Owns the tables that the tokenizer points into.
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Tokenizer> tokenizer;
  StreamDecoder stream;
  /// Text that the last call returned.
  std::string text;
};

//===----------------------------------------------------------------------===//
// Support
//===----------------------------------------------------------------------===//

static_assert(MTP_DEVICE_CPU == int(DeviceKind::Cpu) &&
              MTP_DEVICE_CUDA == int(DeviceKind::Cuda));
static_assert(MTP_INTERNAL == int(StatusCode::Internal) &&
              MTP_OUT_OF_RANGE == int(StatusCode::OutOfRange) &&
              MTP_DATA_LOSS == int(StatusCode::DataLoss));

static std::string &threadMessage() {
  thread_local std::string message;
  return message;
}

mtp_status capi::report(const Status &status) {
  if (!status.isOk())
    threadMessage() = status.message();
  return mtp_status(status.code());
}

Status capi::need(const void *pointer, const char *what) {
  return pointer ? okStatus()
                 : invalidArgument(strCat("expected ", what, ", got null"));
}

Status capi::needArray(const void *pointer, size_t count, const char *what) {
  return pointer || count == 0 ? okStatus()
                               : invalidArgument(strCat("expected ", count, " ",
                                                        what, ", got null"));
}

Status capi::checkStruct(const void *given, size_t size, const char *type) {
  if (size > sizeof(size_t) && size <= 4096)
    return okStatus();
  return invalidArgument(strCat("expected ", type, " as ", type,
                                "_init fills it in, got one of size ", size));
}

Status capi::needTokenizer(const mtp_model *model) {
  MTP_RETURN_IF_ERROR(need(model, "a model"));
  return model->tokenizer ? okStatus()
                          : failedPrecondition("the artifact has no tokenizer");
}

/// Returns a pointer to one of a model's lists, which lives as long as the
/// model.
template <typename T>
static mtp_status give(const mtp_model *model, std::vector<T> mtp_model::*list,
                       const T **target, size_t *count, const char *what) {
  MTP_C_RETURN_IF_ERROR(need(model, "a model"));
  MTP_C_RETURN_IF_ERROR(need(target, what));
  MTP_C_RETURN_IF_ERROR(need(count, "room for a count"));
  *target = (model->*list).data();
  *count = (model->*list).size();
  return MTP_OK;
}

extern "C" {

const char *mtp_message(void) { return threadMessage().c_str(); }

const char *mtp_version(void) { return MTP_VERSION; }

uint32_t mtp_usable_processors(void) { return Session::usableProcessors(); }

const char *mtp_format_version(void) {
  static const std::string version =
      strCat(unsigned(kFormatMajor), ".", unsigned(kFormatMinor));
  return version.c_str();
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

void(mtp_load_options_init)(mtp_load_options *options) { clear(options); }

void mtp_load_options_init_sized(mtp_load_options *options, size_t size) {
  initSized(options, size, mtp_load_options_init);
}

mtp_status mtp_model_load(const char *path, mtp_model **model) {
  return mtp_model_load_with(path, nullptr, model);
}

static std::vector<mtp_port> makePorts(std::span<const PortType> types) {
  std::vector<mtp_port> ports;
  for (const PortType &port : types)
    ports.push_back({port.name.c_str(), int32_t(port.type.element),
                     port.type.shape.size(), port.type.shape.data()});
  return ports;
}

static Result<std::vector<CFunction>> makeFunctions(const Model &model) {
  std::vector<CFunction> functions;
  for (std::string &name : model.functions()) {
    CFunction function;
    MTP_ASSIGN_OR_RETURN(function.types, model.functionInputs(name));
    size_t inputs = function.types.size();
    MTP_ASSIGN_OR_RETURN(std::vector<PortType> outputs,
                         model.functionOutputs(name));
    function.types.insert(function.types.end(), outputs.begin(), outputs.end());
    function.name = std::move(name);
    functions.push_back(std::move(function));
    // The types are stored now and do not move again.
    CFunction &stored = functions.back();
    std::span<const PortType> types(stored.types);
    stored.inputs = makePorts(types.first(inputs));
    stored.outputs = makePorts(types.subspan(inputs));
  }
  return functions;
}

static Result<std::unique_ptr<mtp_model>>
loadModel(const char *path, const mtp_load_options *options) {
  MTP_ASSIGN_OR_RETURN(
      mtp_load_options given,
      fromCaller(options, mtp_load_options_init, "mtp_load_options"));
  LoadOptions how;
  how.checkAllHashes = given.check_all_hashes != 0;
  how.copy = given.copy != 0;
  if (given.device < MTP_DEVICE_AUTO || given.device > MTP_DEVICE_CUDA)
    return invalidArgument(strCat("expected a device of 0 to ",
                                  int(MTP_DEVICE_CUDA), ", got ",
                                  given.device));
  how.device = DeviceKind(given.device);
  how.gpu = given.gpu;
  if (given.profile)
    how.profile = given.profile;
  auto result = std::make_unique<mtp_model>();
  MTP_ASSIGN_OR_RETURN(result->model, Model::load(path, how));
  MTP_ASSIGN_OR_RETURN(result->functions, makeFunctions(*result->model));
  result->requestTypes = result->model->requestInputs();
  result->requestInputs = makePorts(result->requestTypes);
  result->outputTypes = result->model->requestOutputs();
  for (const RequestOutputType &type : result->outputTypes)
    result->requestOutputs.push_back(
        {{type.name.c_str(), int32_t(type.row.element), type.row.shape.size(),
          type.row.shape.data()},
         type.isPerToken});
  if (!result->model->tokenizer().empty()) {
    auto tokenizer = Tokenizer::load(result->model->tokenizer());
    if (!tokenizer)
      return tokenizer.status().withContext(path);
    result->tokenizer = std::move(*tokenizer);
  }
  return result;
}

mtp_status mtp_model_load_with(const char *path,
                               const mtp_load_options *options,
                               mtp_model **model) {
  MTP_C_RETURN_IF_ERROR(need(path, "a path"));
  MTP_C_RETURN_IF_ERROR(need(model, "room for a model"));
  auto loaded = loadModel(path, options);
  if (!loaded)
    return report(loaded.status());
  *model = loaded->release();
  return MTP_OK;
}

void mtp_model_free(mtp_model *model) { delete model; }

void(mtp_model_info_init)(mtp_model_info *info) { clear(info); }

void mtp_model_info_init_sized(mtp_model_info *info, size_t size) {
  initSized(info, size, mtp_model_info_init);
}

mtp_status mtp_model_get_info(const mtp_model *model, mtp_model_info *info) {
  MTP_C_RETURN_IF_ERROR(need(model, "a model"));
  mtp_model_info value;
  clear(&value);
  if (const EnvelopeInfo *e = model->model->envelope()) {
    value.max_k = e->maxK;
    value.max_batch = e->maxBatch;
    value.max_context = e->maxContext;
    value.vocab = e->vocab;
    value.modules = e->modules;
    value.prefill_chunk = e->prefillChunk;
    value.page_tokens = e->pageTokens;
    value.max_nodes = e->maxNodes;
    value.max_rows = e->maxRows;
  }
  return report(toCaller(value, info, "mtp_model_info"));
}

void(mtp_generation_init)(mtp_generation *generation) {
  clear(generation);
  if (!generation)
    return;
  generation->bos = -1;
  generation->top_p = generation->repetition_penalty = 1;
}

void mtp_generation_init_sized(mtp_generation *generation, size_t size) {
  initSized(generation, size, mtp_generation_init);
}

mtp_status mtp_model_get_generation(const mtp_model *model,
                                    mtp_generation *generation) {
  MTP_C_RETURN_IF_ERROR(need(model, "a model"));
  const GenerationInfo &g = model->model->generation();
  return report(
      toCaller({sizeof(mtp_generation), g.bos.value_or(-1), g.addBos,
                g.temperature, g.topK, g.topP, g.minP, g.repetitionPenalty},
               generation, "mtp_generation"));
}

mtp_status mtp_model_get_eos(const mtp_model *model, int32_t *tokens,
                             size_t capacity, size_t *count) {
  MTP_C_RETURN_IF_ERROR(need(model, "a model"));
  return fill<int32_t>(model->model->generation().eos, tokens, capacity, count,
                       "tokens");
}

void(mtp_function_init)(mtp_function *function) { clear(function); }

void mtp_function_init_sized(mtp_function *function, size_t size) {
  initSized(function, size, mtp_function_init);
}

size_t mtp_model_function_count(const mtp_model *model) {
  return model ? model->functions.size() : 0;
}

mtp_status mtp_model_get_function(const mtp_model *model, size_t index,
                                  mtp_function *function) {
  MTP_C_RETURN_IF_ERROR(need(model, "a model"));
  if (index >= model->functions.size())
    return report(outOfRange(strCat("expected a function below ",
                                    model->functions.size(), ", got ", index)));
  const CFunction &f = model->functions[index];
  return report(toCaller({sizeof(mtp_function), f.name.c_str(), f.inputs.data(),
                          f.inputs.size(), f.outputs.data(), f.outputs.size()},
                         function, "mtp_function"));
}

mtp_status mtp_model_get_request_inputs(const mtp_model *model,
                                        const mtp_port **inputs,
                                        size_t *count) {
  return give(model, &mtp_model::requestInputs, inputs, count,
              "room for inputs");
}

int mtp_model_shows_drafts(const mtp_model *model) {
  return model && model->model->showsDrafts();
}

int mtp_model_scores_prompts(const mtp_model *model) {
  return model && model->model->scoresPrompts();
}

mtp_status mtp_model_get_request_outputs(const mtp_model *model,
                                         const mtp_request_output **outputs,
                                         size_t *count) {
  return give(model, &mtp_model::requestOutputs, outputs, count,
              "room for outputs");
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

mtp_status mtp_model_encode(const mtp_model *model, const char *text,
                            size_t length, int add_special, int parse_special,
                            int32_t *tokens, size_t capacity, size_t *count) {
  MTP_C_RETURN_IF_ERROR(needTokenizer(model));
  MTP_C_RETURN_IF_ERROR(needArray(text, length, "bytes of text"));
  auto ids = model->tokenizer->encode({text, length},
                                      {add_special != 0, parse_special != 0});
  if (!ids)
    return report(ids.status());
  return fill<int32_t>(*ids, tokens, capacity, count, "tokens");
}

mtp_status mtp_model_decode(const mtp_model *model, const int32_t *tokens,
                            size_t count, char *text, size_t capacity,
                            size_t *length) {
  MTP_C_RETURN_IF_ERROR(needTokenizer(model));
  MTP_C_RETURN_IF_ERROR(needArray(tokens, count, "tokens"));
  auto decoded = model->tokenizer->decode({tokens, count});
  if (!decoded)
    return report(decoded.status());
  return fill<char>(*decoded, text, capacity, length, "bytes of text");
}

mtp_status mtp_decoder_create(const mtp_model *model, int at_text_start,
                              mtp_decoder **decoder) {
  MTP_C_RETURN_IF_ERROR(needTokenizer(model));
  MTP_C_RETURN_IF_ERROR(need(decoder, "room for a decoder"));
  DecodeOptions options;
  options.atTextStart = at_text_start != 0;
  *decoder = new mtp_decoder{model->model,
                             model->tokenizer,
                             StreamDecoder(*model->tokenizer, options),
                             {}};
  return MTP_OK;
}

void mtp_decoder_free(mtp_decoder *decoder) { delete decoder; }

static Status needText(const mtp_decoder *decoder, const char **text,
                       size_t *length) {
  MTP_RETURN_IF_ERROR(need(decoder, "a decoder"));
  MTP_RETURN_IF_ERROR(need(text, "room for a text"));
  return need(length, "room for a length");
}

mtp_status mtp_decoder_append(mtp_decoder *decoder, const int32_t *tokens,
                              size_t count, const char **text, size_t *length) {
  MTP_C_RETURN_IF_ERROR(needText(decoder, text, length));
  MTP_C_RETURN_IF_ERROR(needArray(tokens, count, "tokens"));
  // Works on a copy, so that a bad id does not change the stream.
  StreamDecoder stream = decoder->stream;
  std::string all;
  for (int32_t token : std::span(tokens, count)) {
    auto piece = stream.append(token);
    if (!piece)
      return report(piece.status());
    all += *piece;
  }
  decoder->stream = stream;
  decoder->text = std::move(all);
  *text = decoder->text.c_str();
  *length = decoder->text.size();
  return MTP_OK;
}

mtp_status mtp_decoder_finish(mtp_decoder *decoder, const char **text,
                              size_t *length) {
  MTP_C_RETURN_IF_ERROR(needText(decoder, text, length));
  decoder->text = decoder->stream.finish();
  *text = decoder->text.c_str();
  *length = decoder->text.size();
  return MTP_OK;
}

} // extern "C"
