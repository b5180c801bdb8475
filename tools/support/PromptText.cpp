//===- PromptText.cpp - Text to prompt tokens -----------------------------===//

#include "tools/support/PromptText.h"

using namespace mtp;

Result<std::unique_ptr<Tokenizer>> mtp::loadTokenizer(const Model &model) {
  if (model.tokenizer().empty())
    return std::unique_ptr<Tokenizer>();
  return Tokenizer::load(model.tokenizer());
}

Result<std::vector<int32_t>> mtp::promptIds(std::string_view text,
                                            const PromptTextOptions &options,
                                            const GenerationInfo &generation,
                                            const Tokenizer &tokenizer) {
  EncodeOptions encode{options.addsStart, options.special};
  encode.cancelled = options.cancelled;
  MTP_ASSIGN_OR_RETURN(std::vector<int32_t> ids,
                       tokenizer.encode(text, encode));
  if (!generation.bos || !options.addsStart)
    return ids;
  auto isStart = [&](size_t at) {
    return at < ids.size() && ids[at] == *generation.bos;
  };
  if (options.special && isStart(0) && isStart(1))
    ids.erase(ids.begin());
  else if (generation.addBos && !isStart(0))
    ids.insert(ids.begin(), *generation.bos);
  return ids;
}
