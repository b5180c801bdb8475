//===- MTP.td - The mtp dialect ----------------------------*- tablegen -*-===//
//
// The umbrella: everything of the dialect, for the generators and for other
// dialects that want all of it. Who needs the types alone includes MTPTypes.td.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TD
#define MTP_TD

include "dialects/MTP/IR/MTPDialect.td"
include "dialects/MTP/IR/MTPTypes.td"
include "dialects/MTP/IR/MTPEnums.td"
include "dialects/MTP/IR/MTPAttrs.td"
include "dialects/MTP/IR/MTPOps.td"

#endif // MTP_TD
