// Whatever a store holds as managedFields: an update that passes it on as text leaves JSON, with the writer in it.
#include <cstddef>
#include <cstdint>

#include "api/core_v1.h"
#include "schema/json/json.h"
#include "schema/patch/managed_fields.h"
#include "schema/patch/track_update_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole;
    using namespace porthole::schema;
    const std::string_view record(reinterpret_cast<const char*>(data), size);
    const Value before = Value::object({{"spec", Value::object({{"hostname", "a"}})}});
    const Value after = Value::object({{"spec", Value::object({{"nodeName", "b"}})}});
    const FieldManager manager{"fuzz", "v1", "binding", Timestamp::from_seconds(1)};
    const auto updated = track_update_text(api::core::v1::Pod::kind(), before, after, record, manager);
    if (!updated || !parse_json(record)) return 0;
    const auto list = parse_json(*updated);
    CHECK(list.has_value());
    const auto fields = ManagedFields::decode(*list);
    CHECK(!fields || fields->entries().contains({"fuzz", "Update", "v1", "binding"}));
    return 0;
}
