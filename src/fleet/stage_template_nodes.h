#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::fleet {

/// A command of a pipeline: a function with arguments, or an operand alone.
struct TemplateCommand {
    enum class Kind { Field, Variable, Constant, Call, Group };
    Kind kind = Kind::Constant;
    std::string name;               ///< of the variable or function
    std::vector<std::string> path;  ///< below the variable, the dot or the group
    schema::Value constant;
    std::vector<TemplateCommand> arguments;  ///< of the call; the commands of a group, which is a pipeline
};
using TemplatePipeline = std::vector<TemplateCommand>;

/// A piece of a template.
struct TemplateNode {
    enum class Kind { Text, Output, Assign, If, With, Range };
    Kind kind = Kind::Text;
    std::string text;                    ///< of Text
    std::vector<std::string> variables;  ///< set by Assign; those of a Range: the element's, or the index's and the element's
    TemplatePipeline pipeline;
    std::vector<TemplateNode> body, otherwise;
};
using TemplateNodes = std::vector<TemplateNode>;

/// Error: BadRequest.
Result<TemplateNodes> parse_template(std::string_view text);

}  // namespace porthole::fleet
