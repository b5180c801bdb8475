//===- Tokenizer.h - Text to token ids and back -----------------*- C++ -*-===//
//
// The public header contains the declarations.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_TOKENIZER_TOKENIZER_H
#define MTP_RUNTIME_TOKENIZER_TOKENIZER_H

#include "mtp/tokenizer.h" // IWYU pragma: export

#endif // MTP_RUNTIME_TOKENIZER_TOKENIZER_H
