//===- CallReaders.cpp - The readers of all formats -----------------------===//

#include "runtime/chat/tools/CallReaders.h"

using namespace mtp;

std::unique_ptr<CallReader> mtp::makeCallReader(ToolFormat format) {
  switch (format) {
  case ToolFormat::None:
    return nullptr;
  case ToolFormat::Hermes:
    return makeHermesReader();
  case ToolFormat::Llama3:
    return makeLlama3Reader();
  case ToolFormat::Pythonic:
    return makePythonicReader();
  case ToolFormat::Mistral:
    return makeMistralReader();
  case ToolFormat::DeepSeekV3:
  case ToolFormat::DeepSeekV31:
    return makeDeepSeekReader(format);
  case ToolFormat::KimiK2:
    return makeKimiReader();
  case ToolFormat::Harmony:
    return makeHarmonyReader();
  case ToolFormat::Gemma4:
    return makeGemmaReader();
  case ToolFormat::Granite:
    return makeGraniteReader();
  case ToolFormat::Json:
    return makeJsonReader();
  case ToolFormat::Qwen3Coder:
  case ToolFormat::SeedOss:
  case ToolFormat::MiniMaxM2:
  case ToolFormat::DeepSeekV32:
  case ToolFormat::Glm:
    return makeTagReader(format);
  }
  return nullptr;
}
