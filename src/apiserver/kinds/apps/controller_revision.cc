#include "api/apps_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

using api::apps::v1::ControllerRevision;

void validate(const ControllerRevision& object, FieldErrors& errors) {
    if (object.data.is_null())
        errors.required("data", "data is mandatory");
    else if (!object.data.is_object())
        errors.required("data", "data must be a valid JSON object");
    check_not_negative(object.revision, "revision", errors);
}

void validate_update(const ControllerRevision& object, const ControllerRevision& old, FieldErrors& errors) {
    check_not_negative(object.revision, "revision", errors);
    if (!(object.data == old.data)) errors.invalid("data", object.data, FieldIsImmutable);
}

}  // namespace

Strategy controller_revision_strategy() {
    return strategy_for<ControllerRevision>({.validate = validate, .validate_update = validate_update});
}

}  // namespace porthole::apiserver
