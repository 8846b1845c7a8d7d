#pragma once
#include <optional>
#include <vector>

#include "apiserver/kinds/core/pod_spec.h"

/// Rules of the volumes whose files come out of the API.
namespace porthole::apiserver {

void check_mode(const std::optional<std::int32_t>& mode, const FieldPath& path, FieldErrors& errors);
void validate_items(const std::vector<api::core::v1::KeyToPath>& items, const FieldPath& path, FieldErrors& errors);
void validate_downward_items(const std::vector<api::core::v1::DownwardAPIVolumeFile>& items, const FieldPath& path, FieldErrors& errors);
/// `path` is the volume's "projected".
void validate_projection_sources(const api::core::v1::ProjectedVolumeSource& source, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
