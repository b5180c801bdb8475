//===- CallReaders.h - The readers of all formats ---------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_CALLREADERS_H
#define MTP_RUNTIME_CHAT_TOOLS_CALLREADERS_H

#include "runtime/chat/tools/CallReader.h"
#include "runtime/chat/tools/ToolFormat.h"

namespace mtp {

/// Returns the reader of a format; null for None.
std::unique_ptr<CallReader> makeCallReader(ToolFormat format);

// Each function returns the reader of some formats.
std::unique_ptr<CallReader> makeHermesReader();
std::unique_ptr<CallReader> makeLlama3Reader();
std::unique_ptr<CallReader> makeGraniteReader();
std::unique_ptr<CallReader> makeJsonReader();
std::unique_ptr<CallReader> makePythonicReader();
std::unique_ptr<CallReader> makeMistralReader();
std::unique_ptr<CallReader> makeDeepSeekReader(ToolFormat format);
std::unique_ptr<CallReader> makeKimiReader();
std::unique_ptr<CallReader> makeHarmonyReader();
std::unique_ptr<CallReader> makeGemmaReader();
/// Qwen3Coder, SeedOss, MiniMaxM2, DeepSeekV32 and Glm.
std::unique_ptr<CallReader> makeTagReader(ToolFormat format);

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_CALLREADERS_H
