//===- KernelCache.h - Compiled kernels on disk -----------------*- C++ -*-===//
//
// A folder of compiled kernels that compilations share. The key of an entry is
// the digest of everything that decides the bytes of the entry (see
// compiler/Codegen/Units). The cache itself is runtime/cache/EntryCache.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_KERNELCACHE_KERNELCACHE_H
#define MTP_COMPILER_KERNELCACHE_KERNELCACHE_H

#include "runtime/cache/EntryCache.h"

namespace mtp::compiler {

using KernelKey = cache::EntryKey;
using KernelCache = cache::EntryCache;

} // namespace mtp::compiler

#endif // MTP_COMPILER_KERNELCACHE_KERNELCACHE_H
