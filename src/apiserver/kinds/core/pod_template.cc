#include "api/core_v1.h"
#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::PodTemplate;

void set_defaults(PodTemplate& object) { default_pod_spec(object.template_.spec); }

void validate(const PodTemplate& object, FieldErrors& errors) { validate_pod_template(object.template_, "template", errors); }

void warn(const PodTemplate& object, const PodTemplate* old, std::vector<std::string>& warnings) {
    if (old && object.metadata.generation == old->metadata.generation) return;
    warn_of_pod(object.template_.metadata, object.template_.spec, "template", warnings);
}

}  // namespace

Strategy pod_template_strategy() {
    Strategy strategy = strategy_for<PodTemplate>({.set_defaults = set_defaults, .validate = validate, .warn = warn});
    strategy.generation = Generation::OnChangeOutsideMetadata;
    return strategy;
}

}  // namespace porthole::apiserver
