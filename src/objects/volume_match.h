#pragma once
#include <memory>
#include <string>
#include <vector>

#include "api/core_v1.h"

/// Which volume a claim may have: the binder decides by it, and the scheduler foresees what the binder will do.
namespace porthole::objects {

/// The claim's class; "" for none, which only volumes without a class fit.
const std::string& class_of(const api::core::v1::PersistentVolumeClaim& claim);
/// Whether the volume is meant for this very claim and no other: by uid, or by name where its maker did not know the uid.
bool is_reserved_for(const api::core::v1::PersistentVolume& volume, const api::core::v1::PersistentVolumeClaim& claim);
/// Why the volume cannot be the one that the claim asks for by name, in upstream's words; "" where it can.
std::string mismatch(const api::core::v1::PersistentVolume& volume, const api::core::v1::PersistentVolumeClaim& claim);
/// Block devices and file systems do not stand for each other.
bool has_same_mode(const api::core::v1::PersistentVolume& volume, const api::core::v1::PersistentVolumeClaim& claim);
/// Whether the volume suits the claim, bound to another or not: class, modes, labels, size, and the node that was chosen (null: none was).
bool fits(const api::core::v1::PersistentVolume& volume, const api::core::v1::PersistentVolumeClaim& claim,
          const api::core::v1::Node* node);

/// The volume for a claim that has none: one reserved for it, else the smallest free one that fits. Null: there is none.
std::shared_ptr<const api::core::v1::PersistentVolume> choose_volume(
    const std::vector<std::shared_ptr<const api::core::v1::PersistentVolume>>& volumes, const api::core::v1::PersistentVolumeClaim& claim,
    const api::core::v1::Node* node);

}  // namespace porthole::objects
