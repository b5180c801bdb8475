//===- SampleKinds.cpp - Configurations of sampling -----------------------===//

#include "compiler/Codegen/KernelCatalogue.h"

using namespace mtp::codegen;

static constexpr ConfigKey sampleKeys[] = {{"vocab", ConfigKey::Int, true},
                                           {"parts", ConfigKey::Int, false},
                                           {"mapped", ConfigKey::Bool, false},
                                           {"slots", ConfigKey::Int, false}};

static constexpr ConfigKey stretchKeys[] = {{"vocab", ConfigKey::Int, true},
                                            {"parts", ConfigKey::Int, true},
                                            {"mapped", ConfigKey::Bool, false},
                                            {"slots", ConfigKey::Int, false}};

static constexpr KernelKind kinds[] = {{"sample", sampleKeys},
                                       {"sample_scan", stretchKeys},
                                       {"sample_join", stretchKeys}};

llvm::ArrayRef<KernelKind> mtp::codegen::sampleKinds() { return kinds; }
