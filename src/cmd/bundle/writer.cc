#include "cmd/bundle/writer.h"

#include "schema/json/json.h"

namespace porthole::cmd::bundle {

Result<void> Writer::add_object(const std::string& name, const std::string& text) {
    auto object = schema::parse_json(text);
    if (!object) return add_text(name, text);
    redact(*object);
    return archive_.add(name, schema::to_json(*object) + "\n");
}

}  // namespace porthole::cmd::bundle
