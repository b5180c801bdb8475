//===- MTPOps.td - All operations of the dialect -----------*- tablegen -*-===//
//
// An aggregator: operations are defined in the files of their families.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_OPS_TD
#define MTP_OPS_TD

include "dialects/MTP/IR/ops/MTPModelOps.td"
include "dialects/MTP/IR/ops/MTPAttentionOps.td"
include "dialects/MTP/IR/ops/MTPExpertOps.td"
include "dialects/MTP/IR/ops/MTPFusedOps.td"
include "dialects/MTP/IR/ops/MTPGateOps.td"
include "dialects/MTP/IR/ops/MTPRecurrenceOps.td"
include "dialects/MTP/IR/ops/MTPCoreOps.td"
include "dialects/MTP/IR/ops/MTPDraftOps.td"
include "dialects/MTP/IR/ops/MTPVerifyOps.td"
include "dialects/MTP/IR/ops/MTPCacheOps.td"
include "dialects/MTP/IR/ops/MTPControlOps.td"
include "dialects/MTP/IR/ops/MTPVocabularyOps.td"

#endif // MTP_OPS_TD
