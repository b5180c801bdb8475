//===- BindText.cpp - Texts of prompts and answers ------------------------===//

#include "mtp/stream_decoder.h"
#include "runtime/core/StrCat.h"
#include "tools/python/src/Bindings.h"
#include "tools/python/src/Errors.h"
#include "tools/python/src/Handles.h"
#include "tools/support/PromptText.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

using namespace mtp;
using namespace mtp::python;
namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Ids = std::vector<int32_t>;

/// Text of one stream of ids, divided into reasoning and content.
class Decoder {
public:
  /// Begins the answer to a chat's prompt.
  Decoder(const ModelHandle &model, ReasoningFormat format,
          const std::string &prompt)
      : model(model.loaded), tokenizer(*take(model.loaded->tokenizer())),
        decoder(tokenizer, continuing()),
        splitter(std::in_place, format, prompt) {}

  /// Begins the continuation of a prompt, which has no reasoning.
  explicit Decoder(const ModelHandle &model)
      : model(model.loaded), tokenizer(*take(model.loaded->tokenizer())),
        decoder(tokenizer, continuing()) {}

  std::pair<std::string, std::string> append(const Ids &ids) {
    AnswerPart all;
    for (int32_t id : ids) {
      std::string text = take(decoder.append(id));
      if (!splitter)
        all.content += text;
      else if (tokenizer.isSpecial(id))
        add(all, splitter->appendSpecial(take(tokenizer.tokenToPiece(id))));
      else
        add(all, splitter->append(text));
    }
    return {std::move(all.content), std::move(all.reasoning)};
  }

  std::pair<std::string, std::string> finish() {
    AnswerPart all;
    if (!splitter)
      all.content = decoder.finish();
    else {
      add(all, splitter->append(decoder.finish()));
      add(all, splitter->finish());
    }
    return {std::move(all.content), std::move(all.reasoning)};
  }

private:
  static DecodeOptions continuing() {
    DecodeOptions options;
    options.atTextStart = false;
    return options;
  }
  static void add(AnswerPart &all, const AnswerPart &part) {
    all.content += part.content;
    all.reasoning += part.reasoning;
  }

  std::shared_ptr<const LoadedModel> model;
  const Tokenizer &tokenizer;
  StreamDecoder decoder;
  /// Absent: all text is content.
  std::optional<ReasoningSplitter> splitter;
};

} // namespace

static Ids encode(const ModelHandle &handle, const std::string &text,
                  bool addStart, bool special) {
  nb::gil_scoped_release release;
  const Tokenizer *tokenizer = take(handle.loaded->tokenizer());
  return take(promptIds(text, {addStart, special},
                        handle.loaded->model()->generation(), *tokenizer));
}

static std::string decode(const ModelHandle &handle, const Ids &ids,
                          bool skipSpecial) {
  nb::gil_scoped_release release;
  DecodeOptions options;
  options.skipSpecial = skipSpecial;
  return take(take(handle.loaded->tokenizer())->decode(ids, options));
}

static ReasoningFormat formatOf(const ModelHandle &handle,
                                const std::string &name) {
  if (name == "auto")
    return take(handle.loaded->reasoning());
  std::optional<ReasoningFormat> format = findReasoningFormat(name);
  if (!format)
    throw StatusError(invalidArgument(
        strCat("expected reasoning 'auto' or the name of a format, got '", name,
               "'")));
  return *format;
}

static std::pair<std::string, Ids> encodeChat(const ModelHandle &handle,
                                              const std::string &request) {
  nb::gil_scoped_release release;
  return take(handle.loaded->encodeChat(request));
}

void python::bindText(nb::module_ &module) {
  module.def("encode", &encode, "model"_a, "text"_a, "add_start"_a,
             "special"_a);
  module.def("decode", &decode, "model"_a, "ids"_a, "skip_special"_a);
  module.def("encode_chat", &encodeChat, "model"_a, "request"_a);
  nb::class_<Decoder>(module, "Decoder")
      .def(nb::init<const ModelHandle &>(), "model"_a)
      .def_static(
          "for_answer",
          [](const ModelHandle &model, const std::string &reasoning,
             const std::string &prompt) {
            return Decoder(model, formatOf(model, reasoning), prompt);
          },
          "model"_a, "reasoning"_a, "prompt"_a)
      .def("append", &Decoder::append, "ids"_a)
      .def("finish", &Decoder::finish);
}
