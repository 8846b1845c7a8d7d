#pragma once
#include "api/core_v1.h"
#include "apiserver/kinds/checks.h"

namespace porthole::apiserver {

/// The rules of a PersistentVolume's spec.
void validate_volume_spec(const api::core::v1::PersistentVolumeSpec& spec, const FieldPath& path, FieldErrors& errors);
/// The rules of a volume spec inside a VolumeAttachment, without a PersistentVolume.
void validate_inline_volume_spec(const api::core::v1::PersistentVolumeSpec& spec, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
