#pragma once
#include <string>

#include "base/result.h"

namespace porthole::apiserver {

/// The v1 of a CustomResourceDefinition that is stored in v1beta1, as JSON. Upstream's servers store every definition so, whichever
/// version it was created in: what all versions have in common then stands next to the versions. Any other text is yielded as it is.
/// Error: BadRequest for v1beta1 that is none.
Result<std::string> definition_of_v1beta1(std::string json);

}  // namespace porthole::apiserver
