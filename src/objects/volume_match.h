#pragma once
#include <memory>
#include <string>
#include <vector>

#include "api/core_v1.h"

/// Which volumes a claim may be bound to. Used by the binder, and by the scheduler to predict the binder's choice.
namespace porthole::objects {

/// The claim's class; "" for none, which only volumes without a class fit. An old annotation counts before the field.
const std::string& class_of(const api::core::v1::PersistentVolumeClaim& claim);
const std::string& class_of(const api::core::v1::PersistentVolume& volume);
/// Whether the claim says which class it wants, be it none; if not, it may get the default one.
bool names_class(const api::core::v1::PersistentVolumeClaim& claim);
/// Whether the volume is reserved for exactly this claim: by uid, or by name if its creator did not know the uid.
bool is_reserved_for(const api::core::v1::PersistentVolume& volume, const api::core::v1::PersistentVolumeClaim& claim);
/// Upstream's message why the claim cannot have the volume that it names; "" if it can.
std::string mismatch(const api::core::v1::PersistentVolume& volume, const api::core::v1::PersistentVolumeClaim& claim);
/// Whether volume and claim have the same volumeMode, Block or Filesystem.
bool has_same_mode(const api::core::v1::PersistentVolume& volume, const api::core::v1::PersistentVolumeClaim& claim);
/// Whether the volume suits the claim, bound to another or not: class, modes, labels, size, and the node that was chosen (null: none was).
bool fits(const api::core::v1::PersistentVolume& volume, const api::core::v1::PersistentVolumeClaim& claim,
          const api::core::v1::Node* node);

/// The volume for a claim that has none: one reserved for it, else of the free ones that fit the one of the fewest access modes (if no node
/// is chosen), and of these the smallest. Null: there is none.
std::shared_ptr<const api::core::v1::PersistentVolume> choose_volume(
    const std::vector<std::shared_ptr<const api::core::v1::PersistentVolume>>& volumes, const api::core::v1::PersistentVolumeClaim& claim,
    const api::core::v1::Node* node);

}  // namespace porthole::objects
