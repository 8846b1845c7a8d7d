#include "apiserver/resources/response_encoder.h"

#include <algorithm>

#include "api/registry.h"
#include "apiserver/request/status.h"
#include "client/json_slices.h"
#include "schema/json/json.h"
#include "schema/print/table.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr std::size_t LargeObject = 16 << 10;  ///< below, a copy costs less than a write of its own

Value partial_metadata(const Value& object, const std::string& version) {
    return Value::object(
        {{"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/" + version}, {"metadata", schema::at(object, "metadata")}});
}

/// The same from stored bytes, without reading the rest of the object.
Result<void> append_partial_metadata(std::string_view stored, const std::string& version, std::string& out) {
    TRY(const std::string_view metadata, client::json_member(stored, "metadata"));
    out += "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/" + version + "\",\"metadata\":";
    out += metadata.empty() ? "{}" : metadata;
    out += '}';
    return {};
}

Value list_meta(const Page& page) {
    Value meta = Value::object({{"resourceVersion", store::to_string(page.revision)}});
    if (!page.continue_.empty()) meta["continue"] = page.continue_;
    if (page.remaining) meta["remainingItemCount"] = *page.remaining;
    return meta;
}

std::string length_prefix(std::size_t size) {
    return {static_cast<char>(size >> 24), static_cast<char>(size >> 16), static_cast<char>(size >> 8), static_cast<char>(size)};
}

}  // namespace

Result<IncludeObject> parse_include_object(std::string_view text) {
    if (text.empty() || text == "Metadata") return IncludeObject::Metadata;
    if (text == "Object") return IncludeObject::Object;
    if (text == "None") return IncludeObject::None;
    return bad_request("includeObject: Invalid value: \"" + std::string(text) + "\": must be 'Metadata', 'Object', 'None', or empty");
}

std::string ResponseEncoder::encoded(const Value& tree) const {
    OutputForm form = form_;
    return encode_tree(tree, form);
}

Value ResponseEncoder::row(const Value& object) const {
    Value row = Value::object({{"cells", schema::table_cells(*resource_.kind, object, now_)}});
    if (schema::Array conditions = schema::row_conditions(*resource_.kind, object); !conditions.empty())
        row["conditions"] = std::move(conditions);
    if (include_ == IncludeObject::Metadata) row["object"] = partial_metadata(object, form_.transform_version);
    if (include_ == IncludeObject::Object) row["object"] = object;
    return row;
}

Value ResponseEncoder::table(schema::Array rows, Value meta) const {
    Value table =
        Value::object({{"kind", "Table"}, {"apiVersion", "meta.k8s.io/" + form_.transform_version}, {"metadata", std::move(meta)}});
    table["columnDefinitions"] = columns_sent_ ? Value() : schema::column_definitions(*resource_.kind);
    table["rows"] = std::move(rows);
    return table;
}

Result<Value> ResponseEncoder::transformed(const std::string& stored) const {
    TRY(Value tree, schema::parse_json(stored));
    if (!resource_.sends_stored_bytes()) tree = std::move(to_served(resource_, ApiObject(*resource_.stored, std::move(tree))).edit_tree());
    switch (form_.transform) {
        case Transform::None:
            return tree;
        case Transform::PartialObjectMetadata:
        case Transform::PartialObjectMetadataList:
            return partial_metadata(tree, form_.transform_version);
        case Transform::Table: {
            Value meta = Value::object({{"resourceVersion", tree.string_at({"metadata", "resourceVersion"})}});
            schema::Array rows;
            rows.push_back(row(tree));
            return table(std::move(rows), std::move(meta));
        }
    }
    return tree;
}

void WatchFrames::add(const store::Bytes& object) {
    if (object->size() < LargeObject) {
        text += *object;
        return;
    }
    pieces_.push_back(bytes_of(std::exchange(text, {})));
    pieces_.push_back(object);
    size_ += pieces_.end()[-2]->size() + object->size();
}

std::vector<store::Bytes> WatchFrames::take() {
    if (!text.empty()) pieces_.push_back(bytes_of(std::exchange(text, {})));
    size_ = 0;
    return std::exchange(pieces_, {});
}

Result<store::Bytes> ResponseEncoder::object(const store::Bytes& stored) const {
    if (passes_through()) return stored;
    TRY(const Value tree, transformed(*stored));
    return bytes_of(encoded(tree));
}

ListBody ResponseEncoder::empty_list(const Page& page) const {
    if (form_.transform == Transform::Table) return ListBody(form_, table({}, list_meta(page)), "rows", nullptr);
    const bool partial = form_.transform != Transform::None;
    const std::string api_version = partial ? "meta.k8s.io/" + form_.transform_version : resource_.kind->api_version();
    return ListBody(form_,
                    Value::object({{"kind", partial ? std::string_view("PartialObjectMetadataList") : resource_.kind->list_kind},
                                   {"apiVersion", api_version},
                                   {"metadata", list_meta(page)}}),
                    "items", partial ? api::registry().find_kind(api_version, "PartialObjectMetadata") : resource_.kind);
}

Result<void> ResponseEncoder::add_item(const store::Bytes& stored, ListBody& list) const {
    if (passes_through()) {
        list.add_json(stored);
        return {};
    }
    if (cuts_metadata())
        return list.add_json_by([&](std::string& text) { return append_partial_metadata(*stored, form_.transform_version, text); });
    TRY(Value tree, schema::parse_json(*stored));
    if (!resource_.sends_stored_bytes()) tree = std::move(to_served(resource_, ApiObject(*resource_.stored, std::move(tree))).edit_tree());
    if (form_.transform == Transform::Table) return list.add(row(tree));
    return list.add(form_.transform == Transform::None ? std::move(tree) : partial_metadata(tree, form_.transform_version));
}

Task<std::vector<store::Bytes>> ResponseEncoder::list(const Page& page, LongWork work) const {
    ListBody list = empty_list(page);
    for (const store::RecordPtr& record : page.records) {
        if (work.turn_is_over()) CO_TRY_VOID(co_await work.next_turn());
        CO_TRY_VOID(add_item(record->value.bytes(), list));
    }
    co_return list.finish();
}

void ResponseEncoder::append_frame(std::string_view type, const Value& object, std::string& out) const {
    if (form_.encoding != Encoding::Protobuf) {
        out += "{\"type\":\"" + std::string(type) + "\",\"object\":";
        schema::append_json(object, out);
        out += "}\n";
        return;
    }
    WatchFrames frames;
    append_protobuf_frame(type, bytes_of(encoded(object)), frames);
    for (const store::Bytes& piece : frames.take()) out += *piece;
}

/// A WatchEvent: its type, and a RawExtension with the object.
void ResponseEncoder::append_protobuf_frame(std::string_view type, const store::Bytes& object, WatchFrames& out) const {
    std::string event, extension;
    schema::append_field_head(1, object->size(), extension);
    schema::append_field_head(1, type.size(), event);
    event += type;
    schema::append_field_head(2, extension.size() + object->size(), event);
    event += extension;
    out.text += length_prefix(event.size() + object->size()) + event;
    out.add(object);
}

Result<void> ResponseEncoder::append_event(std::string_view type, const store::Bytes& stored, WatchFrames& out) {
    constexpr std::size_t Around = 100;  // of the event
    out.text.reserve(out.text.size() + Around + std::min(stored->size(), LargeObject));
    if (passes_through()) {
        out.text += "{\"type\":\"";
        out.text += type;
        out.text += "\",\"object\":";
        out.add(stored);
        out.text += "}\n";
        return {};
    }
    if (cuts_metadata()) {
        out.text += "{\"type\":\"" + std::string(type) + "\",\"object\":";
        TRY_VOID(append_partial_metadata(*stored, form_.transform_version, out.text));
        out.text += "}\n";
        return {};
    }
    if (form_.encoding == Encoding::Protobuf && form_.transform == Transform::None && sealed_) {
        const auto seal = [&]() -> Result<std::string> {
            TRY(const Value object, transformed(*stored));
            return encoded(object);
        };
        TRY(const store::Bytes object, sealed_->of(resource_, stored, seal));
        append_protobuf_frame(type, object, out);
        return {};
    }
    TRY(const Value object, transformed(*stored));
    columns_sent_ = true;
    append_frame(type, object, out.text);
    return {};
}

void ResponseEncoder::append_bookmark(store::Revision revision, bool initial_events_end, std::string& out) {
    Value meta = Value::object({{"resourceVersion", store::to_string(revision)}});
    const Value of_table = meta;
    if (initial_events_end) meta["annotations"] = Value::object({{"k8s.io/initial-events-end", "true"}});
    const bool partial = form_.transform != Transform::None;
    meta["creationTimestamp"] = nullptr;
    const Value object = Value::object({{"kind", partial ? std::string_view("PartialObjectMetadata") : resource_.kind->kind},
                                        {"apiVersion", partial ? "meta.k8s.io/" + form_.transform_version : resource_.kind->api_version()},
                                        {"metadata", std::move(meta)}});
    if (form_.transform != Transform::Table) return append_frame("BOOKMARK", object, out);
    schema::Array rows;
    rows.push_back(row(object));
    append_frame("BOOKMARK", table(std::move(rows), of_table), out);
}

void ResponseEncoder::append_error(const Error& error, std::string& out) const { append_frame("ERROR", status_of(error), out); }

}  // namespace porthole::apiserver
