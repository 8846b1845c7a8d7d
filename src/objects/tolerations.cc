#include "objects/tolerations.h"

#include <algorithm>

namespace porthole::objects {

using api::core::v1::Taint;
using api::core::v1::Toleration;

bool tolerates(const Toleration& toleration, const Taint& taint) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
    const bool any_value = toleration.operator_ == "Exists";
    if (!any_value && !toleration.operator_.empty() && toleration.operator_ != "Equal") return false;
    return covers(toleration.key, any_value, toleration.value, taint.key, taint.value);
}

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
    return std::ranges::any_of(tolerations, [&](const Toleration& toleration) { return tolerates(toleration, taint); });
}

}  // namespace porthole::objects
