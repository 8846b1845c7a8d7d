#pragma once
#include <string>

#include "base/result.h"

namespace porthole::apiserver {

/// Converts the JSON of a CustomResourceDefinition stored as v1beta1 to v1. Upstream's servers store every definition so, whichever version
/// it was created in: what all versions have in common is then next to the list of versions. Any other text is returned unchanged. Error:
/// BadRequest for invalid v1beta1.
Result<std::string> definition_of_v1beta1(std::string json);

}  // namespace porthole::apiserver
