#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/yaml/yaml.h"

namespace porthole::schema {

/// A piece of a text: bytes [begin, end), and where it begins for people.
struct YamlSpan {
    std::size_t begin = 0, end = 0;
    std::size_t line = 0, column = 0;  ///< from 1; a column is a character
};

/// Where a value of a document is in its text.
struct YamlNode {
    enum class Kind { Scalar, Sequence, Mapping, Alias };

    Kind kind = Kind::Scalar;
    bool flow = false;      ///< `{…}` or `[…]`
    bool anchored = false;  ///< an alias may refer to this value
    YamlSpan span;          ///< a block ends with its last value
    std::string name;       ///< of a member of a mapping; a merge key is "<<"
    YamlSpan key;           ///< the same
    std::vector<YamlNode> children;

    /// The member or item; of a duplicate key the last one, as in the tree. nullptr if there is none: an alias has no children.
    const YamlNode* find(std::string_view step) const;
};

/// The documents of parse_yaml_documents(), in its order. Reads UTF-8 only. Errors: BadRequest, as of parse_yaml_documents().
Result<std::vector<YamlNode>> outline_yaml(std::string_view text, YamlLimits limits = {});

}  // namespace porthole::schema
