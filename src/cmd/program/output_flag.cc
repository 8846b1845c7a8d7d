#include "cmd/program/output_flag.h"

#include "base/result.h"
#include "schema/json/json.h"
#include "schema/yaml/yaml.h"

namespace porthole::cmd {

std::string to_document(const schema::Value& value, const std::string& format) {
    if (format == "yaml") return schema::to_yaml(value);
    CHECK(format == "json");
    return schema::to_pretty_json(value) + "\n";
}

}  // namespace porthole::cmd
