#pragma once

#include <string>
#include <vector>

#include "api/core_v1.h"
#include "apiserver/kinds/checks.h"

/// Rules that claims and slices of devices share.
namespace porthole::apiserver {

template <class T>
void check_count(const std::vector<T>& list, std::size_t most, const FieldPath& path, FieldErrors& errors) {
    if (list.size() > most) errors.too_many(path, list.size(), most);
}

/// A C identifier of at most 32 characters.
void check_identifier(const std::string& name, const FieldPath& path, FieldErrors& errors);
/// The name of an attribute with its domain: "gpu.example.com/model".
void check_full_name(const std::string& name, const FieldPath& path, FieldErrors& errors);
/// Domain names with "/" between them.
void check_pool_name(const std::string& name, const FieldPath& path, FieldErrors& errors);
/// `path` is that of the object with the fields bindingConditions and bindingFailureConditions.
void check_binding_conditions(const std::vector<std::string>& conditions, const std::vector<std::string>& failures, const FieldPath& path,
                              FieldErrors& errors);
/// A node selector, if set, must have exactly one term, so that those of several devices can be combined.
void check_one_term(const schema::Box<api::core::v1::NodeSelector>& selector, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
