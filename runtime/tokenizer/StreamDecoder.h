//===- StreamDecoder.h - Text from ids that arrive one by one ---*- C++ -*-===//
//
// The public header contains the declarations.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_TOKENIZER_STREAMDECODER_H
#define MTP_RUNTIME_TOKENIZER_STREAMDECODER_H

#include "mtp/stream_decoder.h" // IWYU pragma: export

#endif // MTP_RUNTIME_TOKENIZER_STREAMDECODER_H
