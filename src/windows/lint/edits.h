#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/value.h"
#include "schema/yaml/yaml_outline.h"

namespace porthole::windows::lint {

/// One change of a document, applied to its tree and to its text: parsing the changed text must result in the changed tree.
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

/// False if the edit's place does not exist.
bool apply(const Edit& edit, schema::Value& document);

/// Bytes [begin, end) of a text, and their replacement.
struct TextChange {
    std::size_t begin = 0, end = 0;
    std::string text;
};
/// The same for the text, in order of position; empty if the text cannot be changed with certainty: after anchors and aliases, or if a
/// comment in the middle of a line would be lost.
std::vector<TextChange> changes_for(const Edit& edit, const schema::YamlNode& document, std::string_view text);

}  // namespace porthole::windows::lint
