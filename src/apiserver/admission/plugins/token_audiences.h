#pragma once
#include <string>

#include "api/core_v1.h"
#include "apiserver/storage/object_reader.h"

namespace porthole::apiserver {

/// Whether the pod needs a service account token for the audience ("" is the API server's own): for a projected volume, or for the CSI
/// driver of one of its volumes, including in-tree ones. Objects that do not exist yet are not considered. Error: of the store.
Result<bool> needs_token_for(const ObjectReader& reader, const api::core::v1::Pod& pod, const std::string& audience);

}  // namespace porthole::apiserver
