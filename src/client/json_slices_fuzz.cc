// Cutting JSON without reading it: nothing crashes, and of real JSON the parts are those that a parser finds.
#include <cstdint>
#include <cstdlib>

#include "client/json_slices.h"
#include "schema/json/json.h"

using namespace porthole;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto members = client::json_members(text);
    const auto elements = client::json_elements(text);
    static_cast<void>(client::json_member(text, "items"));
    static_cast<void>(client::json_plain_string(text));
    std::vector<std::string> duplicates;
    const auto value = schema::parse_json(text, duplicates);
    if (!value) return 0;
    if (value->is_array()) {
        if (!elements || elements->size() != value->as_array().size()) std::abort();
        for (std::size_t i = 0; i < elements->size(); ++i) {
            const auto element = schema::parse_json((*elements)[i]);
            if (!element || !(*element == value->as_array()[i])) std::abort();
        }
    }
    std::string room;
    if (value->is_object() && duplicates.empty()) {
        const auto rest = schema::parse_json(client::without_managed_fields(text, room));
        schema::Value expected = *value;
        if (schema::Value* metadata = expected.find("metadata"); metadata && !room.empty()) metadata->erase("managedFields");
        if (!rest || !(*rest == expected)) std::abort();
    }
    if (value->is_object() && duplicates.empty() && (!members || members->size() != value->as_object().size())) std::abort();
    return 0;
}
