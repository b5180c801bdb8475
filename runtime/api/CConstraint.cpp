//===- CConstraint.cpp - Constraints from C -------------------------------===//

#include "runtime/api/CSupport.h"
#include "runtime/core/StrCat.h"

using namespace mtp;
using namespace mtp::capi;

static_assert(MTP_CONSTRAINT_JSON_OBJECT ==
                  int(ConstraintSource::Kind::JsonObject) &&
              MTP_CONSTRAINT_CHOICE == int(ConstraintSource::Kind::Choice));

static Result<ConstraintSource>
readSource(int32_t kind, const char *const *texts, size_t count) {
  if (kind < MTP_CONSTRAINT_JSON_OBJECT || kind > MTP_CONSTRAINT_CHOICE)
    return invalidArgument(strCat("expected a kind of 0 to ",
                                  int(MTP_CONSTRAINT_CHOICE), ", got ", kind));
  MTP_RETURN_IF_ERROR(needArray(texts, count, "texts"));
  bool isChoice = kind == MTP_CONSTRAINT_CHOICE;
  size_t expected = kind == MTP_CONSTRAINT_JSON_OBJECT ? 0 : 1;
  if (isChoice ? count == 0 : count != expected)
    return invalidArgument(strCat("expected ", isChoice ? "at least " : "",
                                  expected, " texts of kind ", kind, ", got ",
                                  count));
  ConstraintSource source;
  source.kind = ConstraintSource::Kind(kind);
  for (size_t i = 0; i < count; ++i) {
    MTP_RETURN_IF_ERROR(need(texts[i], "a text"));
    if (isChoice)
      source.choices.emplace_back(texts[i]);
    else
      source.text = texts[i];
  }
  return source;
}

extern "C" {

mtp_status mtp_constraint_create(const mtp_model *model, int32_t kind,
                                 const char *const *texts, size_t text_count,
                                 mtp_constraint **constraint) {
  MTP_C_RETURN_IF_ERROR(need(model, "a model"));
  MTP_C_RETURN_IF_ERROR(need(constraint, "room for a constraint"));
  auto source = readSource(kind, texts, text_count);
  if (!source)
    return report(source.status());
  auto compiled = compileConstraint(*model->model, *source);
  if (!compiled)
    return report(compiled.status());
  *constraint = new mtp_constraint{std::move(*compiled)};
  return MTP_OK;
}

void mtp_constraint_free(mtp_constraint *constraint) { delete constraint; }

} // extern "C"
