#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole {

/// What a component's --feature-gates says.
struct FeatureGates {
    std::map<std::string, bool> set;    ///< of those that the component acts on
    std::vector<std::string> warnings;  ///< one for each other: what it stands for is always on, gone, or nothing of this component

    /// `usual` where it was not set.
    bool on(const std::string& name, bool usual) const;
};

/// `given` are the names and values as they were typed; `used` the gates that the component acts on, all of feature_gates.def. Error:
/// BadRequest in Kubernetes' words for a name that is not known and for a value that is neither true nor false.
Result<FeatureGates> read_feature_gates(const std::map<std::string, std::string>& given, std::initializer_list<std::string_view> used);

}  // namespace porthole
