// Answers of conversion webhooks. What is accepted is as many objects as were asked about, with their names and metadata.
#include <cstdint>
#include <cstdlib>

#include "apiserver/custom_resources/conversion_review.h"
#include "schema/json/json.h"

using namespace porthole;
using namespace porthole::apiserver;

namespace {

bool is_faithful(const schema::Value& before, schema::Value after) {
    if (after.string_at({"apiVersion"}) != "example.com/v2" || after.string_at({"kind"}) != "Route") return false;
    const schema::Value& metadata = *before.find("metadata");
    for (const char* field : {"labels", "annotations"}) {
        if (const schema::Value* texts = after.at_path({"metadata", field}))
            for (const schema::Member& member : texts->as_object())
                if (!member.value.is_string()) return false;
        after["metadata"].erase(field);
        if (const schema::Value* kept = metadata.find(field)) after["metadata"][field] = *kept;
    }
    return *after.find("metadata") == metadata;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    static const auto object = schema::parse_json(
        R"({"apiVersion":"example.com/v1","kind":"Route","metadata":{"name":"a","namespace":"n","uid":"1","labels":{"x":"y"},"finalizers":["f"]}})");
    for (const char* version : {"v1", "v1beta1"}) {
        const ConversionReview review{.version = version, .uid = "7", .api_version = "example.com/v2", .objects = {*object}};
        const auto converted = parse_conversion_answer(text, review);
        if (!converted && (converted.error().message.empty() || converted.error().type.empty())) std::abort();
        if (converted && (converted->size() != 1 || !is_faithful(*object, converted->front()))) std::abort();
    }
    return 0;
}
