//===- MTPOps.td - All operations of the dialect -----------*- tablegen -*-===//
//
// An aggregator: operations are defined in the files of their families.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_OPS_TD
#define MTP_OPS_TD

include "dialects/MTP/IR/MTPModelOps.td"
include "dialects/MTP/IR/MTPAttentionOps.td"
include "dialects/MTP/IR/MTPExpertOps.td"
include "dialects/MTP/IR/MTPFusedOps.td"
include "dialects/MTP/IR/MTPGateOps.td"
include "dialects/MTP/IR/MTPRecurrenceOps.td"
include "dialects/MTP/IR/MTPCoreOps.td"
include "dialects/MTP/IR/MTPDraftOps.td"
include "dialects/MTP/IR/MTPVerifyOps.td"
include "dialects/MTP/IR/MTPCacheOps.td"
include "dialects/MTP/IR/MTPControlOps.td"
include "dialects/MTP/IR/MTPVocabularyOps.td"

#endif // MTP_OPS_TD
