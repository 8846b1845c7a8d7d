#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/value.h"
#include "schema/yaml/yaml_outline.h"

namespace porthole::windows::lint {

/// One change of a document, which is made both to its tree and to its text: reading the changed text has to yield the changed tree.
struct Edit {
    enum class Kind {
        Remove,   ///< the member
        Rename,   ///< the member's key to `text`
        Replace,  ///< the member's string by `text`
        Insert,   ///< into the mapping, `text` with `value`, before its member `before`
    };
    Kind kind = Kind::Remove;
    std::vector<std::string> steps;  ///< of the member, or of the mapping
    std::string text;
    schema::Value value;
    std::string before;
};

/// The edits that fix the finding of the rule `code` for the field; empty if a person has to decide.
std::vector<Edit> edits_for(std::string_view code, const std::string& path, const schema::Value& document);

/// False when the edit's place is not there.
bool apply(const Edit& edit, schema::Value& document);

/// Bytes [begin, end) of a text, and what replaces them.
struct TextChange {
    std::size_t begin = 0, end = 0;
    std::string text;
};
/// The same for the text, in the order of the places; empty where the text cannot be changed with certainty: behind anchors and aliases,
/// or where a comment would be lost in the middle of a line.
std::vector<TextChange> changes_for(const Edit& edit, const schema::YamlNode& document, std::string_view text);

}  // namespace porthole::windows::lint
