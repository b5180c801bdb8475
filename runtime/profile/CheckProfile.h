//===- CheckProfile.h - Checks of a profile ---------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_PROFILE_CHECKPROFILE_H
#define MTP_RUNTIME_PROFILE_CHECKPROFILE_H

#include "runtime/core/Status.h"
#include "runtime/profile/Profile.h"

namespace mtp::schema {
struct Profile;
} // namespace mtp::schema

namespace mtp::profile {

/// Checks the lengths of all lists and texts of a verified FlatBuffer, before
/// anything is copied from it.
Status checkCounts(const schema::Profile &root);

/// Checks that nodes, tokens and numbers of rounds are in order, so that none
/// of them is there twice.
Status checkOrder(const schema::Profile &root);

/// Checks every number of a profile, and that no two entries contradict each
/// other.
Status checkProfile(const Profile &profile);

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_CHECKPROFILE_H
