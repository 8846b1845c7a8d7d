#include "winhost/images/image_records.h"

#include "schema/json/json.h"

namespace porthole::winhost {
namespace {

using schema::Value;

constexpr int Version = 1;

Value to_value(const std::vector<std::string>& texts) {
    schema::Array items;
    for (const std::string& text : texts) items.emplace_back(text);
    return items;
}

std::vector<std::string> to_texts(const Value& value) {
    std::vector<std::string> texts;
    if (!value.is_array()) return texts;
    for (const Value& item : value.as_array()) texts.emplace_back(item.string_or(""));
    return texts;
}

Value to_value(const ImageRecord& record) {
    return Value::object({{"id", record.id},
                          {"config", record.config_text},
                          {"tags", to_value(record.tags)},
                          {"digests", to_value(record.digests)},
                          {"size", record.size},
                          {"baseSubstituted", record.base_substituted},
                          {"layers", to_value(record.layers)}});
}

ImageRecord to_record(const Value& value) {
    return {.id = std::string(schema::at(value, "id").string_or("")),
            .config_text = std::string(schema::at(value, "config").string_or("")),
            .tags = to_texts(schema::at(value, "tags")),
            .digests = to_texts(schema::at(value, "digests")),
            .size = static_cast<std::uint64_t>(schema::at(value, "size").int_or(0)),
            .base_substituted = schema::at(value, "baseSubstituted").bool_or(false),
            .layers = to_texts(schema::at(value, "layers"))};
}

}  // namespace

std::string ImageRecords::to_text() const {
    schema::Array items;
    for (const ImageRecord& image : images) items.push_back(to_value(image));
    return schema::to_json(Value::object({{"version", Version}, {"template", template_id}, {"images", std::move(items)}})) + "\n";
}

Result<ImageRecords> ImageRecords::parse(const std::string& text) {
    const auto root = schema::parse_json(text);
    if (!root || schema::at(*root, "version").int_or(0) != Version) return Error(Reason::Invalid, "not a list of images of this version");
    ImageRecords records{.template_id = std::string(schema::at(*root, "template").string_or(""))};
    if (const Value& images = schema::at(*root, "images"); images.is_array()) {
        for (const Value& image : images.as_array()) records.images.push_back(to_record(image));
    }
    return records;
}

}  // namespace porthole::winhost
