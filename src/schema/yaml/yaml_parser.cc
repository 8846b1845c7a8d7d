#include <map>

#include <fmt/format.h>

#include "base/base64.h"
#include "schema/value.h"
#include "schema/yaml/yaml.h"
#include "schema/yaml/yaml_event.h"
#include "schema/yaml/yaml_scalar.h"

namespace porthole::schema {
namespace {

/// Repeated keys that are told of, as many as of JSON, and the longest of them.
constexpr std::size_t MostDuplicates = 100, LongestKey = 4096;

static_assert(YamlLimits().depth == MaxTreeDepth);

class YamlReader {
public:
    YamlReader(std::string_view text, std::vector<DuplicateKey>* duplicates, YamlLimits limits) : duplicates_(duplicates), limits_(limits) {
        ready_ = yaml_parser_initialize(&parser_) != 0;
        CHECK(ready_);
        // libyaml refuses a null pointer, which an empty view may have.
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.empty() ? "" : text.data()), text.size());
    }
    ~YamlReader() { yaml_parser_delete(&parser_); }
    YamlReader(const YamlReader&) = delete;
    YamlReader& operator=(const YamlReader&) = delete;

    /// The next document that is not empty; false at the end.
    Result<bool> next(Value& document) {
        while (true) {
            TRY_VOID(advance());
            if (event_.type() == YAML_STREAM_END_EVENT) return false;
            if (event_.type() != YAML_DOCUMENT_START_EVENT) continue;
            anchors_.clear();
            TRY_VOID(advance());
            TRY(document, node(0));
            TRY_VOID(advance());  // the document's end
            if (!document.is_null()) return true;
        }
    }

private:
    struct Anchor {
        Value value;
        std::size_t nodes = 0;
        std::size_t bytes = 0;
    };

    Result<void> advance() {
        if (event_.read(parser_)) return {};
        return yaml_error_of(parser_);
    }

    Result<void> count(std::size_t nodes) {
        nodes_ += nodes;
        if (nodes_ > limits_.nodes) return yaml_error("document contains excessive aliasing");
        return {};
    }

    /// A copy of a value with that many bytes is about to be made.
    Result<void> count_copy(std::size_t bytes) {
        copied_ += bytes;
        if (copied_ > limits_.copied_bytes) return yaml_error("document contains excessive aliasing");
        return {};
    }

    /// The memory of a value, roughly.
    static std::size_t bytes_of(const Value& value) {
        std::size_t bytes = sizeof(Value);
        if (value.is_string()) bytes += value.as_string().size();
        if (value.is_array())
            for (const Value& item : value.as_array()) bytes += bytes_of(item);
        if (value.is_object())
            for (const Member& member : value.as_object()) bytes += sizeof(std::string) + member.key.size() + bytes_of(member.value);
        return bytes;
    }

    /// The node that the current event starts; its last event is current afterwards.
    Result<Value> node(std::size_t depth) {
        if (depth > limits_.depth) return yaml_error("exceeded max depth");
        TRY_VOID(count(1));
        switch (event_.type()) {
            case YAML_ALIAS_EVENT:
                return alias();
            case YAML_SCALAR_EVENT: {
                const std::string anchor(yaml_view(event_->data.scalar.anchor));
                TRY(Value value, scalar());
                return anchored(anchor, std::move(value), 1);
            }
            case YAML_SEQUENCE_START_EVENT: {
                const std::string anchor(yaml_view(event_->data.sequence_start.anchor));
                const std::size_t before = nodes_;
                TRY(Value value, sequence(depth));
                return anchored(anchor, std::move(value), nodes_ - before + 1);
            }
            case YAML_MAPPING_START_EVENT: {
                const std::string anchor(yaml_view(event_->data.mapping_start.anchor));
                const std::size_t before = nodes_;
                TRY(Value value, mapping(depth));
                return anchored(anchor, std::move(value), nodes_ - before + 1);
            }
            default:
                return yaml_error("unexpected event");
        }
    }

    Result<Value> anchored(const std::string& anchor, Value value, std::size_t nodes) {
        if (anchor.empty()) return value;
        const std::size_t bytes = bytes_of(value);
        TRY_VOID(count_copy(bytes));  // anchors within anchors are kept once each
        anchors_[anchor] = {value, nodes, bytes};
        return value;
    }

    Result<Value> alias() {
        const std::string name(yaml_view(event_->data.alias.anchor));
        const auto found = anchors_.find(name);
        if (found == anchors_.end()) return yaml_error("unknown anchor '" + name + "' referenced");
        TRY_VOID(count(found->second.nodes));
        TRY_VOID(count_copy(found->second.bytes));
        return found->second.value;
    }

    Result<Value> scalar() {
        const auto& data = event_->data.scalar;
        const std::string_view text(reinterpret_cast<const char*>(data.value), data.length);
        const std::string_view tag = yaml_view(data.tag);
        if (tag == YAML_STR_TAG) return Value(text);
        if (tag == "tag:yaml.org,2002:binary") {
            auto bytes = decode_base64(text);
            if (!bytes) return yaml_error("!!binary value contains invalid base64 data");
            return Value(*std::move(bytes));
        }
        const bool plain = data.style == YAML_PLAIN_SCALAR_STYLE;
        if (!plain && tag.empty()) return Value(text);
        Value value = resolve_yaml_scalar(text);
        const bool wanted = tag.empty() || tag == "!" || !tag.starts_with("tag:yaml.org,2002:") ||
                            (tag == YAML_NULL_TAG && value.is_null()) || (tag == YAML_BOOL_TAG && value.is_bool()) ||
                            (tag == YAML_INT_TAG && value.is_int()) || (tag == YAML_FLOAT_TAG && value.is_number());
        if (!wanted) return yaml_error(fmt::format("cannot decode `{}` as a !!{}", text, tag.substr(tag.rfind(':') + 1)));
        return value;
    }

    Result<Value> sequence(std::size_t depth) {
        Array items;
        while (true) {
            TRY_VOID(advance());
            if (event_.type() == YAML_SEQUENCE_END_EVENT) return Value(std::move(items));
            path_.push_back(fmt::format("[{}]", items.size()));
            TRY(Value item, node(depth + 1));
            path_.pop_back();
            items.push_back(std::move(item));
        }
    }

    Result<Value> mapping(std::size_t depth) {
        Object members;
        std::vector<Value> merged;
        while (true) {
            TRY_VOID(advance());
            if (event_.type() == YAML_MAPPING_END_EVENT) break;
            const std::size_t line = event_->start_mark.line + 1;
            const bool merge = event_.type() == YAML_SCALAR_EVENT && yaml_view(event_->data.scalar.value) == "<<" &&
                               event_->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
            TRY(const Value key_value, node(depth + 1));
            if (key_value.is_object() || key_value.is_array()) return yaml_error("invalid map key");
            std::string key = yaml_key_text(key_value);
            TRY_VOID(advance());
            path_.push_back((path_.empty() ? "" : ".") + key);
            TRY(Value value, node(depth + 1));
            if (merge) {
                merged.push_back(std::move(value));
            } else if (Value* earlier = members.find(key)) {
                if (duplicates_ && duplicates_->size() < MostDuplicates && key.size() <= LongestKey)
                    duplicates_->push_back({fmt::format("{}", fmt::join(path_, "")), key, line});
                *earlier = std::move(value);
            } else {
                members.append(std::move(key), std::move(value));
            }
            path_.pop_back();
        }
        for (Value& source : merged) TRY_VOID(merge_into(members, source));
        return Value(std::move(members));
    }

    /// What is there wins; of a list of mappings, the first.
    static Result<void> merge_into(Object& members, Value& source) {
        if (source.is_array()) {
            for (Value& item : source.as_array()) {
                if (!item.is_object()) return yaml_error("map merge requires map or sequence of maps as the value");
                TRY_VOID(merge_into(members, item));
            }
            return {};
        }
        if (!source.is_object()) return yaml_error("map merge requires map or sequence of maps as the value");
        for (Member& member : source.as_object())
            if (!members.contains(member.key)) members.append(member.key, member.value);
        return {};
    }

    yaml_parser_t parser_{};
    bool ready_ = false;
    YamlEvent event_;
    std::vector<DuplicateKey>* duplicates_;
    YamlLimits limits_;
    std::size_t nodes_ = 0;
    std::size_t copied_ = 0;
    std::map<std::string, Anchor> anchors_;
    std::vector<std::string> path_;
};

}  // namespace

Result<std::vector<Value>> parse_yaml_documents(std::string_view text, YamlLimits limits) {
    YamlReader reader(text, nullptr, limits);
    std::vector<Value> documents;
    while (true) {
        Value document;
        TRY(const bool more, reader.next(document));
        if (!more) return documents;
        documents.push_back(std::move(document));
    }
}

Result<Value> parse_yaml(std::string_view text, std::vector<DuplicateKey>* duplicates, YamlLimits limits) {
    YamlReader reader(text, duplicates, limits);
    Value document;
    TRY_VOID(reader.next(document));
    return document;
}

}  // namespace porthole::schema
