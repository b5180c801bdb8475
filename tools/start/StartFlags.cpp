//===- StartFlags.cpp - Flags of tools that start models ------------------===//

#include "tools/start/StartFlags.h"

#include "tools/support/Flags.h"

using namespace mtp;

static constexpr const char *kModels = "Models that are not compiled yet";

void start::addStartFlags(CLI::App &app, std::string &path,
                          StartOptions &options) {
  app.add_option("model", path,
                 "File that mtpc wrote, or a Hugging Face folder or GGUF file, "
                 "which is compiled at its first start");
  addText(app, "--drafter", options.drafter, "DIR|METHOD",
          "Drafter, as mtp-import takes it (default: the model's own MTP "
          "modules)")
      ->group(kModels);
  addNumber(app, "--max-context", options.maxContext,
            "Tokens per slot (default: 4096, or the model's)")
      ->group(kModels);
  addText(app, "--quantize", options.quantize, "FORMAT",
          "Format of the weights, as mtpc takes it, e.g. int4 (default: as "
          "they are)")
      ->group(kModels);
  addText(app, "--import", options.import, "FLAGS",
          "Further flags of mtp-import in one text, e.g. \"-k 5 --before "
          "lookup\"")
      ->group(kModels);
  addText(app, "--compile", options.compile, "FLAGS",
          "Further flags of mtpc in one text, e.g. \"--quantize-head=int8\"")
      ->group(kModels);
  addNumber(app, "--cache-size", options.cacheGiB,
            "GiB of compiled models that stay in the cache, the most recently "
            "used (default: 64)")
      ->group(kModels);
}
