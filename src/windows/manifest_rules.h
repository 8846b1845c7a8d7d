#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/value.h"
#include "windows/rule.h"

namespace porthole::windows {

/// A rule about an object's text: for manifests that were published for older versions of Kubernetes and Windows, and for what Kubernetes'
/// validation refuses. Only the linter uses them, since the API server never stores such objects.
struct ManifestRule {
    Rule rule;
    /// The fields of `object` that it concerns, as paths. `pod` is the path of its pod spec; "" if it has none.
    std::vector<std::string> (*find)(const schema::Value& object, std::string_view pod);
    std::string (*why)(const schema::Value& field) = nullptr;  ///< follows the rule's words; null if they say everything
};
std::span<const ManifestRule> manifest_rules();
/// The rule for a field of the wrong type.
const Rule& unreadable_rule();

/// The current version in which an object of a removed version is valid without other changes; "" if there is none, or the version is not
/// removed.
std::string_view current_version(std::string_view api_version, std::string_view kind);

/// The current location of an image of a closed repository, with its tag; "" for other images, or without a tag, since current repositories
/// have no "latest".
std::string moved_image(std::string_view image);

/// The value at a path such as `spec.containers[0].image` or `metadata.labels[app]`; nullptr if it does not exist.
const schema::Value* value_at(const schema::Value& root, std::string_view path);
const schema::Value* value_at(const schema::Value& root, std::span<const std::string> steps);
/// The steps of a path: names, keys and decimal indices.
std::vector<std::string> steps_of(std::string_view path);

}  // namespace porthole::windows
