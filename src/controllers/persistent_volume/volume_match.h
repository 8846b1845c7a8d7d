#pragma once
#include <memory>
#include <string>
#include <vector>

#include "api/core_v1.h"

namespace porthole::controllers {

using api::core::v1::Node;
using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;

/// The claim's class; "" for none, which only volumes without a class fit.
const std::string& class_of(const PersistentVolumeClaim& claim);
/// Whether the volume is meant for this very claim and no other: by uid, or by name where its maker did not know the uid.
bool is_reserved_for(const PersistentVolume& volume, const PersistentVolumeClaim& claim);
/// Whether the claim could live in the volume, whoever has it: class, modes, labels, size, and the node that was chosen (null: none was).
bool fits(const PersistentVolume& volume, const PersistentVolumeClaim& claim, const Node* node);

/// The volume for a claim that has none: one reserved for it, else the smallest free one that fits. Null: there is none.
std::shared_ptr<const PersistentVolume> choose_volume(const std::vector<std::shared_ptr<const PersistentVolume>>& volumes,
                                                      const PersistentVolumeClaim& claim, const Node* node);

}  // namespace porthole::controllers
