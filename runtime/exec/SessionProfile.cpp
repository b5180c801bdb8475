//===- SessionProfile.cpp - A session's own measurements ------------------===//

#include "runtime/exec/SessionProfile.h"
#include "runtime/exec/SessionImpl.h"
#include "runtime/profile/ProfileKeys.h"

using namespace mtp;

const std::vector<std::string> &SessionProfile::notes(const Session &session) {
  return session.impl->profileNotes;
}

profile::Profile SessionProfile::recorded(const Session &session) {
  Session::Impl &impl = *session.impl;
  FifoLock::Hold hold = impl.gate.enter();
  profile::Profile profile;
  if (impl.parts && impl.parts->recorder)
    profile = impl.parts->recorder->profile();
  profile.model = modelKey(*impl.model);
  for (profile::MachineCosts &machine : profile.machines)
    machine.setKey(impl.machine);
  return profile;
}

profile::ModelKey SessionProfile::modelKey(const Model &model) {
  const Model::Impl &impl = ModelAccess::impl(model);
  return profile::modelKeyOf(impl.artifact(), impl.plan());
}

const profile::Profile *SessionProfile::loaded(const Model &model) {
  const Model::Impl &impl = ModelAccess::impl(model);
  return impl.profile ? &*impl.profile : nullptr;
}
