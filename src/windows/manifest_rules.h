#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/value.h"
#include "windows/rule.h"

namespace porthole::windows {

/// A rule about an object's text rather than what it means: manifests that were published for older versions of Kubernetes and Windows.
/// Only the linter uses them, since the API never sees such objects.
struct ManifestRule {
    Rule rule;
    /// The fields of `object` that it concerns, as paths. `pod` is the path of its pod's spec; "" when it has none.
    std::vector<std::string> (*find)(const schema::Value& object, std::string_view pod);
};
std::span<const ManifestRule> manifest_rules();
/// The rule for a field of the wrong type.
const Rule& unreadable_rule();

/// The version that an object of a removed one can be read as without other changes; "" when there is none, or it is not removed.
std::string_view current_version(std::string_view api_version, std::string_view kind);

/// Where an image of a closed repository is today, with its tag; "" when the image is not one, or without a tag, since today's have no
/// "latest".
std::string moved_image(std::string_view image);

/// The value at a path such as `spec.containers[0].image` or `metadata.labels[app]`; nullptr when it is not there.
const schema::Value* value_at(const schema::Value& root, std::string_view path);
/// The steps of a path: names, keys and decimal indices.
std::vector<std::string> steps_of(std::string_view path);

}  // namespace porthole::windows
