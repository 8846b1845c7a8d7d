#include "schema/yaml/yaml_event.h"

#include <fmt/format.h>

namespace porthole::schema {

Error yaml_error_of(const yaml_parser_t& parser) {
    const bool scanning = parser.error == YAML_SCANNER_ERROR;
    std::size_t line = parser.context_mark.line ? parser.context_mark.line : parser.problem_mark.line;
    if (line && scanning) ++line;
    const char* problem = parser.problem ? parser.problem : "unknown problem";
    return yaml_error(line ? fmt::format("line {}: {}", line, problem) : std::string(problem));
}

std::string yaml_key_text(const Value& key) {
    if (key.is_string()) return key.as_string();
    if (key.is_bool()) return key.as_bool() ? "true" : "false";
    if (key.is_int()) return std::to_string(key.as_int());
    return key.is_double() ? fmt::format("{}", key.as_double()) : "null";
}

}  // namespace porthole::schema
