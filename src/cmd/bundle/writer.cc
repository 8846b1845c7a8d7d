#include "cmd/bundle/writer.h"

#include "schema/json/json.h"

namespace porthole::cmd::bundle {
namespace {

/// An object may be as deep as the limit, and is then deeper in a list.
constexpr schema::JsonLimits Lists{.depth = 2 * schema::MaxTreeDepth};

Result<std::string> redacted_json(const std::string& text) {
    TRY(schema::Value value, schema::parse_json(text, Lists));
    redact(value);
    return schema::to_json(value) + "\n";
}

}  // namespace

Result<void> Writer::add_object(const std::string& name, const std::string& text) {
    const auto object = redacted_json(text);
    if (object) return archive_.add(name, *object);
    note(name, object.error().message);
    return {};
}

Result<void> Writer::add_answer(const std::string& name, const std::string& text) {
    const auto object = redacted_json(text);
    return object ? archive_.add(name, *object) : add_text(name, text);
}

}  // namespace porthole::cmd::bundle
