#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::schema {

/// Limits for reading YAML text.
struct YamlLimits {
    std::size_t depth = 512;
    std::size_t nodes = 1'000'000;         ///< with aliases expanded, over all documents
    std::size_t copied_bytes = 32u << 20;  ///< of memory, for anchors and all that aliases repeat
};

/// Reads YAML as Kubernetes' tools do (go-yaml 2): the bools of YAML 1.1 (`yes`, `off`), quoted scalars stay strings, times too, octal
/// with a leading 0, anchors and merge keys; keys become strings. Empty documents are left out.
/// Errors: BadRequest (`error converting YAML to JSON: yaml: line 3: did not find expected key`).
Result<std::vector<Value>> parse_yaml_documents(std::string_view text, YamlLimits limits = {});
/// A key that its mapping has already.
struct DuplicateKey {
    std::string path;  ///< "spec.containers[0].name"
    std::string key;
    std::size_t line = 0;  ///< from 1
};
/// The first document; null if there is none. Duplicate keys are added to `duplicates` if given; the last value counts.
Result<Value> parse_yaml(std::string_view text, std::vector<DuplicateKey>* duplicates = nullptr, YamlLimits limits = {});

/// Block style, members in their order, strings quoted only where they would read as something else.
std::string to_yaml(const Value& value);

}  // namespace porthole::schema
