#include "objects/tolerations.h"

#include <algorithm>

namespace porthole::objects {

using api::core::v1::Taint;
using api::core::v1::Toleration;

bool tolerates(const Toleration& toleration, const Taint& taint) {
    if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
    if (!toleration.key.empty() && toleration.key != taint.key) return false;
    if (toleration.operator_ == "Exists") return true;
    return (toleration.operator_.empty() || toleration.operator_ == "Equal") && toleration.value == taint.value;
}

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
    return std::ranges::any_of(tolerations, [&](const Toleration& toleration) { return tolerates(toleration, taint); });
}

}  // namespace porthole::objects
