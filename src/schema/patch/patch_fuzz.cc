// Any patch to any object ends in a result or an error; and applying a configuration twice is applying it once.
#include <cstddef>
#include <cstdint>

#include "api/core_v1.h"
#include "schema/json/json.h"
#include "schema/patch/apply.h"
#include "schema/patch/patch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole;
    using namespace porthole::schema;
    // Two JSON texts, with a zero byte between them.
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t split = input.find('\0');
    if (split == input.npos) return 0;
    const auto current = parse_json(input.substr(0, split)), patch = parse_json(input.substr(split + 1));
    if (!current || !patch || !current->is_object()) return 0;
    const Kind& kind = api::core::v1::Pod::kind();
    for (const PatchType type : {PatchType::Json, PatchType::Merge, PatchType::Strategic}) {
        (void)apply_patch(type, kind, *current, *patch).has_value();
    }
    if (!patch->is_object()) return 0;
    const FieldManager manager{"fuzz", "v1", "", Timestamp::from_seconds(1)};
    const auto once = server_side_apply(kind, *current, *patch, manager, true);
    if (!once) return 0;
    const auto twice = server_side_apply(kind, *once, *patch, manager, false);
    CHECK(twice.has_value() && *twice == *once);
    return 0;
}
