#pragma once
#include "api/core_v1.h"
#include "apiserver/kinds/checks.h"

namespace porthole::apiserver {

/// The rules of a PersistentVolume's spec.
void validate_volume_spec(const api::core::v1::PersistentVolumeSpec& spec, const FieldPath& path, FieldErrors& errors);
/// Those of the spec of a volume that a VolumeAttachment names although no PersistentVolume stands for it.
void validate_inline_volume_spec(const api::core::v1::PersistentVolumeSpec& spec, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
