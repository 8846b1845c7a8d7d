#pragma once
#include "api/meta_v1.h"
#include "apiserver/strategy/strategy.h"

namespace porthole::apiserver {

/// The rules for every object's metadata.
void validate_metadata(const ObjectMeta& metadata, const schema::Kind& kind, const Strategy& strategy, FieldErrors& errors);
void validate_metadata_update(const ObjectMeta& metadata, const ObjectMeta& old, const schema::Kind& kind, FieldErrors& errors);

// Parts of these rules, for the metadata of templates.
void validate_labels(const std::map<std::string, std::string>& labels, const FieldPath& path, FieldErrors& errors);
void validate_annotations(const std::map<std::string, std::string>& annotations, const FieldPath& path, FieldErrors& errors);
void validate_label_selector(const api::meta::v1::LabelSelector& selector, const FieldPath& path, FieldErrors& errors);

/// Invalid "field is immutable" where the two differ.
void check_immutable(const schema::Value& now, const schema::Value& before, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
