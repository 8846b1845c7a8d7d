#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole {

/// The result of reading a component's --feature-gates.
struct FeatureGates {
    std::map<std::string, bool> set;    ///< gates that the component acts on
    std::vector<std::string> warnings;  ///< one per other gate: always on, removed, or not of this component

    /// The value of a gate; `usual` if it was not set.
    bool on(const std::string& name, bool usual) const;
};

/// `given` has the names and values as the user typed them; `used` names the gates that the component acts on, all of them from
/// feature_gates.def. Error: BadRequest with Kubernetes' message for an unknown name or a value that is neither true nor false.
Result<FeatureGates> read_feature_gates(const std::map<std::string, std::string>& given, std::initializer_list<std::string_view> used);

}  // namespace porthole
