#pragma once
#include <string_view>
#include <vector>

#include "api/core_v1.h"

namespace porthole::objects {

/// Whether the toleration covers the taint. An empty effect or key covers every one. As upstream's ToleratesTaint() without the comparison
/// operators Lt and Gt, which are behind a gate that is off.
bool tolerates(const api::core::v1::Toleration& toleration, const api::core::v1::Taint& taint);
/// The same where the effects are known to fit, for tolerations and taints in another form. `any_value`: the operator is Exists, not Equal.
inline bool covers(std::string_view key, bool any_value, std::string_view value, std::string_view taint_key, std::string_view taint_value) {
    return (key.empty() || key == taint_key) && (any_value || value == taint_value);
}
/// Whether any of them tolerates it.
bool tolerates(const std::vector<api::core::v1::Toleration>& tolerations, const api::core::v1::Taint& taint);

}  // namespace porthole::objects
